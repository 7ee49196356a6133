"""Arithmetics in binary32 between integer kernels: float32 and its relations."""
import math
from fractions import Fraction

from .. import reals as R
from ..reals import exact, f32, float32, is_nan
from ..types import invalid
from . import bilinear
from .base import BINARY32_NUMBERS, FUSED_NUMBERS, Exact, clamp
from .tflite import once, pair, twice


def to_binary32(n):
    return f32(n) if abs(n) < 2 ** 53 else float32(Fraction(n))


def sum32(t, n):
    """A binary32 and an integer, added and rounded once: a binary64 between would round sums with integers of more
    than 24 bits twice."""
    if abs(n) <= 2 ** 24 or math.isinf(t):
        return f32(t + n)
    return float32(Fraction(t) + n)


class Float32(Exact):
    """float32.S1 to S8."""

    name, stem = "float32", "float32"
    numbers = BINARY32_NUMBERS
    nan = "offset"
    offset_first = False  # the offset is added before the rounding
    reciprocal = False    # quantizing multiplies by 1 / scale
    bits = None           # the width of the accumulator, wrapping
    float_bits = None     # that of a FLOAT result
    factor_range = (None, None, "C1")

    # Quantizing.
    def quantize(self, x, type_, scale, offset, lo, hi):
        if isinstance(x, (Fraction, int)):
            x = float32(x)
        if is_nan(x):
            return self.not_a_number(type_, offset, lo, hi)
        multiplies = self.reciprocal and type_.kind != "small"  # fbgemm.S1
        return self.step(f32(x * R.div32(1.0, scale)) if multiplies else R.div32(x, scale), type_, offset, lo, hi)

    def step(self, t, type_, offset, lo, hi, offset_first=None):
        """A binary32 quotient as a stored value (float32.S2 and its relations)."""
        first = self.offset_first if offset_first is None else offset_first
        if is_nan(t):
            return self.not_a_number(type_, offset, lo, hi)
        if type_.kind == "small":
            return type_.small.nearest(exact(t))
        if type_.kind == "bipolar":
            return clamp(-1 if t < 0 else 1, lo, hi)
        if first:
            t, offset = sum32(t, offset), 0
        if math.isinf(t):
            return hi if t > 0 else lo
        return clamp(self.rounding(t) + offset, lo, hi)

    def not_a_number(self, type_, offset, lo, hi):
        if self.nan == "offset" or type_.kind == "small":  # which has no range of its own
            return super().not_a_number(type_, offset, lo, hi)
        return lo if self.nan == "min" else hi

    def quantize_linear(self, v, type_, scale, zero):
        return self.quantize(v, type_, scale, zero, type_.lo, type_.hi)

    def store(self, y, numbers, positions=None):
        if y.quant is None and y.type.code == 1:
            return list(numbers)
        if y.quant is not None and y.quant.half:  # quantization.S13
            numbers = [y.quant.in_reals(float32(Fraction(x)) if isinstance(x, (Fraction, int)) else x) for x in numbers]
        return super().store(y, numbers, positions)

    # Accumulators.
    def factor(self, product, y_scale):
        """(x_scale * w_scale) / y_scale, both operations in binary32, within the bounds of the arithmetic."""
        M = R.div32(product, y_scale)
        least, beyond, clause = self.factor_range
        if least is not None and M < least or beyond is not None and M >= beyond:
            raise invalid("%s.%s" % (self.stem, clause), "the factor is %r" % M)
        return M

    def width(self, p, y):
        return self.bits if y.quant is not None else self.float_bits

    def plan_products(self, call, products):
        """float32.S4, float32.S5."""
        p, y = products, call.outs[0]
        if not p.integer() or not y.type.real or y.quant is not None and not y.type.integer:
            return None
        units = {ws: f32(p.x.scale * ws) for ws in p.w.quant.scales}
        if y.quant is not None:
            factors = {(ws, ys): self.factor(units[ws], ys) for _, ws, ys in p.scale_pairs(y)}

        def compute():
            out, width = [], self.width(p, y)
            at = y.quant.at(y.dims) if y.quant is not None else None
            for m, v in enumerate(p.sums()):
                ws = p.weight_scale(m)
                v += p.bias_stored(m, units[ws])
                if width:
                    v = R.wrap(v, width)
                if at is None:
                    out.append(f32(to_binary32(v) * units[ws]))
                else:
                    ys, o = at[m]
                    out.append(self.scaled_stored(v, units[ws], ys, factors[ws, ys], o, y))
            return out if at is not None else self.store(y, out)
        return compute

    def scaled_stored(self, v, unit, y_scale, M, offset, y):
        """An accumulator as a stored integer: one binary32 product (float32.S4)."""
        return self.step(f32(to_binary32(v) * M), y.type, offset, y.quant.lo, y.quant.hi, False)


