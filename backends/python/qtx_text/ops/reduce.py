"""Reductions along axes, ArgMax and ArgMin, CumSum and CumProd."""
from fractions import Fraction

from .. import functions as F
from ..reals import INF, NAN, is_nan, pow2
from ..types import INT64, strides
from .core import OPERATORS, Operator, lines, operator, planned, walk
from .elementwise import wins
from .pool import winners


def reduced(call, opset):
    """The axes (reduce_mean.S3, C2, C3)."""
    rank = len(call.dims(0))
    call.require(call.attr("keepdims", 1) in (0, 1), "C3")
    call.require("noop_with_empty_axes" not in call.attrs or call.opset >= opset, "C3")
    axes = None
    if call.has(1):
        call.require(call.opset >= opset, "C3", "axes are an attribute before opset %d" % opset)
        axes = call.integers(1, "C3")
    elif "axes" in call.attrs:
        call.require(call.opset < opset, "C3", "axes are an input from opset %d on" % opset)
        axes = call.attrs["axes"]
    if not axes:
        return [] if call.attr("noop_with_empty_axes", 0) and call.opset >= opset else list(range(rank))
    return call.axes("C2", axes, rank)


def reduction(name, stem, opset, result, *also):
    def infer(call):
        call.real_or("C1", *also, operands=call.inputs[:1])
        d = call.dims(0)
        axes = reduced(call, opset)
        if name == "ReduceMean":
            call.require(0 not in [d[a] for a in axes] or 0 in [n for k, n in enumerate(d) if k not in axes], "C5",
                         "a mean of no elements")
        if call.attr("keepdims", 1):
            return [tuple(1 if k in axes else n for k, n in enumerate(d))]
        return [tuple(n for k, n in enumerate(d) if k not in axes)]

    def groups(call):
        axes, d, steps = reduced(call, opset), call.inputs[0].dims, strides(call.inputs[0].dims)
        kept = [k for k in range(len(d)) if k not in axes]
        inside = walk([d[a] for a in sorted(axes)], [steps[a] for a in sorted(axes)])
        return [[o + i for i in inside] for o in walk([d[k] for k in kept], [steps[k] for k in kept])]

    def compute(call):
        return [result(call, call.inputs[0], call.outs[0], groups(call))]

    def kernel(call):
        what = {"ReduceMean": "MEAN", "ReduceSum": "SUM"}.get(name)
        d = call.inputs[0].dims
        if what is None or 0 in d:
            return None
        image = len(d) == 4 and call.attr("keepdims", 1) and sorted(reduced(call, opset)) == [1, 2]
        return call.plan_kernel("total", what=what, groups=groups(call), channels=d[3] if image else None)
    OPERATORS[name] = Operator(name, stem, infer, planned(compute, kernel=kernel), (1, 2), shape="C4", operands=(0,),
                               attributes="axes:is keepdims:i noop_with_empty_axes:i")


def folded(function):
    def result(call, x, y, groups):
        n = call.numbers
        v = n.of(x)
        return call.store([function(n, [v[i] for i in g]) for g in groups])
    return result


def extreme(greatest):
    def result(call, x, y, groups):
        if groups and not groups[0]:  # reduce_max.S5, reduce_min.S5
            if y.type.kind == "bool":
                return [0 if greatest else 1] * len(groups)
            return call.effective().store(y, [-INF if greatest else INF] * len(groups))
        return winners(call, x, y, groups, greatest)[0]
    return result


def root(n, x):
    return n.function("sqrt", x)


def product(n, v):
    total = n.constant(Fraction(1))
    for x in v:
        total = n.mul(total, x)
    return total


def log_sum_exp_exact(v):
    """reduce_log_sum_exp.S1 of finite elements."""
    top = max(v)
    below = [Fraction(x - top) for x in v]
    below.remove(0)
    if not below:
        return top

    def rest(bits):
        e = [F.exp_interval(x, bits) for x in below]
        return sum(p for p, _ in e), sum(q for _, q in e)

    def interval(bits):
        lo, hi = F.ln_interval(*(1 + s for s in rest(bits)), bits)
        return top + lo, top + hi
    lo, hi = rest(256)
    if hi < pow2(-256):  # ln(1 + s) lies between s - s^2 / 2 and s
        return F.Approximate(lambda bits: (top + lo - lo * lo / 2, top + hi))
    return F.Approximate(interval)


