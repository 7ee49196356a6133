"""TFLite's kernels: tflite and the arithmetics named after it, and cmsis-nn. What has no kernel is exact (tflite.S11)."""
import math
from fractions import Fraction

from .. import functions as F
from .. import reals as R
from ..reals import INF, exact, f32, is_nan
from ..types import invalid, is_power_of_two
from . import bilinear, litert_hybrid, litert_tables, litert_vectors, tflite_lstm, tflite_words
from .base import BINARY32_NUMBERS, Exact, clamp


def pair(M):
    """tflite.S1: the multiplier m and the exponent e of a factor."""
    if M == INF:
        return 2 ** 31 - 1, 30
    if M == 0:
        return 0, 0
    q, e = math.frexp(M)
    m = R.half_away(Fraction(q) * 2 ** 31)
    if m == 2 ** 31:
        m, e = 2 ** 30, e + 1
    return (0, 0) if e < -31 else (2 ** 31 - 1, 30) if e > 30 else (m, e)


def once(a, m, e):  # tflite.S2
    return a * m + (1 << 30 - e) >> 31 - e


def high(a, m):
    p = a * m
    p += 2 ** 30 if p >= 0 else 1 - 2 ** 30
    return R.saturate(p >> 31 if p >= 0 else -(-p >> 31), 32)


def pot(h, r):
    return (h >> r) + (h % (1 << r) > ((1 << r) - 1 >> 1) + (h < 0))


def twice(a, m, e):  # tflite.S3
    return pot(high(R.saturate(a << max(e, 0), 32), m), max(-e, 0))


def upward(a, M):  # tflite_half_up.S1
    m, e = pair(M)
    return R.half_up(Fraction(high(R.wrap(a << max(e, 0), 32), m), 1 << max(-e, 0)))


def away(a, M):  # tflite_half_up.S2
    return away_by_pair(a, *pair(M))


def away_by_pair(a, m, e):
    return pot(high(R.wrap(a << max(e, 0), 32), m), max(-e, 0))


def in_binary64(a, M):  # tflite.S12, tflite_float64.S1
    return R.half_away(exact(R.float64(a * Fraction(M))))