class Float32Fma(Float32):
    name = "float32-fma"
    numbers = FUSED_NUMBERS  # float32_fma.S1


class OnnxReference(Float32):
    name, stem, bits, float_bits = "onnx-reference", "onnx_reference", 32, 32  # onnx_reference.S2

    def scaled_stored(self, v, unit, y_scale, M, offset, y):  # onnx_reference.S1
        t = float(v) * M + offset
        if is_nan(t):
            return self.not_a_number(y.type, offset, y.quant.lo, y.quant.hi)
        return (y.quant.hi if t > 0 else y.quant.lo) if math.isinf(t) else clamp(round(t), y.quant.lo, y.quant.hi)


class Eight(Float32):
    """What the kernels of 8-bit types share."""

    @staticmethod
    def eight(*tensors):
        return all(t.type.eight and t.single for t in tensors)


class Fbgemm(Float32):
    name, stem, reciprocal, bits, float_bits = "fbgemm", "fbgemm", True, 32, 32  # fbgemm.S1, S3


class Multiplying(Eight):
    """Mul of 8-bit types as the product of stored values, requantized as an accumulator."""

    def plan_product(self, call, a_at, b_at):
        a, b, y = *call.inputs, call.outs[0]
        if not self.eight(a, b, y):
            return None
        unit = f32(a.scale * b.scale)
        M = self.factor(unit, y.scale)
        return lambda: [self.scaled_stored((a.data[i] - a.offset) * (b.data[j] - b.offset), unit, y.scale, M, y.offset,
                                           y)
                        for i, j in zip(a_at, b_at)]


class Summing(Eight):
    """Add and Sub by two integer multipliers and one shift (xnnpack.S4, qnnpack.S4)."""

    extra, sum_clause = 20, "C2"

    def shifted(self, v, n):
        return v + (1 << n - 1) >> n

    def plan_sum(self, call, a_at, b_at, sign):
        a, b, y = *call.inputs, call.outs[0]
        if not self.eight(a, b, y):
            return None
        p, q = R.div32(a.scale, y.scale), R.div32(b.scale, y.scale)
        if not all(2.0 ** -10 <= r < 256 for r in (p, q)):
            raise invalid("%s.%s" % (self.stem_of_sum, self.sum_clause), "the ratios are %r and %r" % (p, q))
        n = self.extra - R.exponent(Fraction(max(p, q)))
        m_a, m_b = (R.half_even(Fraction(r) * R.pow2(n)) for r in (p, q))
        return lambda: [clamp(self.shifted((a.data[i] - a.offset) * m_a + sign * (b.data[j] - b.offset) * m_b,
                                           n) + y.offset,
                              y.quant.lo, y.quant.hi) for i, j in zip(a_at, b_at)]


