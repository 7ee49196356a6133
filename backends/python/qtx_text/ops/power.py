"""Pow."""
from fractions import Fraction

from .. import functions as F
from .. import reals as R
from ..reals import INF, NAN, is_nan
from .core import broadcast, broadcast_index, operator

MOST_DIGITS = 20000  # powers of more bits are approximated: they are no ties


def power(x, y):
    """x to the power y (pow.S1, S3, S4); 0 has no sign."""
    if y == 0 or x == 1:
        return Fraction(1)
    if is_nan(x) or is_nan(y):
        return NAN
    odd = not R.special(y) and Fraction(y).denominator == 1 and y % 2 == 1
    if R.special(x):
        grows = y > 0
        return (-INF if odd and x < 0 else INF) if grows else Fraction(0)
    if R.special(y):
        if abs(x) == 1:
            return Fraction(1)
        return INF if (abs(x) > 1) == (y > 0) else Fraction(0)
    if x == 0:
        return Fraction(0) if y > 0 else INF
    x, y = Fraction(x), Fraction(y)
    if x < 0 and y.denominator != 1:
        return NAN
    sign = -1 if x < 0 and odd else 1
    x = abs(x)
    if x == 1:
        return Fraction(sign)
    base, q = x, y.denominator
    while base is not None and q > 1:
        base, q = F.exact_root(base) if q % 2 == 0 else None, q // 2
    digits = max(base.numerator.bit_length(), base.denominator.bit_length()) if base is not None else MOST_DIGITS
    if base is not None and digits * abs(y.numerator) <= MOST_DIGITS:
        return sign * base ** y.numerator

    def interval(bits):
        more = bits + abs(y.numerator).bit_length() + 160
        lo, hi = F.product((y, y), F.ln_interval(x, x, more))
        lo, hi = F.outward(lo, hi, more)
        lo, hi = F.exp_interval(lo, bits)[0], F.exp_interval(hi, bits)[1]
        return (lo, hi) if sign > 0 else (-hi, -lo)
    return F.Approximate(interval)


def power32(x, y):
    """The binary32 nearest to the power of two binary32 operands."""
    return F.rounded(power(R.exact(x), R.exact(y)), R.float32)


def power_plain(x, y, type_):
    """pow.S5."""
    if not R.special(y) and Fraction(y).denominator == 1 and y >= 0 and type_.kind == "int":
        return pow(x, int(y), 1 << type_.bits)
    v = power(Fraction(x) if not R.special(x) else x, y)
    if isinstance(v, F.Approximate) and type_.kind == "int":
        v = Fraction(v.rounded(lambda t: R.pow2(2000) if t > R.pow2(2000) else R.toward_zero(t)))
    if type_.kind == "int" and not R.special(v) and abs(v) > R.pow2(2000):
        v = R.pow2(2000) * R.sign(v)
    return v


@operator("Pow", "pow", (2, 2), shape="C3", operands=(0,))
class Pow:  # pow.S1 to S5
    @staticmethod
    def infer(call):
        call.real_or("C1", "plain", operands=call.inputs[:1])
        y = call.inputs[1].type
        call.require(y.real or y.plain, "C1", "y is " + y.name)
        return [broadcast(call, "C2", call.dims(0), call.dims(1))]

    @staticmethod
    def plan(call):
        x, y, z = *call.inputs, call.outs[0]
        kernel = call.plan_kernel("rsqrt") if call.origin == ("tflite", "RSQRT") else None

        def compute():
            arithmetic = call.effective()
            n = arithmetic.numbers
            p, q = n.of(x), n.of(y)
            if kernel and all(v == Fraction(-1, 2) for v in q) and x.dims == z.dims:
                return [kernel()]
            pairs = zip(broadcast_index(x.dims, z.dims), broadcast_index(y.dims, z.dims))
            known = {}

            def one(a, b):
                if (a, b) not in known:
                    known[a, b] = (power32(a, b) if n.binary32 else power_plain(a, b, z.type) if z.type.plain
                                   else power(a, b))
                return known[a, b]
            return [arithmetic.store(z, [one(p[i], q[j]) for i, j in pairs])]
        return compute