def inverse_root(d):
    """tflite.S16: root(d) and steps(d) + 20, with 1 / sqrt(d) = root(d) * 2^(steps(d) - 31)."""
    if d == 1:
        return 2 ** 31 - 1, 20
    pairs = 28 - (d.bit_length() - 1) >> 1
    h, t = pot(d * 4 ** pairs // 2, 1), 2 ** 28
    for _ in range(5):
        cube = R.saturate(high(high(t, t), t) << 6, 32)
        t = R.saturate(high(3 * 2 ** 27, t) - high(h, cube) << 3, 32)
    return high(t, 1518500250), pairs - 11 + 20  # the binary fraction nearest to the root of 1/2


EXPONENTIALS = 1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242


def fixed_exp(a):
    """tflite_float64.S8: exp(a) of a <= 0 in units of 2^-26."""
    if a == 0:
        return 2 ** 31 - 1
    above = a % 2 ** 24 - 2 ** 24
    x = above * 32 + 2 ** 28
    square = high(x, x)
    cubes = pot(high(square, square), 2) + high(square, x)
    r = 1895147668 + high(1895147668, x + pot(high(cubes, 715827883) + square, 1))
    for j, constant in enumerate(EXPONENTIALS):
        if above - a >> 24 + j & 1:
            r = high(r, constant)
    return r


def fixed_inverse(h):
    """tflite_float64.S8: 1 / h, of h in units of 2^-31."""
    v = 1515870810 + high(h, -1010580540)
    for _ in range(3):
        v += R.saturate(4 * high(v, 2 ** 29 - high(h, v)), 32)
    return R.saturate(2 * v, 32)


def to_step(v, offset, lo, hi):
    """A binary32 number of steps, rounded half_away; no number gives the offset, clamped (tflite.S8, S13)."""
    if is_nan(v):
        return clamp(offset, lo, hi)
    return (hi if v > 0 else lo) if math.isinf(v) else clamp(R.half_away(exact(v)) + offset, lo, hi)


class Tflite(Exact):
    name = "tflite"
    # What requantizes: None leaves it to the kernel.
    requantize = None
    transposes_bytes = False  # ConvTranspose of 8 bits has a kernel
    connects_in_binary64 = False  # FULLY_CONNECTED of 16 bits without a bias, too

    def times(self, a, M):
        """tflite.S5: twice, or what the arithmetic has in its place (tflite_double.S1, tflite_single.S1)."""
        return (self.requantize or twice)(a, *pair(M))

    def plan_products(self, call, products):
        p, y = products, call.outs[0]
        if call.origin[0] == "tflite":
            p.kernel = {"CONV_2D": "CONV", "DEPTHWISE_CONV_2D": "DEPTHWISE", "FULLY_CONNECTED": "FC",
                        "BATCH_MATMUL": "BATCH",
                        "TRANSPOSE_CONV": "TRANSPOSE"}.get(call.origin[1], p.kernel)
        if p.kernel == "FC" and call.origin[0] == "tflite" and p.x.type.code == 1 and y.type.code == 1:
            return self.hybrid(call, p)
        if not p.integer() or not y.single:
            return None
        codes = p.x.type.code, p.w.type.code, y.type.code
        if codes[0] == codes[2] == 1005:
            return self.sixteen(p, y)
        if codes not in ((1003,) * 3, (1002,) * 3, (1003, 1022, 1003)):  # definitions.S11
            return None
        if p.kernel == "TRANSPOSE" and (not self.transposes_bytes or call.attr("group", 1) != 1):
            return None
        uint8 = codes[0] == 1002
        if not p.w.single and uint8 or p.kernel == "BATCH" and (codes != (1003,) * 3 or not p.w.single):
            return None
        step = self.step_of(p.kernel, uint8)
        whole = self.whole_blocks(p, uint8)
        exact_product = step is in_binary64 or (
            len(p.w.quant.scales) > 1 if p.kernel in ("FC", "BATCH") else not uint8)
        factors = {ws: self.factor(p.x.scale, ws, y.scale, exact_product) for ws in p.w.quant.scales}

        def compute():
            out = []
            for m, v in enumerate(p.sums()):
                ws = p.weight_scale(m)
                v = R.wrap(v + p.bias_stored(m, p.x.quant.reals[0] * Fraction(ws), 2 ** 20, 32), 32)
                rounded = (step if whole is None or p.channel(m) < whole else away)(v, factors[ws])
                out.append(clamp(rounded + y.offset, y.quant.lo, y.quant.hi))
            return out
        return compute

    @staticmethod
    def whole_blocks(p, uint8):
        """How many channels lie in whole blocks; None where all are alike."""
        return None

    def step_of(self, kernel, uint8):
        """How a product of 8 bits is requantized by its factor."""
        step = self.requantize or (once if not uint8 and kernel in ("CONV", "FC") else twice)
        return lambda a, M: step(a, *pair(M))

    @staticmethod
    def factor(x_scale, w_scale, y_scale, exact_product):
        """The M of tflite.S4; the product of two binary32 is exact in binary64."""
        return (x_scale * w_scale if exact_product else f32(x_scale * w_scale)) / y_scale

    def sixteen(self, p, y):
        """tflite.S12."""
        batch = p.kernel == "BATCH"
        if p.w.type.code != 1003 and not (batch and p.w.type.code == 1005) or batch and not p.w.single:
            return None
        if any(o for t in (p.x, p.w, y) for o in t.quant.offsets):
            return None
        connected = p.kernel == "FC"
        per_axis = len(p.w.quant.scales) > 1
        pairs = {}
        for ws in p.w.quant.scales:
            M = self.factor(p.x.scale, ws, y.scale, per_axis or p.kernel in ("CONV", "DEPTHWISE", "TRANSPOSE")
                            or connected and (p.bias is not None or self.connects_in_binary64))
            m, e = pair(M)
            if not connected and e > 7:
                raise invalid("tflite.S12", "the exponent of the multiplier is %d" % e)
            pairs[ws] = M, m, e

        def compute():
            out = []
            for k, v in enumerate(p.sums()):
                ws = p.weight_scale(k)
                M, m, e = pairs[ws]
                v += p.bias_stored(k, p.x.quant.reals[0] * Fraction(ws), 2 ** 20, 32)
                if not connected:
                    m15 = min(m + 2 ** 15 >> 16, 2 ** 15 - 1)
                    v = R.saturate(v, 48) * m15 + (1 << 14 - e) >> 15 - e
                elif p.bias is None and not self.connects_in_binary64:
                    v = self.step_of("FC", False)(R.wrap(v, 32), M)
                else:
                    v = in_binary64(v, M)
                out.append(clamp(v, y.quant.lo, y.quant.hi))
            return out
        return compute

    def hybrid(self, call, p):
        """tflite.S14."""
        w = p.w
        if w.type.code != 1003 or not w.single or w.offset or p.alpha != 1 or p.beta != 1:
            return None
        if p.bias is not None and p.bias.type.code != 1 or call.attrs.get("transA") or not call.attrs.get("transB"):
            return None  # a MatMul has neither
        if not all(map(math.isfinite, p.x.data or [])):  # known at Run
            return None

        def compute():
            x, out = p.x, []
            size = x.dims[1]
            rows = []
            for i in range(x.dims[0]):
                row = x.data[i * size:(i + 1) * size]
                r = max([abs(v) for v in row], default=0.0)
                factor = R.div32(127.0, r)
                q = [0 if v == 0 else to_step(f32(v * factor), 0, -127, 127) for v in row]
                rows.append((r, q))
            columns = len(p.w.data) // size if size else 0
            for m, (xi, wi) in enumerate(p.taps()):
                r, q = rows[m // columns]
                total = sum(q[i % size] * w.data[j] for i, j in zip(xi, wi))
                v = f32(f32(total) * f32(R.div32(r, 127.0) * w.scale))
                out.append(f32(p.bias.data[p.bias_at(m)] + v) if p.bias is not None else v)
            return out
        return compute

    def plan_sum(self, call, a_at, b_at, sign):
        """tflite.S5, tflite.S12: ADD and SUB."""
        a, b, y = *call.inputs, call.outs[0]
        if not (a.single and b.single and y.single):
            return None
        if a.type.eight and b.type.eight and y.type.eight:
            shift = 20
        elif a.type.code == b.type.code == y.type.code == 1005:
            if a.offset or b.offset or y.offset:
                return None  # 16-bit activations have no offsets
            if call.origin_integer("tflite", "pot_scale_int16", 1) and all(is_power_of_two(t.scale) for t in (a, b, y)):
                return self.plan_shifted_sum(call, a_at, b_at, sign)
            shift = 15
        else:
            return None

        def compute():
            t = 2 * max(a.scale, b.scale)
            u = {v: self.times((v - a.offset) << shift, a.scale / t) for v in set(a.data)}
            w = {v: self.times((v - b.offset) << shift, b.scale / t) * sign for v in set(b.data)}
            M = t / (2 ** shift * y.scale)
            return [clamp(self.times(u[a.data[i]] + w[b.data[j]], M) + y.offset, y.quant.lo, y.quant.hi)
                    for i, j in zip(a_at, b_at)]
        return compute

    @staticmethod
    def plan_shifted_sum(call, a_at, b_at, sign):
        """tflite.S12: ADD and SUB of scales that are powers of two."""
        a, b, y = *call.inputs, call.outs[0]
        if call.origin not in (("tflite", "ADD"), ("tflite", "SUB")) or max(a.scale, b.scale) != y.scale:
            return None

        def compute():
            u, w = ([R.half_away(Fraction(v) * Fraction(t.scale) / Fraction(y.scale)) for v in t.data] for t in (a, b))
            return [clamp(u[i] + w[j] * sign, y.quant.lo, y.quant.hi) for i, j in zip(a_at, b_at)]
        return compute if a.dims == b.dims or call.origin[1] == "SUB" else None

    def plan_product(self, call, a_at, b_at):
        """tflite.S6, tflite.S12: MUL."""
        a, b, y = *call.inputs, call.outs[0]
        if not (a.single and b.single and y.single):
            return None
        sixteen = a.type.code == b.type.code == y.type.code == 1005 and not (a.offset or b.offset or y.offset)
        if not sixteen and not (a.type.eight and b.type.eight and y.type.eight):
            return None

        def compute():
            M = R.div32(f32(a.scale * b.scale), y.scale)
            return [clamp(self.times((a.data[i] - a.offset) * (b.data[j] - b.offset), M) + y.offset, y.quant.lo,
                          y.quant.hi)
                    for i, j in zip(a_at, b_at)]
        return compute

    def plan_average(self, call, windows, padded, whole):
        """tflite.S7. The kernel divides by the elements inside: padding that counts has none."""
        x, y = call.inputs[0], call.outs[0]
        if x.type is not y.type or not (x.type.eight or x.type.code == 1005) or not (x.single and y.single) or padded:
            return None
        if (x.scale, x.offset) != (y.scale, y.offset) or x.offset and not x.type.eight:
            return None  # 16-bit activations have no offsets (tflite.S12)
        return lambda: [clamp(R.half_away(Fraction(sum(x.data[i] for i in w), n)), y.quant.lo, y.quant.hi)
                        for w, n in windows()]

    def plan_softmax(self, call, rows):
        """tflite.S8."""
        x, y = call.inputs[0], call.outs[0]
        if not (x.type.eight and x.type is y.type and x.single and y.single):
            return None

        def compute():
            out = [None] * len(x.data)
            for row in rows():
                greatest = max(x.data[i] for i in row)
                e = [F.function32("exp", f32(-x.scale * (greatest - x.data[i]))) for i in row]
                k = R.div32(1.0, f32(BINARY32_NUMBERS.total(e) * y.scale))
                for i, v in zip(row, e):
                    out[i] = to_step(f32(v * k), y.offset, y.quant.lo, y.quant.hi)
            return out
        return compute

    def plan_cast(self, call):
        """tflite.S9: QUANTIZE."""
        x, y = call.inputs[0], call.outs[0]
        if x.quant is None and y.quant is not None:
            return lambda: self.quantize_binary32(x.floats(), y)
        if self.rescaled(x, y):
            M = x.scale / y.scale
            return lambda: [clamp(self.times(R.wrap(v - x.offset, 32), M) + y.offset, y.quant.lo, y.quant.hi)
                            for v in x.data]
        return None

    @staticmethod
    def rescaled(x, y):
        """QUANTIZE between quantized types is for integer types of 8 bits and more with one scale (definitions.S11)."""
        return all(t.type.integer and t.type.bits >= 8 and t.single for t in (x, y))

    def quantize_binary32(self, values, y):
        if not y.type.integer:  # of a binary32 quotient (float32.S2)
            return [self.quantize(exact(R.div32(v, s)), y.type, 1, o, y.quant.lo, y.quant.hi)
                    for v, (s, o) in zip(values, y.quant.at(y.dims))]
        return [to_step(R.div32(v, s), o, y.quant.lo, y.quant.hi)
                for v, (s, o) in zip(values, y.quant.at(y.dims))]

    def quantize_linear(self, v, type_, scale, zero):
        """QuantizeLinear of a binary32: half_away, a binary32 quotient (quantize_linear)."""
        return to_step(R.div32(v, scale), zero, type_.lo, type_.hi)

    def plan_relu(self, call, top=None):
        """tflite.S9: RELU, and RELU6 with the bound 6."""
        x, y = call.inputs[0], call.outs[0]
        if not self.activated(x, y):
            return None

        def compute():
            M = R.div32(x.scale, y.scale)
            bound = None if top is None else R.half_away(exact(R.div32(top, y.scale)))
            out = []
            for v in x.data:
                v = max(self.times(v - x.offset, M), 0)
                out.append(clamp((v if bound is None else min(v, bound)) + y.offset, y.quant.lo, y.quant.hi))
            return out
        return compute

    @staticmethod
    def activated(x, y):
        """RELU, RELU6 and LEAKY_RELU: x and y of one type, of 8 bits or INT16Q without offset (definitions.S11)."""
        return x.single and y.single and x.type is y.type and (
            x.type.eight or x.type.code == 1005 and not x.offset and not y.offset)

    def plan_relu6(self, call):
        bounds = [call.input(i) for i in (1, 2)]
        is_relu6 = call.origin == ("tflite", "RELU6") and all(
            b is not None and b.type.code == 1 and b.data and b.data[0] == v for b, v in zip(bounds, (0, 6)))
        return self.plan_relu(call, 6.0) if is_relu6 else None

    def plan_leaky_relu(self, call, alpha):
        """tflite.S15."""
        x, y = call.inputs[0], call.outs[0]
        if not self.activated(x, y):
            return None

        def compute():
            above, below = R.div32(x.scale, y.scale), R.div32(f32(x.scale * alpha), y.scale)
            s, below = (-1 if below < 0 else 1), abs(below)
            return [clamp((self.times(v - x.offset, above) if v >= x.offset
                           else s * self.times(v - x.offset, below)) + y.offset,
                          y.quant.lo, y.quant.hi) for v in x.data]
        return compute

    def plan_function(self, call, name):
        """tflite.S13: LOGISTIC and TANH."""
        x, y = call.inputs[0], call.outs[0]
        if name not in ("sigmoid", "tanh") or not (x.type.eight and x.type is y.type and x.single and y.single):
            return None

        def one(stored):
            v = f32(x.scale * (stored - x.offset))
            if name == "tanh":
                f = F.function32("tanh", v)
            else:
                f = R.div32(1.0, f32(1 + F.function32("exp", -v)))
            return to_step(f32(f * R.div32(1.0, y.scale)), y.offset, y.quant.lo, y.quant.hi)

        def compute():
            table = {v: one(v) for v in set(x.data)}
            return [table[v] for v in x.data]
        return compute

    def plan_rsqrt(self, call):
        """tflite.S16: RSQRT of int8, a Pow of exponent -1/2."""
        x, y = call.inputs[0], call.outs[0]
        if x.type.code != 1003 or y.type.code != 1003 or not (x.single and y.single):
            return None

        def compute():
            m, e = pair(R.div64(1.0, f32(F.function32("sqrt", x.scale) * y.scale)))
            step = self.requantize or twice
            table = {d: 127 if d <= 0 else step(step(1, *inverse_root(d)), m, e - 20) + y.offset
                     for d in {v - x.offset for v in x.data}}
            return [clamp(table[v - x.offset], y.quant.lo, y.quant.hi) for v in x.data]
        return compute

    def plan_lstm(self, call):
        """tflite.S18; all outputs. With both roundings of tflite.S5 in tflite-single, too (tflite_single.S2)."""
        return tflite_lstm.plan(call, lambda a, M: twice(a, *pair(M)))

    def plan_log_softmax(self, call, steps):
        """tflite.S17: FLOAT to FLOAT in the steps of float32."""
        if call.inputs[0].type.code == 1 and call.outs[0].type.code == 1:
            return lambda: steps(BINARY32_NUMBERS)
        return None


class TfliteDouble(Tflite):
    name = "tflite-double"
    requantize = staticmethod(twice)  # tflite_double.S1
    transposes_bytes = True


class TfliteSingle(Tflite):
    name = "tflite-single"
    requantize = staticmethod(once)  # tflite_single.S1


class TfliteLiteRt(TfliteDouble):
    """With what LiteRT 2.3 has beside: MEAN and functions of 16 bits."""

    def plan_total(self, call, what, groups, channels):
        """tflite_float64.S3; `channels`: of an image whose height and width are reduced and kept."""
        x, y = call.inputs[0], call.outs[0]
        other = call.origin[0] == "tflite" and call.origin[1] not in ("", "MEAN")
        if what != "MEAN" or other or not self.activated(x, y):
            return None
        n = len(groups[0]) if groups else 1
        T = R.div32(f32(x.offset * x.scale), y.scale)
        image = self.image_mean(x, y, n, channels, T) if channels and x.type.eight and abs(T) < 2 ** 31 else None
        m, e = pair(x.scale / y.scale)
        s = min(n.bit_length() - 1, 32, 31 + e)

        def stored(k, total):
            if image:
                return image(k, total)
            return away_by_pair(total - n * x.offset, (m << s) // n, e - s) + y.offset
        return lambda: [clamp(stored(k, sum(x.data[i] for i in g)), y.quant.lo, y.quant.hi)
                        for k, g in enumerate(groups)]

    @staticmethod
    def image_mean(x, y, n, channels, T):
        """A function of the index of a result and the sum of its stored values, or None."""
        return None

    blend_floats = staticmethod(bilinear.blend_in_turn)

    builtin = False

    def plan_cast(self, call):
        return litert_vectors.plan_floats(call, self.builtin) or super().plan_cast(call)

    def plan_quotient(self, call, a_at, b_at, otherwise):
        """tflite_float64.S14: DIV; `otherwise`: the results where a divisor is 0."""
        a, b, y = *call.inputs, call.outs[0]
        if not litert_vectors.stands_for(call, "DIV") or not (a.type is b.type is y.type) or not (
                a.single and b.single and y.single) or not (
                a.type.eight or a.type.code == 1005 and not (a.offset or b.offset or y.offset)):
            return None
        M = R.div32(a.scale, f32(b.scale * y.scale))
        if not 2.0 ** -15 <= M < 2.0 ** 13:
            return None
        m, e = pair(M)

        def one(d, n):
            if n < 0:
                d, n = -d, -n
            doublings = n.bit_length() - 1
            room = 31 - (d if d >= 0 else -d - 1).bit_length()
            h = high(high(d << room, fixed_inverse(n << 30 - doublings)), m)
            r = doublings + room - e
            return pot(h, r) if r < 32 else (h >> r - 32) + (h >= 0)

        def compute():
            if any(v == b.offset for v in b.data):
                return otherwise()
            return [clamp(one(a.data[i] - a.offset, b.data[j] - b.offset) + y.offset, y.quant.lo, y.quant.hi)
                    for i, j in zip(a_at, b_at)]
        return compute

    def plan_norm(self, call, lines):
        """tflite_float64.S12: L2_NORMALIZATION of 8 bits."""
        x, y = call.inputs[0], call.outs[0]
        signed = y.type.code == 1003
        if call.origin != ("tflite", "L2_NORMALIZATION") or call.attr("p", 2) != 2 or not (
                x.type.eight and x.type is y.type and x.single and y.single) or (
                (y.scale, y.offset) != (2.0 ** -7, 0 if signed else 128)) or any(len(line) > 8256 for line in lines):
            return None

        def compute():
            out = [None] * len(x.data)
            for line in lines:
                d = [x.data[i] - x.offset for i in line]
                m, e = inverse_root(max(sum(v * v for v in d), 1))
                for i, v in zip(line, d):
                    steps = twice(v, m, e - 20 + 7) if signed else twice(v * 128, m, e - 20)
                    out[i] = clamp(steps + y.offset, y.quant.lo, y.quant.hi)
            return out
        return compute

    def plan_products(self, call, products):
        return litert_hybrid.plan(call, products, self.builtin) or super().plan_products(call, products)

    def plan_resize(self, call, dims):
        """tflite_float64.S6."""
        code = call.inputs[0].type.code
        if code not in (1002, 1003, 1005) or not bilinear.takes(call, dims):
            return None
        if code == 1002:
            return bilinear.plan(call, dims, bilinear.float_places, self.blend_floats)
        return bilinear.plan(call, dims, bilinear.whole_places, bilinear.whole_blend(2 ** 10, R.half_away))

    def plan_function(self, call, name):
        x, y = call.inputs[0], call.outs[0]
        if name in ("exp", "gelu"):
            return litert_tables.plan(call, name, to_step)
        if name == "hardswish":
            return self.plan_swish(x, y)
        if name not in ("sigmoid", "tanh") or not tflite_words.takes(x, y) or x.scale * 12288 >= 2 ** 15:
            return super().plan_function(call, name)
        f = self.word_function(name, x.scale)

        def compute():
            table = {v: f(v) for v in set(x.data)}
            return [table[v] for v in x.data]
        return compute

    @staticmethod
    def plan_swish(x, y):
        """tflite_float64.S10."""
        if not (x.type.eight and x.type is y.type and x.single and y.single):
            return None
        fine_scale = f32(x.scale / 128)
        m, e = pair(R.div32(fine_scale, y.scale))
        n, f = pair(R.div32(fine_scale, 3 / 2 ** 15))
        if not (-14 <= e <= 0 and -14 <= f <= 15):
            return None
        m, n = (2 ** 15 - 1 if k >= 2 ** 31 - 1 - 2 ** 15 else k + 2 ** 15 >> 16 for k in (m, n))

        def high16(a, b):
            p = a * b
            return R.saturate(R.toward_zero(Fraction(p + (2 ** 14 if p >= 0 else 1 - 2 ** 14), 2 ** 15)), 16)

        def one(stored):
            fine = (stored - x.offset) * 128
            if f > 0:
                bounded = R.saturate(2 * high16(R.saturate(fine << f - 1, 16), n), 16)
            else:
                bounded = pot(high16(fine, n), -f)
            product = R.saturate(R.toward_zero(Fraction((bounded + 2 ** 15 >> 1) * high16(fine, m), 2 ** 15)), 16)
            return clamp(pot(product, -e) + y.offset, y.quant.lo, y.quant.hi)
        return lambda: [one(v) for v in x.data]

    def plan_log_softmax(self, call, steps):
        """tflite_float64.S11."""
        x, y = call.inputs[0], call.outs[0]
        if not (x.type.eight and x.type is y.type and x.single and y.single) or (
                (y.scale, y.offset) != (2.0 ** -4, 127 if y.type.code == 1003 else 255)):
            return super().plan_log_softmax(call, steps)

        def compute():
            out = [None] * len(x.data)
            for row in call.rows():
                greatest = max(x.data[i] for i in row)
                e = [F.function32("exp", f32(-x.scale * (greatest - x.data[i]))) for i in row]
                whole = f32(f32(x.scale * greatest) + F.function32("log", BINARY32_NUMBERS.total(e)))
                less, ratio = R.div32(whole, y.scale), R.div32(x.scale, y.scale)
                for i in row:
                    v = R.half_even(exact(f32(f32(ratio * x.data[i]) - less))) + y.offset
                    out[i] = clamp(v, y.quant.lo, y.quant.hi)
            return out
        return compute

    @staticmethod
    def word_function(name, scale):
        return tflite_words.of_table(name, scale)

    def plan_softmax(self, call, rows):
        x, y = call.inputs[0], call.outs[0]
        if not tflite_words.takes(x, y) or len(next(iter(rows()), ())) > 2 ** 16:
            return super().plan_softmax(call, rows)
        factor = pair(x.scale / (10 / 65535))

        def compute():
            out = [None] * len(x.data)
            for row in rows():
                greatest = max(x.data[i] for i in row)
                shares = tflite_words.softmax([away_by_pair(x.data[i] - greatest, *factor) for i in row])
                for i, v in zip(row, shares):
                    out[i] = v
            return out
        return compute


class TfliteHalfUp(TfliteLiteRt):
    name = "tflite-half-up"

    def plan_total(self, call, what, groups, channels):
        x, y = call.inputs[0], call.outs[0]
        if what != "SUM":
            return super().plan_total(call, what, groups, channels)
        other = call.origin[0] == "tflite" and call.origin[1] not in ("", "SUM")
        if other or not self.activated(x, y):
            return None
        n = len(groups[0]) if groups else 1
        M = R.div32(x.scale, y.scale)
        offsets = f32(f32(-x.offset * M) * f32(n))

        def stored(total):  # tflite_half_up.S9
            v = f32(f32(f32(R.wrap(total, 32)) * M) + offsets)
            whole = R.half_away(exact(v)) if abs(v) < 2 ** 31 else -2 ** 31
            return R.wrap(whole + y.offset, 32)
        return lambda: [clamp(stored(sum(x.data[i] for i in g)), y.quant.lo, y.quant.hi) for g in groups]

    def plan_cast(self, call):  # tflite_half_up.S12
        return litert_vectors.plan_bytes(call, upward, away) or super().plan_cast(call)

    def plan_sum(self, call, a_at, b_at, sign):  # tflite_half_up.S13
        a, b, y = *call.inputs, call.outs[0]
        plan = super().plan_sum(call, a_at, b_at, sign)
        if plan is None or call.stem != "add" or not litert_vectors.stands_for(call, "ADD") or not (a.type is b.type is y.type):
            return plan
        shifts = not a.type.eight and call.origin_integer("tflite", "pot_scale_int16", 1) and all(
            is_power_of_two(t.scale) for t in (a, b, y))
        return plan if shifts else litert_vectors.plan_sum(call, a_at, b_at, (high, pair, twice))

    blend_floats = staticmethod(bilinear.blend_by_rows)  # tflite_half_up.S6
    builtin = True  # tflite_half_up.S7

    @staticmethod
    def word_function(name, scale):  # tflite_half_up.S5
        if name == "sigmoid" and scale == 2.0 ** -12:
            return tflite_lstm.logistic16
        if name == "tanh" and scale in (2.0 ** -12, 2.0 ** -11):
            return lambda v: tflite_lstm.tanh16(R.saturate(v * int(scale * 2 ** 12), 16), 3)
        return tflite_words.of_table(name, scale)

    @staticmethod
    def image_mean(x, y, n, channels, T):  # tflite_half_up.S4
        M = R.div32(x.scale, f32(R.float32(Fraction(n)) * y.scale))
        o = y.offset - R.toward_zero(exact(f32(T + (0.5 if T > 0 else -0.5))))
        whole = channels // 16 * 16 if x.type.code == 1003 else 0
        return lambda k, total: (upward if k % channels < whole else away)(total, M) + o

    def step_of(self, kernel, uint8):
        return away if kernel == "BATCH" or kernel == "DEPTHWISE" and uint8 else upward

    @staticmethod
    def whole_blocks(p, uint8):  # tflite_half_up.S2
        if uint8 or p.kernel not in ("DEPTHWISE", "TRANSPOSE"):
            return None
        return p.w.dims[1 if p.kernel == "TRANSPOSE" else 0] // 8 * 8


class TfliteFloat64(TfliteLiteRt):
    name = "tflite-float64"
    connects_in_binary64 = True

    def step_of(self, kernel, uint8):  # tflite_float64.S1
        return in_binary64 if kernel == "FC" else super().step_of(kernel, uint8)

    def plan_softmax(self, call, rows):
        """tflite_float64.S8."""
        x, y = call.inputs[0], call.outs[0]
        eight = x.type.eight and x.type is y.type and x.single and y.single
        if not eight or (y.scale, y.offset) != (2.0 ** -8, -128 if y.type.code == 1003 else 0) or x.scale <= 2.0 ** -26:
            return super().plan_softmax(call, rows)
        other = super().plan_softmax(call, rows)

        def compute():
            if any(len(row) > 4095 for row in rows()):
                return other()
            m, e = pair(min(x.scale * 2.0 ** 26, 2.0 ** 31 - 1))
            least = -math.floor(31 * 2.0 ** (26 - e))
            out = [None] * len(x.data)
            for row in rows():
                greatest = max(x.data[i] for i in row)
                below = [x.data[i] - greatest for i in row]
                shares = [fixed_exp(high(d << e, m)) if d >= least else 0 for d in below]
                total = sum(pot(s, 12) for s in shares)
                zeros = 32 - total.bit_length()
                inverse = fixed_inverse(total << zeros - 1)
                for i, s in zip(row, shares):
                    out[i] = clamp(pot(high(inverse, s), 35 - zeros) + y.offset, y.quant.lo, y.quant.hi)
            return out
        return compute


class CmsisNn(TfliteDouble):
    name = "cmsis-nn"  # cmsis_nn.S1