class Xnnpack(Multiplying, Summing):
    name, stem, nan, reciprocal = "xnnpack", "xnnpack", "max", True  # xnnpack.S1
    stem_of_sum = "xnnpack"
    bits = float_bits = 32  # xnnpack.S3
    factor_range = (None, 256, "C1")

    @staticmethod
    def stands_for(call, kernel):  # xnnpack.S7
        x, y = call.inputs[0], call.outs[0]
        return call.origin == ("tflite", kernel) and x.type.eight and x.type is y.type and x.single and y.single

    def plan_total(self, call, what, groups, channels):
        """xnnpack.S7."""
        x, y = call.inputs[0], call.outs[0]
        if not self.stands_for(call, what) or R.div32(x.scale, y.scale) >= 2.0 ** 64:
            return None
        n = len(groups[0]) if groups else 1
        M = R.div32(x.scale, y.scale)
        if what == "MEAN":
            M = f32(M * R.div32(1.0, to_binary32(n)))
        start = f32(y.offset - f32(to_binary32(n * x.offset) * M))

        def stored(total):
            v = f32(f32(to_binary32(R.wrap(total, 32)) * M) + start)
            return (y.quant.hi if v > 0 else y.quant.lo) if math.isinf(v) else R.half_even(exact(v))
        return lambda: [clamp(stored(sum(x.data[i] for i in g)), y.quant.lo, y.quant.hi) for g in groups]

    def plan_products(self, call, products):
        return self.dynamic(call, products) or super().plan_products(call, products)

    @staticmethod
    def dynamic_steps(values):
        """The stored differences of the values of a range, and the reciprocal of their scale (xnnpack.S9)."""
        least, greatest = min(0.0, min(values)), max(0.0, max(values))
        k = R.div32(255.0, f32(greatest - least)) if least != greatest else 1.0
        below, above = f32(least * k), f32(greatest * k)
        edge = f32(-128 - below) if f32(f32(below - 128) + f32(above + 127)) > 0 else f32(127 - above)
        zero = R.half_even(exact(clamp(edge, -128.0, 127.0)))
        return [clamp(R.half_even(exact(f32(v * k))) + zero, -128, 127) - zero for v in values], R.div32(1.0, k)

    @staticmethod
    def dynamic_weights(call, p):
        """Whether xnnpack.S9 takes the weights and the bias."""
        w, conv = p.w, call.op == "Conv"
        if w.type.code not in ((1003,) if conv else (1003, 1022)) or not w.initializer or any(w.quant.offsets):
            return False
        if not w.quant.integer_form or not (w.quant.single or w.quant.along(p.weight_axis)):
            return False
        n = w.dims[p.weight_axis]
        return p.bias is None or p.bias.type.code == 1 and tuple(p.bias.dims) == (n,)

    def dynamic(self, call, p):
        """xnnpack.S9; what lies beyond its range of values is known at Run."""
        x, y, conv = p.x, call.outs[0], call.op == "Conv"
        if call.origin != ("tflite", "CONV_2D" if conv else "FULLY_CONNECTED") or x.type.code != 1 or y.type.code != 1:
            return None
        if call.op not in ("Gemm", "MatMul", "Conv") or call.op == "MatMul" and len(p.w.dims) != 2:
            return None
        if not self.dynamic_weights(call, p) or p.alpha != 1 or p.bias is not None and p.beta != 1:
            return None
        if call.op == "Gemm" and (call.attr("transA", 0) or not call.attr("transB", 0)):
            return None
        if conv and (len(x.dims) != 4 or call.attr("group", 1) != 1 or len(p.w.quant.scales) == 1):
            return None
        if not x.data or not all(v == 0 or 2.0 ** -100 <= abs(v) <= 2.0 ** 100 for v in x.data):
            return None
        pointwise = conv and tuple(p.w.dims[2:]) == (1, 1) and not any(s != 1 for s in call.attr("strides", ())) and (
            call.text("auto_pad", "NOTSET") != "NOTSET" or not any(call.attr("pads", ())))

        def compute():
            out, known, size, results = [], {}, math.prod(x.dims[1:]), math.prod(y.dims[1:])
            for m, (xi, wi) in enumerate(p.taps()):
                image = m // results * size
                row = range(image, image + size) if conv and not pointwise else xi
                key = row if isinstance(row, range) else tuple(row)
                if key not in known:
                    d, unit = self.dynamic_steps([x.data[i] for i in row])
                    known[key] = dict(zip(row, d)), unit
                d, unit = known[key]
                total = sum(d[i] * p.w.data[j] for i, j in zip(xi, wi) if i >= 0)
                b = p.bias.data[p.bias_at(m)] if p.bias is not None else 0.0
                out.append(R.fma32(f32(to_binary32(total) * unit), p.weight_scale(m), b))
            return out
        return compute

    def eighths(self, call, alpha):
        """xnnpack.S8."""
        x, y = call.inputs[0], call.outs[0]
        M = R.div32(x.scale, y.scale)
        factors = M, f32(M * alpha)
        if not all(2.0 ** -8 <= v <= 2.0 ** 7 or 2.0 ** -8 - 2.0 ** 7 <= v <= -2.0 ** -8 for v in factors):
            raise invalid("%s.C3" % self.stem_of_sum, "the factors are %r and %r" % factors)
        above, below = (R.half_even(exact(v) * 256) for v in factors)
        return lambda: [clamp(((v - x.offset) * (above if v >= x.offset else below) + 128 >> 8) + y.offset,
                              y.quant.lo, y.quant.hi) for v in x.data]

    def plan_leaky_relu(self, call, alpha):
        return self.eighths(call, alpha) if self.stands_for(call, "LEAKY_RELU") else None

    def plan_cast(self, call):
        return self.eighths(call, 1.0) if self.stands_for(call, "QUANTIZE") else None

    def plan_resize(self, call, dims):
        """xnnpack.S10."""
        if not self.stands_for(call, "RESIZE_BILINEAR") or not bilinear.takes(call, dims):
            return None
        return bilinear.plan(call, dims, bilinear.eleven_bit_places, bilinear.whole_blend(2 ** 11, R.half_up))


