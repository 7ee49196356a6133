"""The kernels of ONNX Runtime (onnxruntime.S1 to S7)."""
import math
from fractions import Fraction

from .. import functions as F
from .. import reals as R
from ..reals import INF, exact, f32, float32, is_nan
from ..types import invalid
from .base import BINARY32_NUMBERS, clamp
from .binary32 import Eight, to_binary32


class OnnxRuntime(Eight):
    name, stem, nan = "onnxruntime", "onnxruntime", "min"  # onnxruntime.S6

    def width(self, p, y):  # onnxruntime.S7
        return 32 if p.x.type.bits <= 8 and p.w.type.bits <= 8 else None

    def own(self, *tensors):
        return self.eight(*tensors) and len({t.type.code for t in tensors}) == 1

    @staticmethod
    def converted(v, y):
        return clamp(round(v), y.quant.lo, y.quant.hi) if -2 ** 31 <= v < 2 ** 31 else y.quant.lo

    def plan_sum(self, call, a_at, b_at, sign):
        """onnxruntime.S1: Add alone."""
        a, b, y = *call.inputs, call.outs[0]
        if sign < 0 or not self.own(a, b, y):
            return None
        first, second, first_at, second_at = b, a, b_at, a_at
        if self.product_of_a_first(a.dims, b.dims, y.dims):
            first, second, first_at, second_at = a, b, a_at, b_at

        def compute():
            r1, r2 = R.div32(first.scale, y.scale), R.div32(second.scale, y.scale)
            inner = R.fma32(r2, second.offset, f32(r1 * first.offset))
            constant = f32(y.offset - inner)
            return [self.converted(R.fma32(second.data[j], r2, R.fma32(first.data[i], r1, constant)), y)
                    for i, j in zip(first_at, second_at)]
        return compute

    @staticmethod
    def product_of_a_first(a, b, y):
        for k in range(1, min(len(a), len(b)) + 1):
            if y[-k] > 1:
                return a[-k] == 1
        # No such axis among those that both have: a vector of one element is like a scalar.
        return True

    def plan_product(self, call, a_at, b_at):
        """onnxruntime.S2."""
        a, b, y = *call.inputs, call.outs[0]
        if not self.own(a, b, y):
            return None

        def compute():
            factor = R.div32(f32(a.scale * b.scale), y.scale)
            return [self.converted(f32(f32((a.data[i] - a.offset) * (b.data[j] - b.offset) * factor) + y.offset), y)
                    for i, j in zip(a_at, b_at)]
        return compute

    def plan_average(self, call, windows, padded, whole):
        """onnxruntime.S3, S4, C1."""
        x, y = call.inputs[0], call.outs[0]
        if not self.own(x, y):
            return None
        if whole is None:
            def pooled():
                values = x.floats()
                return [self.converted(f32(R.div32(R.div32(BINARY32_NUMBERS.total(values[i] for i in w), f32(n)),
                                                   y.scale)
                                           + y.offset), y) for w, n in windows()]
            return pooled
        n = whole
        factor = R.div32(x.scale, f32(y.scale * f32(n)))
        if n >= 2 ** 24 or not 2.0 ** -32 <= factor < 256:
            raise invalid("onnxruntime.C1", "n is %d, the factor %r" % (n, factor))

        def compute():
            out = []
            for w, _ in windows():
                total = R.wrap(sum(x.data[i] - x.offset for i in w), 32)
                out.append(clamp(round(f32(to_binary32(total) * factor)) + y.offset, y.quant.lo, y.quant.hi))
            return out
        return compute

    def plan_softmax(self, call, rows):
        """onnxruntime.S5."""
        x, y = call.inputs[0], call.outs[0]
        if not self.own(x, y):
            return None

        def compute():
            out = [None] * len(x.data)
            steps = R.div32(1.0, y.scale)
            steps = math.floor(steps) if steps < INF else INF
            for row in rows():
                greatest = max(x.data[i] for i in row)
                logarithm = F.function32("log", float32((2 ** 128 - 2 ** 104) / Fraction(len(row))))
                shift = max(0.0, logarithm - 5) / x.scale
                e = [F.rounded(F.function("exp", exact(float(x.data[i] - greatest + Fraction(shift)) * x.scale)),
                               float32)
                     if shift < INF else INF for i in row]
                total = BINARY32_NUMBERS.total(e)
                for i, v in zip(row, e):
                    share = R.div(R.mul(exact(v), steps), exact(total))
                    if is_nan(share):
                        out[i] = clamp(y.offset, y.quant.lo, y.quant.hi)
                    else:
                        out[i] = y.quant.hi if R.special(share) else \
                            clamp(round(R.float64(share)) + y.offset, y.quant.lo, y.quant.hi)
            return out
        return compute
