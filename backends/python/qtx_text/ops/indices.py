"""GatherND, ScatterND, GatherElements, ScatterElements and TopK: elements by indices, and the greatest ones."""
from .. import reals as R
from ..types import INT64, TYPES, elements, strides
from .core import lines, operator, walk
from .elementwise import store_winners, wins
from .movement import mover


def tuples(call, i, batch, clause):
    """The flat start of the slice that each tuple names (gather_nd.S1 to S4)."""
    d, t = call.dims(0), call.inputs[i]
    size = t.dims[-1]
    steps = strides(d)
    rows = elements(t.dims[:-1]) // elements(d[:batch]) if elements(d[:batch]) else 0
    out = []
    for k in range(elements(t.dims[:-1])):
        start = k // rows * (elements(d[batch:])) if batch else 0
        for j in range(size):
            v, n = t.data[k * size + j], d[batch + j]
            call.require(-n <= v < n, clause, "an index is outside the axis")
            start += (v + n if v < 0 else v) * steps[batch + j]
        out.append(start)
    return out


def gather_nd(call):
    call.follows("C1", 0)
    call.require(call.inputs[1].type is INT64, "C2")
    d, t = call.dims(0), call.dims(1)
    call.require(len(d) >= 1 and len(t) >= 1, "C2")
    b = call.attr("batch_dims", 0)
    call.require(0 <= b < min(len(d), len(t)) and d[:b] == t[:b], "C3")
    call.require(1 <= t[-1] <= len(d) - b, "C4")
    if call.inputs[1].data is not None:
        tuples(call, 1, b, "C5")
    return [t[:-1] + d[b + t[-1]:]]


def gathered_nd(call):
    d, b = call.inputs[0].dims, call.attr("batch_dims", 0)
    size = elements(d[b + call.inputs[1].dims[-1]:])
    return [[s + i for s in tuples(call, 1, b, "C5") for i in range(size)]]


mover("GatherND", "gather_nd", (2, 2), gather_nd, gathered_nd, shape="C6", attributes="batch_dims:i:12", since=11)


@operator("ScatterND", "scatter_nd", (3, 3), shape="C7", attributes="reduction:s:16", operands=(0, 2), since=11)
class ScatterND:  # scatter_nd.S1 to S6
    @staticmethod
    def infer(call):
        call.follows("C1", 0, 2)
        call.require(call.inputs[1].type is INT64, "C2")
        d, t, u = call.dims(0), call.dims(1), call.dims(2)
        call.require(len(t) >= 1 and 1 <= t[-1] <= len(d), "C2")
        call.require(u == t[:-1] + d[t[-1]:], "C3", "updates of shape %s" % (u,))
        mode = call.text("reduction", "none")
        call.require(mode in ("none", "add", "mul", "max", "min"), "C5", "reduction " + mode)
        x = call.inputs[0].type
        call.require(mode == "none" or x.real or x.plain, "C6", "elements of " + x.name)
        if call.inputs[1].data is not None:
            tuples(call, 1, 0, "C4")
        return [d]

    @staticmethod
    def moved(call):
        return call.inputs[::2] if call.text("reduction", "none") == "none" else call.inputs[:1]

    @staticmethod
    def compute(call):
        size = elements(call.inputs[0].dims[call.inputs[1].dims[-1]:])
        return scatter(call, [start + i for start in tuples(call, 1, 0, "C4") for i in range(size)])


def scatter(call, elements_of):
    """scatter_nd.S2 to S6: update k comes into element elements_of[k] of data."""
    x, u, y = call.inputs[0], call.inputs[2], call.outs[0]
    named = {}
    for k, i in enumerate(elements_of):
        named.setdefault(i, []).append(k)
    arithmetic, mode = call.effective(), call.text("reduction", "none")
    rest = [i for i in range(elements(x.dims)) if i not in named]
    out = [None] * elements(x.dims)
    for i, v in zip(rest, arithmetic.move(x, rest, y, rest)):
        out[i] = v
    places = sorted(named)
    if mode == "none":
        values = arithmetic.move(u, [named[i][-1] for i in places], y, places)
    elif mode in ("max", "min"):
        values = [extreme(call, mode, x, u, y, i, named[i]) for i in places]
    else:
        n = arithmetic.numbers
        p, q, step = n.of(x), n.of(u), n.add if mode == "add" else n.mul
        numbers = []
        for i in places:
            v = p[i]
            for k in named[i]:
                v = step(v, q[k])
            numbers.append(v)
        values = arithmetic.store(y, numbers, places)
    for i, v in zip(places, values):
        out[i] = v
    return [out]


def extreme(call, mode, x, u, y, i, updates):
    """scatter_nd.S4: with y's parameters exact, as Max is."""
    candidates = [(x, i)] + [(u, k) for k in updates]
    k = wins(mode == "max")([t.reals()[j] for t, j in candidates])
    return store_winners(call.effective(), y, [candidates[k]], [i])[0]


def fits_along_axis(call, axis_clause, clause):
    """gather_elements.C2 and C3: indices is a part of data but on the axis."""
    d, t = call.dims(0), call.dims(1)
    call.require(len(d) >= 1, axis_clause, "data is a scalar")
    a = call.axis(axis_clause, 0, len(d))
    call.require(call.inputs[1].type.name in ("INT64", "INT32"), clause, call.inputs[1].type.name)
    call.require(len(t) == len(d) and all(k == a or t[k] <= d[k] for k in range(len(d))), clause, "indices of shape %s" % (t,))