class XnnpackRndnu(Xnnpack):
    name, stem = "xnnpack-rndnu", "xnnpack_rndnu"
    factor_range = (2.0 ** -32, 256, "C1")

    def scaled_stored(self, v, unit, y_scale, M, offset, y):  # xnnpack_rndnu.S1
        s = 23 - R.exponent(Fraction(M))
        m = int(Fraction(M) * R.pow2(s))
        return clamp((v * m + (1 << s - 1) >> s) + offset, y.quant.lo, y.quant.hi)


class Qnnpack(Summing):
    name, stem, reciprocal = "qnnpack", "qnnpack", True  # qnnpack.S1
    stem_of_sum, extra = "qnnpack", 21
    bits = float_bits = 32  # qnnpack.S3
    factor_range = (2.0 ** -32, 1, "C1")

    def shifted(self, v, n):  # qnnpack.S4
        return R.half_away(Fraction(v, 1 << n))

    def scaled_stored(self, v, unit, y_scale, M, offset, y):  # qnnpack.S2
        e = R.exponent(Fraction(M)) + 1
        return clamp(twice(v, int(Fraction(M) * R.pow2(31 - e)), e) + offset, y.quant.lo, y.quant.hi)


class OneDnn(Float32):
    name, stem, nan, reciprocal, offset_first = "onednn", "onednn", "max", True, True  # onednn.S1
    bits = 32

    def plan_products(self, call, products):
        """onednn.S2: the bias comes between the two products."""
        p, y = products, call.outs[0]
        bias, p.bias = p.bias, None
        integer = p.integer() and y.type.real and (y.quant is None or y.type.integer) and (
            bias is None or p.beta == 1 and bias.integers)  # definitions.S8
        p.bias = bias
        if not integer:
            return None

        def compute():
            p.bias = None
            sums = self.accumulators(p)
            p.bias = bias
            units = bias is not None and bias.in_accumulator_units  # part of the accumulator
            b = bias.floats() if bias is not None and not units else None
            out = []
            for m, v in enumerate(sums):
                v += bias.data[p.bias_at(m)] if units else 0
                u = f32(to_binary32(R.wrap(v, 32)) * f32(p.x.scale * p.weight_scale(m)))
                out.append(u if b is None else f32(u + b[p.bias_at(m)]))
            return self.store(y, out)
        return compute

    def accumulators(self, p):
        return p.sums()


