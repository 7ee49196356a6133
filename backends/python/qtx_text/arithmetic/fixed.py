"""TOSA's RESCALE: fixed-point, fixed-point-double, fixed-point-16 (fixed_point.S1 to S5, C1)."""
import math
from fractions import Fraction

from .. import reals as R
from ..types import invalid
from .base import Exact, clamp


class FixedPoint(Exact):
    name, stem = "fixed-point", "fixed_point"
    declared = True  # a declared requantization is used (fixed_point.S3)

    def pair(self, M):
        """The multiplier and the right shift of a factor (fixed_point.S1)."""
        q, e = math.frexp(M)
        m, s = R.half_away(Fraction(q) * 2 ** 31), 31 - e
        return (2 ** 30, s - 1) if m == 2 ** 31 else (m, s)

    def accumulator(self, v):
        return R.wrap(v, 32)  # fixed_point.S2

    def scaled(self, v, m, s):
        return v * m + (1 << s - 1) >> s

    def checked(self, pair):
        if not 2 <= pair[1] <= 62:
            raise invalid(self.stem + ".C1", "the shift is %d" % pair[1])
        return pair

    def factor(self, y, product, y_scale, channel):
        """The pair for a product of scales, declared or derived."""
        r = y.quant.requantization
        if r is not None and self.declared:
            k = channel if len(r.multiplier) > 1 and channel < len(r.multiplier) else 0
            return self.checked((r.multiplier[k], 31 + r.shift[k]))
        return self.checked(self.pair(R.float64(product / Fraction(y_scale))))

    def plan_products(self, call, products):
        y, p = call.outs[0], products
        if not p.integer() or not y.type.integer:
            return None
        xs = p.x.quant.reals[0] * p.factor
        weights = p.w.quant.scales
        pairs = {(c, ys): self.factor(y, xs * Fraction(ws), ys, c) for c, ws, ys in p.scale_pairs(y)}

        def compute():
            at, out = y.quant.at(y.dims), []
            for m, v in enumerate(p.sums()):
                c = p.channel(m) if len(weights) > 1 else 0
                v = self.accumulator(v + p.bias_stored(m, R.f32(p.x.scale * weights[c])))
                out.append(clamp(self.scaled(v, *pairs[c, at[m][0]]) + at[m][1], y.quant.lo, y.quant.hi))
            return out
        return compute

    def rescaling(self, x, y):
        """Whether fixed_point.S4 takes a change of type."""
        return x.integers and x.single and y.type.integer and y.single  # definitions.S6: of BIPOLAR1Q, too

    def plan_cast(self, call):
        x, y = call.inputs[0], call.outs[0]
        if not self.rescaling(x, y):
            return None
        self.factor(y, x.quant.reals[0], y.scale, 0)
        return lambda: self.convert(x, range(len(x.data)), y, range(len(x.data)))

    def plan_move(self, call):
        """Only the check of C1: the moving itself is `convert`."""
        for x in call.moved:
            for y in call.outs:
                if y.type.real and self.rescaling(x, y) and (x.type is not y.type or (
                        x.scale, x.offset, x.quant.lo, x.quant.hi) != (y.scale, y.offset, y.quant.lo, y.quant.hi)):
                    self.factor(y, x.quant.reals[0], y.scale, 0)

    def convert(self, x, indices, y, positions):
        if not self.rescaling(x, y):
            return super().convert(x, indices, y, positions)
        m, s = self.factor(y, x.quant.reals[0], y.scale, 0)
        return [clamp(self.scaled(self.accumulator(x.data[i] - x.offset), m, s) + y.offset, y.quant.lo, y.quant.hi)
                for i in indices]


class FixedPointDouble(FixedPoint):
    name, stem = "fixed-point-double", "fixed_point_double"

    def scaled(self, v, m, s):  # fixed_point_double.S1
        extra = (1 << 30 if v >= 0 else -(1 << 30)) if s > 31 else 0
        return v * m + (1 << s - 1) + extra >> s


class FixedPoint16(FixedPoint):
    name, stem = "fixed-point-16", "fixed_point_16"
    declared = False

    def pair(self, M):  # fixed_point_16.S1
        q, e = math.frexp(M)
        m, s = R.half_away(Fraction(q) * 2 ** 15), 15 - e
        return (2 ** 14, s - 1) if m == 2 ** 15 else (m, s)

    def accumulator(self, v):
        return R.saturate(v, 48)