def along_axis(call, clause):
    """gather_elements.S1, S2: the flat index in data of the element that each index names."""
    d, t = call.dims(0), call.inputs[1]
    a = call.axis("C2", 0, len(d))
    steps = list(strides(d))
    step, steps[a] = steps[a], 0
    out = []
    for base, v in zip(walk(t.dims, steps), t.data):
        call.require(-d[a] <= v < d[a], clause, "index %d of %d" % (v, d[a]))
        out.append(base + v % d[a] * step)
    return out


def gather_elements(call):
    call.follows("C1", 0)
    fits_along_axis(call, "C2", "C3")
    if call.inputs[1].data is not None:
        along_axis(call, "C4")
    return [call.dims(1)]


mover("GatherElements", "gather_elements", (2, 2), gather_elements, lambda call: [along_axis(call, "C4")], shape="C5",
      attributes="axis:i", since=11)


@operator("ScatterElements", "scatter_elements", (3, 3), shape="C8", attributes="axis:i reduction:s:16", operands=(0, 2),
          since=11)
class ScatterElements:  # scatter_elements.S1, S2
    moved = ScatterND.moved

    @staticmethod
    def infer(call):
        call.follows("C1", 0, 2)
        fits_along_axis(call, "C2", "C3")
        call.require(call.dims(2) == call.dims(1), "C4", "updates of shape %s" % (call.dims(2),))
        if call.inputs[1].data is not None:
            along_axis(call, "C5")
        mode = call.text("reduction", "none")
        call.require(mode in ("none", "add", "mul", "max", "min"), "C6", "reduction " + mode)
        x = call.inputs[0].type
        call.require(mode == "none" or x.real or x.plain, "C7", "elements of " + x.name)
        return [call.dims(0)]

    @staticmethod
    def compute(call):
        return scatter(call, along_axis(call, "C5"))


@operator("TopK", "top_k", (2, 2), outputs=(1, 2), shape="C5", attributes="axis:i largest:i:11 sorted:i:11",
          operands=(0,),
          form=10)
class TopK:  # top_k.S1 to S5
    @staticmethod
    def infer(call):
        x = call.inputs[0].type
        call.require(x.real or x.plain, "C2", "x is " + x.name)
        values = call.declared[0][0]
        call.require(values is None or values is x or values.real and x.real, "C1")
        call.require(len(call.declared) < 2 or call.declared[1][0] in (None, TYPES[7]), "C1")
        d = call.dims(0)
        call.require(len(d) > 0, "C3")
        a = call.axis("C3", -1, len(d))
        call.require(call.inputs[1].type is TYPES[7] and call.dims(1) == (1,), "C4")
        k = call.values(1)[0]
        call.require(1 <= k <= d[a], "C4", "k is %d" % k)
        dims = d[:a] + (k,) + d[a + 1:]
        return [dims, dims][:len(call.declared)], [None, TYPES[7]][:len(call.declared)]

    @staticmethod
    def moved(call):
        return call.inputs[:1]

    @staticmethod
    def compute(call):
        x, y = call.inputs[0], call.outs[0]
        k, reals = call.values(1)[0], x.reals()
        a = call.axis("C3", -1, len(x.dims))
        largest = call.attr("largest", 1) != 0
        step = strides(x.dims)[a]
        sources, places = [None] * elements(y.dims), [None] * elements(y.dims)

        def key(i):  # a NaN is greater than every number
            v = reals[i]
            nan = v != v
            return (not nan if largest else nan), (0 if nan else -v if largest else v)
        for line, out in zip(lines(x.dims, a), lines(y.dims, a)):
            for i, o in zip(sorted(line, key=key)[:k], out):
                sources[o], places[o] = i, (i - line[0]) // step
        return [call.effective().move(x, sources, y, range(len(sources))), places][:len(call.outs)]


@operator("OneHot", "one_hot", (3, 3), shape="C6", attributes="axis:i", operands=(2,), since=9)
class OneHot:  # one_hot.S1 to S3
    @staticmethod
    def depth(call):
        """The depth without its fraction."""
        depth = call.values(1)[0]
        call.require(R.is_finite(depth) and abs(depth) < 1 << 62 and R.toward_zero(depth) >= 0, "C3", "depth is %s" % depth)
        return R.toward_zero(depth)

    @staticmethod
    def infer(call):
        for t in call.inputs[:2]:
            call.require(t.type.plain or t.type.name in ("FLOAT", "FLOAT16", "BFLOAT16"), "C1", t.type.name)
        types = [call.inputs[2].type] + [t for t, *_ in call.declared if t is not None]
        call.require(all(t.real for t in types) or all(t is types[0] for t in types), "C2")
        call.supported(2)
        call.require(call.inputs[1].dims is None or tuple(call.inputs[1].dims) in ((), (1,)), "C3", "depth is no scalar")
        d = call.dims(0)
        call.require(len(d) >= 1, "C4", "indices is a scalar")
        a = call.axis("C4", -1, len(d) + 1)
        call.require(call.dims(2) == (2,), "C5", "off_on of shape %s" % (call.dims(2),))
        return [d[:a] + (OneHot.depth(call),) + d[a:]], [call.inputs[2].type]

    @staticmethod
    def moved(call):
        return call.inputs[2:]

    @staticmethod
    def compute(call):
        indices, y, depth = call.inputs[0], call.outs[0], OneHot.depth(call)
        on = [0] * elements(y.dims)
        for v, line in zip(indices.data, lines(y.dims, call.axis("C4", -1, len(y.dims)))):
            v = R.toward_zero(v) if R.is_finite(v) else depth
            if line and -depth <= v < depth:
                on[line[v]] = 1
        return [call.effective().move(call.inputs[2], on, y, range(len(on)))]
