"""Exact numbers, their rounding to integers, and the floating-point formats.

A number is an int or a Fraction; the floats math.inf, -math.inf and math.nan stand for what IEEE 754 has besides.
"""
import ctypes
import math
from fractions import Fraction

INF, NAN = math.inf, math.nan


def is_nan(x):
    return x != x


def is_finite(x):
    return type(x) is not float or math.isfinite(x)


def special(x):
    return type(x) is float


# IEEE 754 over exact numbers; zero has no sign (div.S3, exact.S5).
def add(a, b):
    if special(a) or special(b):
        if special(a) and special(b):
            return a + b
        return a if special(a) else b
    return a + b


def neg(a):
    return -a


def sub(a, b):
    return add(a, -b)


def sign(x):
    return (x > 0) - (x < 0)


def mul(a, b):
    if special(a) or special(b):
        if is_nan(a) or is_nan(b):
            return NAN
        s = sign(a) * sign(b)
        return NAN if s == 0 else s * INF
    return a * b


def div(a, b):
    if special(a) or special(b):
        if is_nan(a) or is_nan(b) or special(a) and special(b):
            return NAN
        if special(b):
            return Fraction(0)
        return a if b >= 0 else -a
    if b == 0:
        return NAN if a == 0 else sign(a) * INF
    return Fraction(a) / b


def exact(value):
    """The exact number of a Python float."""
    return Fraction(value) if math.isfinite(value) else value


# Rounding to integers.
def half_even(x):
    return round(x)


def half_away(x):
    return math.floor(abs(x) * 2 + 1) // 2 * (1 if x >= 0 else -1)


def half_up(x):
    return math.floor(x * 2 + 1) // 2


def toward_zero(x):
    return math.trunc(x)


def wrap(x, bits):
    return (x + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def saturate(x, bits):
    return min(max(x, -(1 << bits - 1)), (1 << bits - 1) - 1)


def exponent(x):
    """The e with 2^e <= |x| < 2^(e + 1)."""
    x = Fraction(abs(x))
    e = x.numerator.bit_length() - x.denominator.bit_length()
    if e >= 0:
        return e if x.numerator >= x.denominator << e else e - 1
    return e if x.numerator << -e >= x.denominator else e - 1


def pow2(e):
    return Fraction(1 << e) if e >= 0 else Fraction(1, 1 << -e)


class Format:
    """A binary floating-point format of IEEE 754's kind."""

    def __init__(self, digits, least, greatest):
        self.digits, self.least, self.greatest = digits, least, greatest
        self.largest = (pow2(digits) - 1) * pow2(greatest - digits + 1)

    def round(self, x):
        """The nearest value, ties to even, beyond the range an infinity, as a Python float."""
        if special(x):
            return x
        if x == 0:
            return 0.0
        x = Fraction(x)
        e = max(exponent(x), self.least) - self.digits + 1
        n, d = (x.numerator, x.denominator << e) if e >= 0 else (x.numerator << -e, x.denominator)
        q, r = divmod(abs(n), d)
        q += 2 * r > d or 2 * r == d and q & 1
        if q.bit_length() > self.digits:
            q, e = q >> 1, e + 1
        if q and q.bit_length() - 1 + e > self.greatest:
            return INF if n > 0 else -INF
        return math.ldexp(q if n > 0 else -q, e)


BINARY16, BFLOAT16 = Format(11, -14, 15), Format(8, -126, 127)
BINARY32, BINARY64 = Format(24, -126, 127), Format(53, -1022, 1023)


def f32(x):
    """The binary32 nearest to a binary64."""
    return ctypes.c_float(x).value


def div32(a, b):
    """A quotient of two binary32 in binary32: a binary64 in between changes nothing, it has more than 2 * 24 bits."""
    return f32(div64(a, b))


def div64(a, b):
    if b == 0:
        if a == 0 or a != a:
            return NAN
        return math.copysign(INF, a) * math.copysign(1, b)
    return a / b


def fma32(x, w, s):
    """x * w + s of binary32 numbers, rounded once: the binary64 sum is rounded to odd first."""
    p = x * w
    t = p + s
    if not math.isfinite(t):
        return f32(t)
    b = t - p
    error = (p - (t - b)) + (s - b)
    if error and not int(math.ldexp(math.frexp(t)[0], 53)) & 1:
        t = math.nextafter(t, INF if error > 0 else -INF)
    return f32(t)


def float32(x):
    return BINARY32.round(x)


def float64(x):
    return BINARY64.round(x)
