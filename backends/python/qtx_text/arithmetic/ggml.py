"""ggml's products of FLOAT rows by constant weights in blocks of 32, and in super-blocks of 256."""
import math

from .. import reals as R
from ..reals import BINARY16, exact, f32
from .base import clamp
from .binary32 import Float32

BLOCK = 32
SUPER = 256


def half(v):
    return v if not math.isfinite(v) else BINARY16.round(exact(v))


def greater(a, b):
    return a if a > b else b


def fits(n):
    return -2 ** 31 <= n < 2 ** 31


class SuperBlock:
    """256 weights: the real of number k is scale * factors[k] * codes[k] + base * bases[k]."""

    def __init__(self, codes, factors, bases, scale, base):
        self.codes, self.factors, self.bases, self.scale, self.base = codes, factors, bases, scale, base


class SuperBlocks:
    """The columns of w (ggml.S5), and those of x as codes (ggml.S6)."""

    def __init__(self, kind, columns):
        self.kind, self.columns = kind, columns

    @staticmethod
    def kind_of(w):
        """The type of ggml, how many elements share a factor, the least and the greatest factor, and that of the base."""
        name, q = w.type.name, w.quant
        if q.of_scales is None or len(q.message.scale_levels) < 2 or q.book is not None:
            return None
        if name == "UINT2Q":
            return "Q2_K", 16, 0, 15, 15
        if name == "UINT4Q":
            return "Q4_K", 32, 0, 63, 63
        if name == "UINT8Q" and q.hi <= 31:
            return "Q5_K", 32, 0, 63, 63
        if name == "INT8Q" and q.lo >= -32 and q.hi <= 31 and not any(q.bases or []):
            return ("Q3_K", 16, -32, 31, 63) if q.lo >= -4 and q.hi <= 3 else ("Q6_K", 16, -128, 127, 63)
        return None

    @classmethod
    def of(cls, p):
        """None where ggml.S5 does not take w."""
        w, axis = p.w, 1 - p.weight_axis
        kind = cls.kind_of(w)
        depth = w.dims[axis]
        if kind is None or depth % SUPER or not depth:
            return None
        name, shared, least, greatest, of_base = kind
        q, index = w.quant, w.quant.index(w.dims)
        fine, coarse = q.of_scales
        fine_base, coarse_base = q.of_bases or ([0.0] * len(fine), [1.0] * len(fine))
        columns = []
        for j in range(w.dims[1 - axis]):
            column = []
            for k in range(0, depth, SUPER):
                elements = [i * w.dims[1] + j if axis == 0 else j * depth + i for i in range(k, k + SUPER)]
                at = [index[e] if index else 0 for e in elements]
                for i, n in enumerate(at):
                    first = at[i - i % shared]
                    if fine[n] != fine[first] or fine_base[n] != fine_base[first]:
                        return None
                    if coarse[n] != coarse[at[0]] or coarse_base[n] != coarse_base[at[0]]:
                        return None
                    if fine[n] != math.floor(fine[n]) or not least <= fine[n] <= greatest:
                        return None
                    if fine_base[n] != math.floor(fine_base[n]) or not 0 <= fine_base[n] <= of_base:
                        return None
                scale, base = coarse[at[0]], coarse_base[at[0]]
                if half(scale) != scale or half(base) != base:
                    return None
                column.append(SuperBlock([w.data[e] for e in elements], [int(fine[n]) for n in at],
                                         [int(fine_base[n]) for n in at], scale, base))
            columns.append(column)
        return cls(name, columns)

    @staticmethod
    def quantize(values):
        """ggml.S6."""
        greatest = 0.0
        for v in values:
            if abs(v) > abs(greatest):
                greatest = v
        if greatest == 0:
            return [0] * SUPER, 0.0
        if math.isinf(greatest):
            return [0] * SUPER, math.inf
        inverse = R.div32(-127.0, greatest)
        codes = [f32(inverse * v) for v in values]
        return ([R.half_even(exact(c)) if math.isfinite(c) else 0 for c in codes],
                0.0 if math.isinf(inverse) else R.div32(1.0, inverse))


