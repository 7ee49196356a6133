"""NonMaxSuppression."""
from .. import reals as R
from ..arithmetic import EXACT
from ..reals import is_nan
from ..types import INT64
from .core import operator


class Box:
    """The ends of a box along two axes, and its area (non_max_suppression.S3)."""

    def __init__(self, n, four, centred):
        if centred:
            halves = [n.div(v, n.constant(2)) for v in four[2:]]
            self.low = [n.sub(c, h) for c, h in zip(four, halves)]
            self.high = [n.add(c, h) for c, h in zip(four, halves)]
        else:
            self.low = [least(v, w) for v, w in zip(four[:2], four[2:])]
            self.high = [-least(-v, -w) for v, w in zip(four[:2], four[2:])]
        self.area = n.mul(n.sub(self.high[0], self.low[0]), n.sub(self.high[1], self.low[1]))

    def suppresses(self, n, other, limit):
        common = [n.sub(least(self.high[d], other.high[d]), -least(-self.low[d], -other.low[d])) for d in (0, 1)]
        if not all(v > 0 for v in common):
            return False
        shared = n.mul(*common)
        union = n.sub(n.add(self.area, other.area), shared)
        return all(v > 0 for v in (self.area, other.area, shared, union)) and n.div(shared, union) > limit


def least(v, w):
    """NaN where one is."""
    return v if is_nan(v) else w if is_nan(w) else min(v, w)


@operator("NonMaxSuppression", "non_max_suppression", (2, 5), shape="C6", attributes="center_point_box:i", operands=(),
          since=10)
class NonMaxSuppression:  # non_max_suppression.S1 to S3
    @staticmethod
    def rows(call):
        n = EXACT.numbers
        call.parameters(*range(len(call.inputs)))

        def reals(i):  # float32.S1, and exact from there on
            return [R.exact(v) if R.is_finite(v) else v for v in call.arithmetic.numbers.of(call.inputs[i])]
        one = [reals(i)[0] if call.has(i) else None for i in (3, 4)]
        limit, threshold = n.zero if one[0] is None else one[0], one[1]
        most = call.inputs[2].data[0] if call.has(2) else 0
        boxes, scores = reals(0), reals(1)
        images, classes, count = call.inputs[1].dims
        out = []
        for image in range(images):
            made = [Box(n, boxes[4 * k:4 * k + 4], call.attr("center_point_box", 0) == 1)
                    for k in range(image * count, (image + 1) * count)]
            for c in range(classes):
                start = (image * classes + c) * count
                own = scores[start:start + count]
                order = [i for i, v in enumerate(own) if not is_nan(v) and (threshold is None or v > threshold)]
                selected = []
                for i in sorted(order, key=lambda i: -own[i]):
                    if len(selected) >= most:
                        break
                    if not any(made[i].suppresses(n, made[j], limit) for j in selected):
                        selected.append(i)
                out += [(image, c, i) for i in selected]
        return out

    @staticmethod
    def infer(call):
        for i in (0, 1, 3, 4):
            call.require(not call.has(i) or call.inputs[i].type.real, "C1", "input %d" % i)
        call.require(not call.has(2) or call.inputs[2].type is INT64, "C1", "input 2")
        b, s = call.dims(0), call.dims(1)
        call.require(len(b) == len(s) == 3 and b[2] == 4 and s[0] == b[0] and s[2] == b[1], "C2", "%s and %s" % (b, s))
        for i in (2, 3, 4):
            call.require(not call.has(i) or call.dims(i) in ((), (1,)), "C3", "input %d" % i)
        call.require(call.attr("center_point_box", 0) in (0, 1), "C4")
        call.require(call.declared[0][0] in (None, INT64), "C5")
        return [(len(NonMaxSuppression.rows(call)), 3)], [INT64]

    @staticmethod
    def compute(call):
        return [[v for row in NonMaxSuppression.rows(call) for v in row]]
