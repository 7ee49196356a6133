"""GridSample."""
import math
from fractions import Fraction

from .. import reals as R
from ..reals import is_nan
from ..types import BOOL, elements, strides, unsupported
from .core import operator


class Axis:
    """Points on one axis of x (grid_sample.S1 to S3), in numbers n."""

    def __init__(self, call, n, size):
        self.n, self.size = n, size
        self.nearest = call.text("mode", "linear") == "nearest"
        self.padding = call.text("padding_mode", "zeros")
        self.corners = call.attr("align_corners", 0) == 1
        self.one, self.two = n.constant(Fraction(1)), n.constant(Fraction(2))
        self.low = n.constant(Fraction(0) if self.corners else Fraction(-1, 2))
        self.span = n.constant(Fraction(size - 1 if self.corners else size))
        self.high = n.add(self.low, self.span)

    def mapped(self, g):
        n = self.n
        t = n.add(g, self.one)
        if self.corners:
            return n.mul(n.div(t, self.two), n.constant(Fraction(self.size - 1)))
        return n.div(n.sub(n.mul(t, n.constant(Fraction(self.size))), self.one), self.two)

    def turned(self, distance):
        """Whether an odd number of turns lies behind, and what is left of the distance."""
        n = self.n
        turns = n.div(distance, self.span)
        if not R.is_finite(turns):
            return False, R.NAN
        turns = R.toward_zero(turns)
        return turns % 2 == 1, n.sub(distance, n.mul(n.constant(Fraction(turns)), self.span))

    def reflected(self, c):
        n = self.n
        if self.span == 0 or not (c < self.low or c > self.high):
            return c
        beneath = c < self.low
        odd, rest = self.turned(n.sub(self.low, c) if beneath else n.sub(c, self.high))
        return n.sub(self.high, rest) if odd == beneath else n.add(self.low, rest)

    def at(self, g):
        """The coordinate, or None where it is not finite."""
        c = self.mapped(g)
        if self.nearest and R.is_finite(c):
            c = self.n.constant(Fraction(R.half_even(R.exact(c))))
        if self.padding == "reflection":
            c = self.reflected(c)
        if self.padding != "zeros" and not is_nan(c):
            c = min(max(c, self.n.constant(Fraction(0))), self.n.constant(Fraction(self.size - 1)))
        return c if R.is_finite(c) else None

    def taps(self, c):
        """The elements about the coordinate that x has, with their weights (grid_sample.S4)."""
        n, k = self.n, math.floor(c)
        if k == c:
            taps = [(k, self.one)]
        else:
            floor = n.constant(Fraction(k))
            taps = [(k, n.sub(n.add(floor, self.one), c)), (k + 1, n.sub(c, floor))]
        return [(i, w) for i, w in taps if 0 <= i < self.size]


@operator("GridSample", "grid_sample", (2, 2), shape="C6", operands=(0,), since=16,
          attributes="align_corners:i mode:s padding_mode:s")
class GridSample:  # grid_sample.S1 to S5
    @staticmethod
    def infer(call):
        call.follows("C1", 0)
        new = call.opset >= 20
        modes = ("linear", "nearest", "cubic") if new else ("bilinear", "nearest", "bicubic")
        mode, x = call.text("mode", modes[0]), call.inputs[0].type
        call.require(mode == "nearest" or x.real or x.plain, "C1", "%s of %s" % (mode, x.name))
        grid = call.inputs[1].type
        call.require(grid.real or grid.name == "DOUBLE", "C2", grid.name)
        d, g = call.dims(0), call.dims(1)
        call.require(len(d) >= 3 if new else len(d) == 4, "C3", "x has rank %d" % len(d))
        call.require(len(g) == len(d) and g[0] == d[0] and g[-1] == len(d) - 2, "C3", "grid of shape %s" % (g,))
        call.require(mode in modes and call.text("padding_mode", "zeros") in ("zeros", "border", "reflection")
                     and call.attr("align_corners", 0) in (0, 1), "C4", mode)
        call.require(0 not in d[2:], "C5")
        if mode.endswith("cubic") or not grid.real:
            raise unsupported("%s of GridSample, or a grid of DOUBLE" % mode)  # grid_sample.C7
        return [d[:2] + g[1:-1]]

    @staticmethod
    def points(call, n):
        """For each position of y in an image, the taps in a plane of x: (index, weight)."""
        d, grid = call.inputs[0].dims, n.of(call.inputs[1])
        axes, steps = [Axis(call, n, size) for size in d[2:]], strides(d[2:])
        for k in range(0, len(grid), len(axes)):
            point = [axis.at(g) for axis, g in zip(axes, grid[k:k + len(axes)][::-1])]
            if None in point:
                yield []
                continue
            taps = [(0, axes[0].one)]
            for axis, step, c in list(zip(axes, steps, point))[::-1]:
                taps = [(i + j * step, n.mul(w, v)) for j, v in axis.taps(c) for i, w in taps]
            yield taps

    @staticmethod
    def places(call, n):
        """For each element of y in order, where the plane of x begins that it samples, and its taps."""
        x, y = call.inputs[0], call.outs[0]
        plane, count = elements(x.dims[2:]), elements(y.dims[2:])
        points = list(GridSample.points(call, n))
        return [(k * plane, points[k // x.dims[1] * count + p]) for k in range(elements(x.dims[:2])) for p in range(count)]

    @staticmethod
    def plan(call):
        x, y = call.inputs[0], call.outs[0]
        nearest = call.text("mode", "linear") == "nearest"
        if nearest:
            call.moved = [x]
            call.plan_kernel("move")

        def linear():
            arithmetic = call.effective()
            n, values = arithmetic.numbers, arithmetic.numbers.of(x)
            sums = [n.add(n.zero, n.total(n.mul(w, values[base + i]) for i, w in taps))
                    for base, taps in GridSample.places(call, n)]
            return [arithmetic.store(y, sums)]

        def moved():
            arithmetic = call.effective()
            places = GridSample.places(call, arithmetic.numbers)
            inside = [k for k, (_, taps) in enumerate(places) if taps]
            outside = [k for k, (_, taps) in enumerate(places) if not taps]
            if y.type.kind == "e8m0" and outside:
                raise unsupported("a real zero of FLOAT8E8M0")
            zeros = (arithmetic.real_zero(y, outside) if y.type.real or y.type.plain or y.type is BOOL
                     else [0.0] * len(outside))
            sources, result = [places[k][0] + places[k][1][0][0] for k in inside], [None] * len(places)
            for k, v in [*zip(inside, arithmetic.move(x, sources, y, inside)), *zip(outside, zeros)]:
                result[k] = v
            return [result]
        return moved if nearest else linear
