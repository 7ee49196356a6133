"""Pooling over windows and over whole planes."""
import math
from fractions import Fraction

from .. import functions as F
from .. import reals as R
from ..types import INT64, elements, strides
from .core import operator, planned
from .elementwise import store_winners, wins
from .products import kernel_taps, window

POOL = "auto_pad:s ceil_mode:i:10 dilations:is:{} kernel_shape:is pads:is strides:is"


class Pool:
    @staticmethod
    def shape(call, x, size, names):
        kernel = call.attr("kernel_shape")
        call.require(kernel is not None and len(kernel) == len(x) - 2 and min(kernel) >= 1, "C3", "kernel_shape")
        call.require(call.attr("ceil_mode", 0) in (0, 1), "C4")
        parts = window(call, x[2:], kernel, ("C4", "C5", size), ceil_mode=call.attr("ceil_mode", 0) == 1)
        return kernel, parts

    @staticmethod
    def windows(call, x):
        """For each result the list of the taps inside x, and the spatial offsets of the window."""
        kernel, (stride, dilation, begins, out, ends) = Pool.shape(call, x.dims, "C6", ())
        planes = x.dims[0] * x.dims[1]
        size = elements(x.dims[2:])
        taps = kernel_taps(x.dims[2:], kernel, stride, dilation, begins, out)
        for p in range(planes):
            for t in taps:
                yield [p * size + i for i in t if i >= 0]

    @staticmethod
    def divisors(call, x):
        """For each position the number of elements that the mean counts (average_pool.S2)."""
        kernel, (stride, dilation, begins, out, ends) = Pool.shape(call, x.dims, "C6", ())
        counts = [1]
        include = call.attr("count_include_pad", 0) != 0
        for a, n in enumerate(x.dims[2:]):
            per = []
            for o in range(out[a]):
                places = [o * stride[a] + k * dilation[a] - begins[a] for k in range(kernel[a])]
                lo, hi = (-begins[a], n + ends[a]) if include else (0, n)
                per.append(sum(lo <= i < hi for i in places))
            counts = [c * p for c in counts for p in per]
        return counts


def spatial(call, *also):
    """The dims of x, whose rank is 3 or more."""
    call.real_or("C1", *also)
    x = call.dims(0)
    call.require(len(x) >= 3, "C2")
    return x


@operator("AveragePool", "average_pool", (1, 1), shape="C6", attributes=POOL.format(19) + " count_include_pad:i:7")
class AveragePool:  # average_pool.S1 to S4
    @staticmethod
    def infer(call):
        x = spatial(call, "DOUBLE")
        _, (*_, out, _) = Pool.shape(call, x, "C6", ())
        call.require(0 not in Pool.divisors(call, call.inputs[0]), "C4", "a window lies in padding")
        return [(*x[:2], *out)]

    @staticmethod
    def plan(call):
        x = call.inputs[0]
        counts = Pool.divisors(call, x)
        kernel, (stride, dilation, begins, out, ends) = Pool.shape(call, x.dims, "C6", ())

        def windows():
            for k, w in enumerate(Pool.windows(call, x)):
                yield w, counts[k % len(counts)]
        padded = call.attr("count_include_pad", 0) != 0 and any([*begins, *ends])
        whole = elements(x.dims[2:]) if list(kernel) == list(x.dims[2:]) and not any([*begins, *ends]) and \
            all(d == 1 or k == 1 for d, k in zip(dilation, kernel)) else None
        return average(call, x, windows, padded, whole)


def average(call, x, windows, padded, whole, total=lambda: None):
    """`total`: gives the plan of a kernel that goes before."""
    def compute(_):
        n = call.numbers
        v = n.of(x)
        return [call.store([n.div(n.total(v[i] for i in w), n.constant(Fraction(c))) for w, c in windows()])]
    return planned(compute, kernel=lambda _: total() or call.plan_kernel("average", windows=windows, padded=padded,
                                                                         whole=whole))(call)


@operator("GlobalAveragePool", "global_average_pool", (1, 1), shape="C4")
class GlobalAveragePool:  # global_average_pool.S1, S2
    @staticmethod
    def infer(call):
        x = spatial(call, "DOUBLE")
        call.require(0 not in x[2:], "C3")
        return [(*x[:2], *[1] * (len(x) - 2))]

    @staticmethod
    def plan(call):
        x = call.inputs[0]
        n = elements(x.dims[2:])
        planes = [range(k * n, (k + 1) * n) for k in range(elements(x.dims[:2]))]
        channels = x.dims[1] if len(x.dims) == 4 else None
        return average(call, x, lambda: [(plane, n) for plane in planes], False, n,
                       lambda: call.plan_kernel("total", what="MEAN", groups=planes, channels=channels))