class Ggml(Float32):
    """ggml.S1 to S8."""

    name, stem = "ggml", "ggml"
    scales_may_be_signed = True  # of w: ggml.S1

    @staticmethod
    def multiplies(call, p):
        """Whether node and types are those of ggml.S1, whatever the storage and the base of w."""
        x, w, y = p.x, p.w, call.outs[0]
        if call.op not in ("MatMul", "Gemm") or x.type.code != 1 or y.type.code != 1 or w.quant is None:
            return False
        if not w.initializer or len(w.dims) != 2 or any(w.quant.offsets) or not x.dims or 0 in x.dims:
            return False
        return call.op == "MatMul" or p.bias is None and p.alpha == 1 and not call.attr("transA", 0)

    @classmethod
    def kind_of(cls, call, p):
        """ggml.S1: which rule of S3 and S8 the products have, or None."""
        if not cls.multiplies(call, p) or p.w.dims[1 - p.weight_axis] % BLOCK:
            return None
        name, q = p.w.type.name, p.w.quant
        based = any(q.bases or [])
        if q.book is not None:
            whole = all(v == math.floor(v) and abs(v) <= 127 for v in q.book)
            return "book" if name == "UINT4Q" and whole and not based else None
        if name in ("INT4Q", "INT8Q"):
            return None if based else name
        return "based" if name == "UINT4Q" or name == "UINT8Q" and q.hi <= 31 else None

    @staticmethod
    def of_blocks(p, parameters):
        """The parameter of each element of w, or None where a block has several or one that is no FLOAT16."""
        q, dims = p.w.quant, p.w.dims
        index = q.index(dims)
        values = [parameters[index[i] if index else 0] for i in range(len(p.w.data))]
        if any(half(s) != s for s in set(values)):
            return None
        along = dims[1] if p.weight_axis == 1 else 1  # the distance of neighbours along the summed axis
        for i, s in enumerate(values):
            k = i // along % dims[1 - p.weight_axis]
            if s != values[i - k % BLOCK * along]:
                return None
        return values

    def plan_products(self, call, products):
        p = products
        if self.multiplies(call, p):
            columns = SuperBlocks.of(p)
            if columns is not None:
                return lambda: self.super_products(p, columns)
        kind, q = self.kind_of(call, p), p.w.quant
        scales = self.of_blocks(p, q.scales) if kind else None
        bases = self.of_blocks(p, q.bases or [0.0] * len(q.scales)) if kind else None
        if scales is None or bases is None:
            return super().plan_products(call, p)
        data = p.w.data if q.book is None else [int(q.book[c]) for c in p.w.data]

        def compute():
            out, known = [], {}
            for xi, wi in p.taps():
                if xi[0] not in known:
                    known[xi[0]] = [self.block([p.x.data[i] for i in xi[b:b + BLOCK]])
                                    for b in range(0, len(xi), BLOCK)]
                weights = [[data[j] for j in wi[b:b + BLOCK]] for b in range(0, len(wi), BLOCK)]
                out.append(self.total(known[xi[0]], weights, [scales[j] for j in wi[::BLOCK]],
                                      [bases[j] for j in wi[::BLOCK]], kind))
            return out
        return compute

    def super_products(self, p, columns):
        out, known = [], {}
        for m, (xi, _) in enumerate(p.taps()):
            if xi[0] not in known:
                known[xi[0]] = [SuperBlocks.quantize([p.x.data[i] for i in xi[b:b + SUPER]])
                                for b in range(0, len(xi), SUPER)]
            out.append(self.super_total(known[xi[0]], columns.columns[m % len(columns.columns)], columns.kind))
        return out

    @staticmethod
    def super_total(rows, column, kind):
        """ggml.S7."""
        held, total = [0.0] * 8, 0.0
        for (codes, step), w in zip(rows, column):
            products = [a * b * f for a, b, f in zip(codes, w.codes, w.factors)]
            d, base = f32(w.scale * step), f32(w.base * step)
            term = f32(base * f32(float(sum(a * b for a, b in zip(codes, w.bases)))))
            if kind == "Q2_K":
                total = f32(total + f32(f32(d * f32(float(sum(products)))) + term))
                continue
            held = [f32(h + f32(d * f32(float(sum(products[lane::8]))))) for lane, h in enumerate(held)]
            total = f32(total + term)
        for h in held:
            total = f32(total + h)
        return total

    def block(self, values):
        """The codes of a block, its scale (ggml.S2), and the scale of their sum (ggml.S8)."""
        greatest = 0.0
        for v in values:
            greatest = greater(greatest, abs(v))
        d = R.div32(greatest, 127.0)
        inverse = 0.0 if d == 0 else R.div32(1.0, d)
        codes = [self.code(f32(v * inverse)) for v in values]
        return codes, half(d), half(f32(float(sum(codes)) * d))

    @staticmethod
    def code(steps):
        n = R.half_away(exact(steps)) if math.isfinite(steps) else 2 ** 31
        return R.wrap(n, 8) if fits(n) else 0

    def total(self, blocks, weights, scales, bases, kind):
        """ggml.S3, S8."""
        total = 0.0
        for (codes, d, of_base), w, s, m in zip(blocks, weights, scales, bases):
            whole = float(sum(a * b for a, b in zip(codes, w)))
            term = f32(f32(whole * s) * d) if kind == "INT4Q" else f32(whole * f32(s * d))
            total = f32(total + (f32(term + f32(m * of_base)) if kind == "based" else term))
        return total


