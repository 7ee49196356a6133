"""The two systems of numbers operators compute in, and the arithmetic `exact`, which the others specialise."""
import math
from fractions import Fraction

from .. import functions as F
from .. import reals as R
from ..reals import INF, exact, f32, is_nan
from ..types import invalid, scaled, unsupported


class ExactNumbers:
    """Ints, Fractions and Approximates; nothing is rounded (exact.S2)."""

    binary32 = False
    zero = Fraction(0)
    add, sub, mul, div, neg = map(staticmethod, (R.add, R.sub, R.mul, R.div, R.neg))
    function = staticmethod(F.function)

    def of(self, tensor):
        return tensor.reals()

    @staticmethod
    def monotone(f, x):
        return f(x)

    def multiply_add(self, a, b, s):
        """s + a * b, the step of a sum of products."""
        return self.add(s, self.mul(a, b))

    def dot(self, a, b, s):
        """s and the products, added in order."""
        for x, w in zip(a, b):
            s = self.multiply_add(x, w, s)
        return s

    def constant(self, value):
        return exact(value) if type(value) is float else Fraction(value)

    def total(self, numbers):
        total = 0
        for x in numbers:
            total = self.add(total, x)
        return total

    def dots(self, xs, ws, taps):
        """The sum of products for each list of taps; a tap of x outside contributes nothing (conv.S1)."""
        a, b = scaled(xs), scaled(ws)
        if a is None or b is None:
            return [self.total(R.mul(xs[i], ws[j]) for i, j in zip(*t) if i >= 0) for t in taps]
        (xs, e), (ws, f) = a, b
        unit = R.pow2(e + f)
        return [unit * sum(xs[i] * ws[j] for i, j in zip(*t) if i >= 0) for t in taps]


class Binary32Numbers(ExactNumbers):
    """Binary32 numbers as Python floats; each operation is rounded half_even (float32.S3)."""

    binary32 = True
    zero = 0.0
    div = staticmethod(R.div32)
    function = staticmethod(F.function32)

    def of(self, tensor):
        return tensor.floats()

    def constant(self, value):
        return f32(value) if type(value) is float else R.float32(value)

    def add(self, a, b):
        return f32(a + b)

    def sub(self, a, b):
        return f32(a - b)

    def mul(self, a, b):
        return f32(a * b)

    def multiply_add(self, a, b, s):
        return f32(s + f32(a * b))

    def dots(self, xs, ws, taps):  # float32.S3, float32.S6
        out = []
        for t in taps:
            inside = [(i, j) for i, j in zip(*t) if i >= 0]
            out.append(self.dot([xs[i] for i, _ in inside], [ws[j] for _, j in inside], self.zero))
        return out


class FusedNumbers(Binary32Numbers):
    """A product that is added is not rounded (float32_fma.S1)."""

    multiply_add = staticmethod(R.fma32)


EXACT_NUMBERS, BINARY32_NUMBERS, FUSED_NUMBERS = ExactNumbers(), Binary32Numbers(), FusedNumbers()


def clamp(v, lo, hi):
    return lo if v < lo else hi if v > hi else v


def same_parameters(x, i, y, j):
    """Equal parameters: of two integer types, or of one type, scale and offset at the elements' own coordinates."""
    if x.quant is None or y.quant is None:
        return x.type is y.type and x.quant is y.quant
    return (x.type.integer and y.type.integer or x.type is y.type) and equal_parameters(x, i, y, j)


def equal_parameters(x, i, y, j):
    """definitions.S1: of two quantized types, whichever, at the elements' own coordinates."""
    p, q = x.quant, y.quant
    if p is None or q is None or not p.integer_form or not q.integer_form:
        return False
    a, b = p.index(x.dims), q.index(y.dims)
    m, n = a[i] if a else 0, b[j] if b else 0
    return p.scales[m] == q.scales[n] and p.offsets[m] == q.offsets[n]


class Products:
    """The sums of products of Conv, MatMul and Gemm: operands, taps for each result, where weights differ."""

    factor = Fraction(1)  # of the accumulator's unit, the alpha of a QGemm

    def __init__(self, kernel, x, w, bias, taps, channel, weight_axis, result_axis, bias_at=None, alpha=1.0, beta=1.0,
                 depth=None):
        self.kernel, self.x, self.w, self.bias, self.taps = kernel, x, w, bias, taps
        self.channel, self.weight_axis, self.result_axis = channel, weight_axis, result_axis
        self.bias_at, self.alpha, self.beta = bias_at, alpha, beta
        self.depth = depth  # the channels among the taps, each with as many positions; None: a tap is a channel

    def integer(self):
        """Whether float32.S4 takes the operands: integers, per tensor or the weights per output channel (gemm.S4)."""
        x, w = self.x, self.w
        return (x.integers and x.single and w.integers
                and (w.quant.single or self.weight_axis is not None and w.quant.along(self.weight_axis))
                and self.alpha == 1 and (self.beta == 1 or self.bias is None)
                and (self.bias is None or self.bias.integers))

    def scale_pairs(self, y):
        """The (channel, w_scale, y_scale) that meet in some result."""
        ws, ys = self.w.quant.scales, y.quant.scales if y.quant else [1.0]
        if len(ws) == len(ys) > 1 and y.quant.along(self.result_axis):
            return list(zip(range(len(ws)), ws, ys))
        return [(c, a, b) for c, a in enumerate(ws) for b in ys]

    def weight_scale(self, m):
        scales = self.w.quant.scales
        return scales[self.channel(m)] if len(scales) > 1 else scales[0]

    def sums(self):
        dx, dw = self.x.differences(), self.w.differences()
        return [sum(dx[i] * dw[j] for i, j in zip(*t) if i >= 0) for t in self.taps()]

    def bias_stored(self, m, unit, near=0, bits=None):
        """The bias of result m in units of the accumulator (float32.S5, tflite.S4)."""
        if self.bias is None:
            return 0
        i = self.bias_at(m)
        if self.bias.in_accumulator_units:
            return self.bias.data[i]
        q = self.bias.quant
        index = q.index(self.bias.dims)
        p = index[i] if index else 0
        if (abs(q.reals[p] - unit) * near <= unit) if near else q.scales[p] == unit:
            return self.bias.data[i] - q.offsets[p]
        if unit in (0, INF):  # definitions.S10
            return 0
        value = R.half_even(self.bias.reals()[i] / Fraction(unit))
        return R.saturate(value, bits) if bits else value