@operator("GlobalMaxPool", "global_max_pool", (1, 1), shape="C4")
class GlobalMaxPool:  # global_max_pool.S1 to S3
    @staticmethod
    def infer(call):
        x = spatial(call, "DOUBLE")
        call.require(0 not in x, "C3")
        return [(*x[:2], *[1] * (len(x) - 2))]

    @staticmethod
    def plan(call):
        x, y = call.inputs[0], call.outs[0]
        n = elements(x.dims[2:])
        return lambda: [winners(call, x, y, [range(k * n, (k + 1) * n) for k in range(elements(x.dims[:2]))], True)[0]]


def winners(call, x, y, groups, greatest):
    """The greatest or least element of each group as elements of y, and their indices."""
    choose, reals = wins(greatest), x.reals()
    chosen = [g[choose([reals[i] for i in g])] for g in groups]
    return store_winners(call.effective(), y, [(x, i) for i in chosen]), chosen


@operator("MaxPool", "max_pool", (1, 1), outputs=(1, 2), shape="C6", attributes=POOL.format(10) + " storage_order:i:8")
class MaxPool:  # max_pool.S1 to S5
    @staticmethod
    def infer(call):
        declared, call.declared = call.declared, call.declared[:1]
        x = spatial(call, "plain")
        call.declared = declared
        call.require(len(declared) <= 2 and (len(declared) < 2 or declared[1][0] in (None, INT64)), "C7")
        call.require(call.attr("storage_order", 0) in (0, 1), "C8")
        _, (*_, out, _) = Pool.shape(call, x, "C6", ())
        call.require(0 not in Pool.divisors(call, call.inputs[0]), "C4", "a window lies in padding")
        return [(*x[:2], *out)] * len(declared), [None, INT64][:len(declared)]

    @staticmethod
    def compute(call):
        x, y = call.inputs[0], call.outs[0]
        out, chosen = winners(call, x, y, list(Pool.windows(call, x)), True)
        if call.attr("storage_order", 0) == 1:
            spatial, size = x.dims[2:], elements(x.dims[2:])
            columns = strides(spatial[::-1])[::-1]
            steps = strides(spatial)
            chosen = [i // size * size + sum(i % size // s % n * c for s, n, c in zip(steps, spatial, columns))
                      for i in chosen]
        return [out, chosen][:len(call.outs)]


def integer_root(x, p):
    """floor of the p-th root of an integer."""
    if x < 2:
        return x
    t = 1 << -(-x.bit_length() // p)
    while True:
        u = ((p - 1) * t + x // t ** (p - 1)) // p
        if u >= t:
            return t
        t = u


def root(x, p):
    """The p-th root of a number that is not negative (lp_pool.S1)."""
    if R.special(x) or x == 0 or p == 1:
        return x
    x = Fraction(x)
    a, b = integer_root(x.numerator, p), integer_root(x.denominator, p)
    if a ** p == x.numerator and b ** p == x.denominator:
        return Fraction(a, b)

    def interval(bits):
        w = bits + max(0, -R.exponent(x)) // p + 2
        n = integer_root((x.numerator << p * w) // x.denominator, p)
        return Fraction(n, 1 << w), Fraction(n + 1, 1 << w)
    return F.Approximate(interval)


@operator("LpPool", "lp_pool", (1, 1), shape="C6", form=2,
          attributes=POOL.format(18).replace("ceil_mode:i:10", "ceil_mode:i:18") + " p:i")
class LpPool:  # lp_pool.S1 to S4
    @staticmethod
    def infer(call):
        x = spatial(call, "DOUBLE")
        call.require(1 <= call.attr("p", 2) <= 64, "C7", "p is %d" % call.attr("p", 2))
        _, (*_, out, _) = Pool.shape(call, x, "C6", ())
        return [(*x[:2], *out)]

    @staticmethod
    def compute(call):
        x, p = call.inputs[0], call.attr("p", 2)
        n, out = call.numbers, []
        values = [abs(v) for v in n.of(x)]
        if n.binary32:
            powers = [R.float32(R.exact(v) ** p) if math.isfinite(v) else v for v in values]
        else:
            powers = [v if R.special(v) else v ** p for v in values]
        for taps in Pool.windows(call, x):
            total = n.total(powers[i] for i in taps)
            out.append(F.rounded(root(R.exact(total), p), R.float32) if n.binary32 else root(total, p))
        return [call.store(out)]