class GgmlAvx2(Ggml):
    """ggml_avx2.S1 to S7."""

    name, stem = "ggml-avx2", "ggml_avx2"

    def block(self, values):  # ggml_avx2.S1
        lanes = []
        for lane in range(8):
            greatest = abs(values[lane])
            for v in values[lane + 8::8]:
                greatest = greater(greatest, abs(v))
            lanes.append(greatest)
        a, b, c, d = (greater(lanes[k + 4], lanes[k]) for k in range(4))
        G = greater(greater(a, c), greater(b, d))
        multiplier = 0.0 if G == 0 else R.div32(127.0, G)
        wholes = [self.whole(f32(v * multiplier)) for v in values]
        d = R.div32(G, 127.0)
        of_base = half(f32(f32(float(R.wrap(sum(wholes), 32))) * d))  # ggml_avx2.S6
        return [clamp(n, -128, 127) for n in wholes], half(d), of_base

    @staticmethod
    def whole(steps):
        n = R.half_even(exact(steps)) if math.isfinite(steps) else 2 ** 31
        return n if fits(n) else -2 ** 31

    @staticmethod
    def signed(code, weight):
        return -weight * R.wrap(-code, 8) if weight < 0 else weight * code

    def add(self, held, codes, weights, step):  # ggml_avx2.S2
        products = [self.signed(a, b) for a, b in zip(codes, weights)]
        return [R.fma32(step, float(sum(products[4 * k:4 * k + 4])), held[k]) for k in range(8)]

    def total(self, blocks, weights, scales, bases, kind):
        if kind == "book":
            return self.total_of_pairs(blocks, weights, scales)
        held, total = [0.0] * 8, 0.0
        for (codes, d, of_base), w, s, m in zip(blocks, weights, scales, bases):
            held, total = self.add(held, codes, w, f32(s * d)), R.fma32(m, of_base, total)
        lanes = self.of_lanes(held)
        return f32(lanes + total) if kind == "based" else lanes

    def total_of_pairs(self, blocks, weights, scales):  # ggml_avx2.S7
        held = [[0.0] * 8, [0.0] * 8]
        paired = len(blocks) // 2 * 2
        for n in range(paired):
            codes, d, _ = blocks[n]
            held[n % 2] = self.add(held[n % 2], codes, weights[n], f32(scales[n] * d))
        total = self.of_lanes([f32(a + b) for a, b in zip(*held)])
        if paired < len(blocks):
            codes, d, _ = blocks[-1]
            whole = float(sum(a * b for a, b in zip(codes, weights[-1])))
            total = R.fma32(f32(scales[-1] * d), whole, total)
        return total

    @classmethod
    def of_lanes(cls, held):
        return cls.of_four([f32(held[k + 4] + held[k]) for k in range(4)])

    @staticmethod
    def of_four(held):
        a, b, c, d = held
        return f32(f32(a + c) + f32(b + d))

    @classmethod
    def super_total(cls, rows, column, kind):  # ggml_avx2.S4, S5
        held, bases, base_sum = [0.0] * 8, [0.0] * 4, 0.0
        less = 32 if kind == "Q6_K" else 0
        for (codes, step), w in zip(rows, column):
            products = [a * (b + less) * f for a, b, f in zip(codes, w.codes, w.factors)]
            back = [a * less * f for a, f in zip(codes, w.factors)]
            d, base = f32(w.scale * step), f32(w.base * step)
            by_bases = [a * b for a, b in zip(codes, w.bases)]
            for lane in range(8):
                if kind == "Q2_K":
                    held[lane] = R.fma32(base, float(sum(by_bases[32 * lane:32 * lane + 32])), held[lane])
                whole = sum(sum(products[32 * n + 4 * lane:32 * n + 4 * lane + 4]) for n in range(8))
                held[lane] = R.fma32(d, f32(float(whole - sum(back[32 * lane:32 * lane + 32]))), held[lane])
            bases = [R.fma32(base, float(sum(by_bases[64 * k:64 * k + 64])), bases[k]) for k in range(4)]
            base_sum = R.fma32(base, float(sum(by_bases)), base_sum)
        total = cls.of_lanes(held)
        if kind not in ("Q4_K", "Q5_K"):
            return total
        return f32(total + (cls.of_four(bases) if kind == "Q4_K" else base_sum))
