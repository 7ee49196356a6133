"""ggml's products of FLOAT rows by constant weights in blocks of 32."""
import math

from .. import reals as R
from ..reals import BINARY16, exact, f32
from .base import clamp
from .binary32 import Float32

BLOCK = 32


def half(v):
    return v if not math.isfinite(v) else BINARY16.round(exact(v))


def greater(a, b):
    return a if a > b else b


def fits(n):
    return -2 ** 31 <= n < 2 ** 31


class Ggml(Float32):
    """ggml.S1 to S4."""

    name, stem = "ggml", "ggml"
    scales_may_be_signed = True  # of w: ggml.S1

    @staticmethod
    def takes(call, p):  # ggml.S1
        x, w, y = p.x, p.w, call.outs[0]
        if call.op not in ("MatMul", "Gemm") or x.type.code != 1 or y.type.code != 1 or w.type.code not in (1003, 1022):
            return False
        if not w.initializer or len(w.dims) != 2 or any(w.quant.offsets) or w.quant.bases is not None or not x.dims:
            return False
        if call.op == "Gemm" and (p.bias is not None or p.alpha != 1 or call.attr("transA", 0)):
            return False
        depth = w.dims[1 - p.weight_axis]
        return 0 not in x.dims and depth % BLOCK == 0

    @staticmethod
    def scales_of(p):
        """The scale of each element of w, or None where a block has several or one that is no FLOAT16."""
        q, dims = p.w.quant, p.w.dims
        index = q.index(dims)
        scales = [q.scales[index[i] if index else 0] for i in range(len(p.w.data))]
        if any(half(s) != s for s in set(scales)):
            return None
        along = dims[1] if p.weight_axis == 1 else 1  # the distance of neighbours along the summed axis
        for i, s in enumerate(scales):
            k = i // along % dims[1 - p.weight_axis]
            if s != scales[i - k % BLOCK * along]:
                return None
        return scales

    def plan_products(self, call, products):
        p = products
        scales = self.scales_of(p) if self.takes(call, p) else None
        if scales is None:
            return super().plan_products(call, p)
        narrow = p.w.type.code == 1022

        def compute():
            out, known = [], {}
            for xi, wi in p.taps():
                if xi[0] not in known:
                    known[xi[0]] = [self.block([p.x.data[i] for i in xi[b:b + BLOCK]])
                                    for b in range(0, len(xi), BLOCK)]
                weights = [[p.w.data[j] for j in wi[b:b + BLOCK]] for b in range(0, len(wi), BLOCK)]
                out.append(self.total(known[xi[0]], weights, [scales[j] for j in wi[::BLOCK]], narrow))
            return out
        return compute

    def block(self, values):
        """The codes of a block and its scale (ggml.S2)."""
        greatest = 0.0
        for v in values:
            greatest = greater(greatest, abs(v))
        d = R.div32(greatest, 127.0)
        inverse = 0.0 if d == 0 else R.div32(1.0, d)
        return [self.code(f32(v * inverse)) for v in values], half(d)

    @staticmethod
    def code(steps):
        n = R.half_away(exact(steps)) if math.isfinite(steps) else 2 ** 31
        return R.wrap(n, 8) if fits(n) else 0

    def total(self, blocks, weights, scales, narrow):
        """ggml.S3."""
        total = 0.0
        for (codes, d), w, s in zip(blocks, weights, scales):
            whole = float(sum(a * b for a, b in zip(codes, w)))
            total = f32(total + (f32(f32(whole * s) * d) if narrow else f32(whole * f32(s * d))))
        return total


class GgmlAvx2(Ggml):
    """ggml_avx2.S1 to S3."""

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
        return [self.code(f32(v * multiplier)) for v in values], half(R.div32(G, 127.0))

    @staticmethod
    def code(steps):
        n = R.half_even(exact(steps)) if math.isfinite(steps) else 2 ** 31
        return clamp(n, -128, 127) if fits(n) else -128

    @staticmethod
    def signed(code, weight):
        return -weight * R.wrap(-code, 8) if weight < 0 else weight * code

    def total(self, blocks, weights, scales, narrow):  # ggml_avx2.S2
        held = [0.0] * 8
        for (codes, d), w, s in zip(blocks, weights, scales):
            step = f32(s * d)
            products = [self.signed(a, b) for a, b in zip(codes, w)]
            held = [R.fma32(step, float(sum(products[4 * k:4 * k + 4])), held[k]) for k in range(8)]
        a, b, c, d = (f32(held[k + 4] + held[k]) for k in range(4))
        return f32(f32(a + c) + f32(b + d))