class Exact:
    """exact.S1 to S10."""

    name = "exact"
    numbers = EXACT_NUMBERS
    scales_may_be_signed = False  # of a kernel's operands (quantization.S8)
    rounding = staticmethod(R.half_even)

    def check(self, call):
        """Constraints of the arithmetic on a node's parameters alone (pow2.C1)."""

    def plan(self, kernel, call, **info):
        """A function that computes the results of output 0 by a kernel of this arithmetic, or None."""
        method = getattr(self, "plan_" + kernel, None)
        return method(call, **info) if method else None

    # Numbers become elements of the output's type.
    def quantize(self, x, type_, scale, offset, lo, hi):
        if R.special(x):
            if is_nan(x):
                return self.not_a_number(type_, offset, lo, hi)
            return (hi if x > 0 else lo) if type_.kind != "small" else math.copysign(type_.hi, x)  # exact.S3
        s = Fraction(scale)
        if type_.kind == "int":  # exact.S1
            return F.rounded(x, lambda v: clamp(self.rounding(v / s) + offset, lo, hi))
        if type_.kind == "bipolar":  # exact.S9
            return F.rounded(x, lambda v: clamp(-1 if v < 0 else 1, lo, hi))
        return F.rounded(x, lambda v: type_.small.nearest(v / s))  # exact.S8

    def not_a_number(self, type_, offset, lo, hi):  # exact.S4
        if type_.kind == "small":
            return 0.0
        return clamp(1 if type_.kind == "bipolar" else offset, lo, hi)

    def store(self, y, numbers, positions=None):
        """The stored values of numbers, as elements of y at these positions (all when absent)."""
        if y.quant is None:
            return [store_plain(y.type, x) for x in numbers]
        at = y.quant.at(y.dims)
        q, known, out = y.quant, {}, []
        for k, x in enumerate(numbers):
            scale, offset = at[positions[k] if positions is not None else k]
            if R.special(x) and is_nan(x):
                out.append(self.quantize(x, y.type, scale, offset, q.lo, q.hi))
                continue
            key = x if not isinstance(x, F.Approximate) else ("id", id(x)), scale, offset
            if key not in known:
                known[key] = self.quantize(x, y.type, scale, offset, q.lo, q.hi)
            out.append(known[key])
        return out

    # Data movement.
    def move(self, x, indices, y, positions):
        """Elements of x as elements of y; equal parameters copy stored values, clamped where the ranges differ
        (identity.S2, reshape.S3)."""
        if not y.type.real or x.quant is None and x.type is y.type:
            return [x.data[i] for i in indices]
        out, rest = [None] * len(indices), []
        p, q = x.quant, y.quant
        copies = x.type is y.type and (p is None or q is None or (p.lo, p.hi) == (q.lo, q.hi))
        for k, (i, j) in enumerate(zip(indices, positions)):
            if same_parameters(x, i, y, j):
                out[k] = x.data[i] if copies else clamp(x.data[i], q.lo, q.hi)
            else:
                rest.append(k)
        for k, v in zip(rest, self.convert(x, [indices[k] for k in rest], y, [positions[k] for k in rest])):
            out[k] = v
        return out

    def convert(self, x, indices, y, positions):
        numbers = self.numbers.of(x)
        return self.store(y, [numbers[i] for i in indices], positions)

    def real_zero(self, y, positions):
        """The stored value of real zero, which is the offset in every arithmetic (pad.S1)."""
        if y.quant is None or y.type.kind != "int":
            return Exact().store(y, [Fraction(0)] * len(positions), positions)
        at, q = y.quant.at(y.dims), y.quant
        return [clamp(at[p][1], q.lo, q.hi) for p in positions]


def store_plain(type_, x):
    """A number as an element of a type that is not quantized (exact.S5, exact.S10, cast.S5, cast.S6)."""
    if type_.kind == "float":
        return F.rounded(exact(x) if type(x) is float else x, type_.format.round)
    if type_.kind == "bool":
        return int(is_nan(x) or F.rounded(x, lambda v: v != 0))
    if type_.kind == "int":
        if R.special(x):
            return 0 if is_nan(x) else type_.hi if x > 0 else type_.lo
        n = F.rounded(x, R.toward_zero)
        return (n - type_.lo) % (1 << type_.bits) + type_.lo
    raise unsupported("a result of type %s" % type_.name)


class PowerOfTwo(Exact):
    """pow2.S1, S2, C1."""

    name, stem = "pow2", "pow2"

    def check(self, call):
        for t in [*call.inputs, *call.outs]:
            if t is not None and t.quant is not None and any(math.frexp(s)[0] != 0.5 for s in t.quant.scales):
                raise invalid(self.stem + ".C1", "a scale is not a power of two")


class PowerOfTwoHalfUp(PowerOfTwo):
    """pow2_half_up.S1, S2, C1."""

    name, stem = "pow2-half-up", "pow2_half_up"
    rounding = staticmethod(R.half_up)