def log_sum_exp(n, v):
    if any(is_nan(x) for x in v):  # S5
        return NAN
    top = max(v, default=-INF)
    if top in (INF, -INF):
        return top
    if not n.binary32:
        return log_sum_exp_exact([x for x in v if x != -INF])
    return n.add(top, n.function("log", n.total(n.function("exp", n.sub(x, top)) for x in v)))


reduction("ReduceMean", "reduce_mean", 18, folded(lambda n, g: n.div(n.total(g), n.constant(Fraction(len(g))))),
          "plain")
reduction("ReduceSum", "reduce_sum", 13, folded(lambda n, g: n.total(g)), "plain")
reduction("ReduceMax", "reduce_max", 18, extreme(True), "plain", "BOOL")
reduction("ReduceMin", "reduce_min", 18, extreme(False), "plain", "BOOL")
reduction("ReduceSumSquare", "reduce_sum_square", 18, folded(lambda n, g: n.total(n.mul(v, v) for v in g)), "plain")
reduction("ReduceL1", "reduce_l1", 18, folded(lambda n, g: n.total(abs(v) for v in g)), "plain")
reduction("ReduceL2", "reduce_l2", 18, folded(lambda n, g: root(n, n.total(n.mul(v, v) for v in g))), "plain")
reduction("ReduceProd", "reduce_prod", 18, folded(product), "plain")
reduction("ReduceLogSum", "reduce_log_sum", 18, folded(lambda n, g: n.function("log", n.total(g))), "DOUBLE")
reduction("ReduceLogSumExp", "reduce_log_sum_exp", 18, folded(log_sum_exp), "DOUBLE")


def arg(name, stem, greatest):  # arg_max.S1 to S4
    def infer(call):
        x = call.inputs[0].type
        call.require(call.declared[0][0] in (None, INT64), "C1")
        call.require(x.real or x.plain, "C2", "x is " + x.name)
        d = call.dims(0)
        call.require(len(d) > 0, "C3", "x is a scalar")
        a = call.axis("C3", 0, len(d))
        call.require(call.attr("keepdims", 1) in (0, 1), "C3")
        rest = d[:a] + d[a + 1:]
        call.require(d[a] > 0 or 0 in rest, "C4")
        return [d[:a] + ((1,) if call.attr("keepdims", 1) else ()) + d[a + 1:]], [INT64]

    def compute(call):
        x = call.inputs[0]
        choose, reals, out = wins(greatest), x.reals(), []
        for line in lines(x.dims, call.axis("C3", 0, len(x.dims))):
            v = [reals[i] for i in line]
            if call.attr("select_last_index", 0):
                v = v[::-1]
                out.append(len(v) - 1 - choose(v))
            else:
                out.append(choose(v))
        return [out]
    OPERATORS[name] = Operator(name, stem, infer, planned(compute), (1, 1), shape="C5", operands=(),
                               attributes="axis:i keepdims:i select_last_index:i:12")


arg("ArgMax", "arg_max", True)
arg("ArgMin", "arg_min", False)


def running(name, stem, since, first, step):  # cum_sum.S1 to S3, cum_prod.S1 to S3
    class Running:
        @staticmethod
        def infer(call):
            axis = call.inputs[1]
            call.real_or("C1", "plain", operands=call.inputs[:1])
            call.require(axis.type.name in ("INT32", "INT64"), "C2", "axis is " + axis.type.name)
            call.require(axis.dims is None or tuple(axis.dims) in ((), (1,)), "C2", "axis is no scalar")
            for flag in ("exclusive", "reverse"):
                call.require(call.attr(flag, 0) in (0, 1), "C3", flag)
            call.axes("C2", call.values(1), len(call.dims(0)))
            return [call.dims(0)]

        @staticmethod
        def compute(call):
            x = call.inputs[0]
            n = call.numbers
            v, out = n.of(x), [None] * len(x.data)
            for line in lines(x.dims, call.axes("C2", call.values(1), len(x.dims))[0]):
                total = n.constant(Fraction(first))
                for i in reversed(line) if call.attr("reverse", 0) else line:
                    before, total = total, step(n, total, v[i])
                    out[i] = before if call.attr("exclusive", 0) else total
            return [call.store(out)]
    operator(name, stem, (2, 2), shape="C4", operands=(0,), attributes="exclusive:i reverse:i", since=since)(Running)


running("CumSum", "cum_sum", 11, 0, lambda n, a, b: n.add(a, b))
running("CumProd", "cum_prod", 26, 1, lambda n, a, b: n.mul(a, b))