class OneDnnAvx2(OneDnn):
    name = "onednn-avx2"

    def accumulators(self, p):
        """onednn_avx2.S1: neighbouring channels in pairs that saturate at 16 bits."""
        if p.x.type.code != 1002 or p.w.type.code != 1003 or any(p.w.quant.offsets):
            return p.sums()
        x, w, o = p.x.data, p.w.data, p.x.offset
        out = []
        for xi, wi in p.taps():
            n = len(xi) // p.depth if p.depth and xi else 1
            products = [(x[i] if i >= 0 else o) * w[j] for i, j in zip(xi, wi)]
            total = 0
            for c in range(0, len(products), 2 * n):  # taps are in the order channel, position
                for k in range(c, c + n):
                    total += R.saturate(products[k] + (products[k + n] if k + n < len(products) else 0), 16)
            out.append(total - o * sum(w[j] for j in wi))
        return out


class Glow(Eight):
    name, stem, offset_first = "glow", "glow", True  # glow.S1
    bits = float_bits = 32
    factor_range = (2.0 ** -32, 256, "C1")

    @staticmethod
    def parts(M):
        """glow.S2: the shifts and the multiplier."""
        M = Fraction(M)
        after = before = 0
        while M < Fraction(1, 2) or M < 256 and after < 15:
            M, after = M * 2, after + 1
        while M < 255 and before < after // 2:
            M, before = M * 2, before + 1
        return before, R.half_away(M), after

    def scaled(self, v, M):
        before, m, after = self.parts(M)
        round_ = 1 << after - 1 if after else 0
        return R.wrap((v >> before) * m + round_, 32) >> after

    def scaled_stored(self, v, unit, y_scale, M, offset, y):
        return clamp(self.scaled(v, M) + offset, y.quant.lo, y.quant.hi)

    def plan_product(self, call, a_at, b_at):  # glow.S3, tvm_upward.S3
        return Multiplying.plan_product(self, call, a_at, b_at)

    def factor_of(self, scale, y_scale):
        return self.factor(scale, y_scale)

    def plan_cast(self, call):
        """glow.S3, tvm_upward.S3."""
        x, y = call.inputs[0], call.outs[0]
        if not (x.integers and x.single and y.type.integer and y.single):  # definitions.S6
            return None
        if self.clamps_equal and (x.scale, x.offset) == (y.scale, y.offset):
            return lambda: [clamp(v, y.quant.lo, y.quant.hi) for v in x.data]
        M = self.factor_of(x.scale, y.scale)
        return lambda: [clamp(self.scaled(R.wrap(v - x.offset, 32), M) + y.offset, y.quant.lo, y.quant.hi)
                        for v in x.data]

    clamps_equal = True

    def plan_sum(self, call, a_at, b_at, sign):
        """glow.S4, tvm_upward.S4."""
        a, b, y = *call.inputs, call.outs[0]
        if not self.eight(a, b, y):
            return None
        A, B = self.factor_of(a.scale, y.scale), self.factor_of(b.scale, y.scale)

        def compute():
            u = {v: self.scaled(v - a.offset, A) for v in set(a.data)}
            w = {v: sign * self.scaled(v - b.offset, B) for v in set(b.data)}
            return [clamp(u[a.data[i]] + w[b.data[j]] + y.offset, y.quant.lo, y.quant.hi) for i, j in zip(a_at, b_at)]
        return compute


class TvmUpward(Glow):
    name, stem = "tvm-upward", "tvm_upward"
    rounding = staticmethod(R.half_away)  # tvm_upward.S1
    factor_range = (None, None, "")
    clamps_equal = False

    def factor(self, product, y_scale):
        """tvm_upward.S2: the quotient is a binary64."""
        return product / y_scale

    def scaled(self, v, M):
        return once(v, *pair(M))


class TvmToNearest(TvmUpward):
    name, stem = "tvm-to-nearest", "tvm_to_nearest"

    def scaled(self, v, M):  # tvm_to_nearest.S1
        m, e = pair(M)
        return v * m + (1 << 30 - e) - (v < 0) >> 31 - e
