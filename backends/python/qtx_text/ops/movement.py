"""Data movement: elements are copied, or mapped to the parameters that their new coordinates select (reshape.S3)."""
from ..types import BOOL, INT64, elements, strides, unsupported
from .core import OPERATORS, Operator, broadcast, planned, walk

INDEX = ("INT64", "INT32")


def mover(name, stem, inputs, infer, sources, **options):
    """An operator whose outputs are elements of input 0: sources(call) gives, for each output, their flat indices."""
    def compute(call):
        return [call.effective().move(call.inputs[0], indices, y, range(len(indices)))
                for indices, y in zip(sources(call), call.outs)]
    options.setdefault("operands", (0,))
    OPERATORS[name] = Operator(name, stem, infer, planned(compute, lambda call: call.inputs[:1]), inputs, **options)


def in_order(call):
    return [range(elements(call.inputs[0].dims))]


def identity(call):  # identity.S1, S2
    call.follows("C1", 0)
    return [call.inputs[0].dims]


mover("Identity", "identity", (1, 1), identity, in_order, shape="C2")


def reshape(call):  # reshape.S1 to S4
    call.follows("C1", 0)
    data = call.dims(0)
    if call.has(1):
        call.require("shape" not in call.attrs, "C6")
        shape = call.integers(1, "C2")
    else:
        call.require("shape" in call.attrs and call.opset < 5, "C6", "no shape")
        shape = call.attrs["shape"]
    call.require(all(v >= -1 for v in shape) and list(shape).count(-1) <= 1, "C2", "shape %s" % list(shape))
    allow = call.attr("allowzero", 0) == 1
    out = []
    for k, v in enumerate(shape):
        if v == 0 and not allow:
            call.require(k < len(data), "C4")
            v = data[k]
        out.append(v)
    if -1 in out:
        k = out.index(-1)
        rest = elements(out[:k] + out[k + 1:])
        call.require(rest != 0 and elements(data) % rest == 0, "C3", "-1 has no one size")
        out[k] = elements(data) // rest
    call.require(elements(out) == elements(data), "C3", "%s elements become %s" % (elements(data), out))
    return [tuple(out)]


mover("Reshape", "reshape", (1, 2), reshape, in_order, shape="C5", attributes="allowzero:i:14 shape:is:1:5")


def flatten(call):  # flatten.S1 to S3
    call.follows("C1", 0)
    d = call.dims(0)
    a = call.axis("C2", 1, len(d), beyond=1)
    return [(elements(d[:a]), elements(d[a:]))]


mover("Flatten", "flatten", (1, 1), flatten, in_order, shape="C3", attributes="axis:i")


def permutation(call):
    rank = len(call.dims(0))
    perm = call.attr("perm", list(range(rank))[::-1])
    call.require(sorted(perm) == list(range(rank)), "C2", "perm %s" % (perm,))
    return perm


def transpose(call):  # transpose.S1 to S3
    call.follows("C1", 0)
    d = call.dims(0)
    return [tuple(d[p] for p in permutation(call))]


def transposed(call):
    steps = strides(call.inputs[0].dims)
    return [walk(call.outs[0].dims, [steps[p] for p in permutation(call)])]


mover("Transpose", "transpose", (1, 1), transpose, transposed, shape="C3", attributes="perm:is")


def named_axes(call, number):
    """The axes of Squeeze and Unsqueeze: an attribute before opset 13, then an input."""
    if call.has(1):
        t = call.inputs[1]
        call.require(t.type is INT64, "C1", "axes is %s" % t.type)
        call.require(t.dims is None or len(t.dims) <= 1, "C1")
        return call.values(1)
    return call.attr("axes")


def squeeze(call):  # squeeze.S1, S2
    call.follows("C1", 0)
    d = call.dims(0)
    axes = named_axes(call, "C2")
    if axes is None:
        return [tuple(n for n in d if n != 1)]
    axes = call.axes("C2", axes, len(d))
    call.require(all(d[a] == 1 for a in axes), "C2")
    return [tuple(n for k, n in enumerate(d) if k not in axes)]


def unsqueeze(call):  # unsqueeze.S1, S2
    call.follows("C1", 0)
    d = list(call.dims(0))
    axes = named_axes(call, "C2")
    call.require(axes is not None, "C2", "no axes")
    rank = len(d) + len(axes)
    axes = call.axes("C2", axes, rank)
    return [tuple(1 if k in axes else d.pop(0) for k in range(rank))]


mover("Squeeze", "squeeze", (1, 2), squeeze, in_order, shape="C3", attributes="axes:is:1:13")
mover("Unsqueeze", "unsqueeze", (1, 2), unsqueeze, in_order, shape="C3", attributes="axes:is:1:13")


def gather(call):  # gather.S1 to S3
    call.follows("C1", 0)
    d = call.dims(0)
    call.require(len(d) > 0, "C2")
    a = call.axis("C2", 0, len(d))
    indices = call.inputs[1]
    call.require(indices.type.name in INDEX, "C3")
    if indices.data is not None:
        call.require(all(-d[a] <= i < d[a] for i in indices.data), "C4", "an index is outside the axis")
    return [d[:a] + tuple(call.dims(1)) + d[a + 1:]]


def gathered(call):
    d = call.inputs[0].dims
    a = call.axis("C2", 0, len(d))
    steps = strides(d)
    out = walk(d[:a], steps[:a])
    picks = [i % d[a] * steps[a] for i in call.inputs[1].data]
    out = [o + p for o in out for p in picks]
    inner = walk(d[a + 1:], steps[a + 1:])
    return [[o + i for o in out for i in inner]]


mover("Gather", "gather", (2, 2), gather, gathered, shape="C5", attributes="axis:i")


def expand(call):  # expand.S1 to S3
    call.follows("C1", 0)
    shape = tuple(call.integers(1, "C2"))
    call.require(all(v >= 0 for v in shape), "C2")
    return [broadcast(call, "C3", call.dims(0), shape)]


def expanded(call):
    from .core import broadcast_index
    return [broadcast_index(call.inputs[0].dims, call.outs[0].dims)]


mover("Expand", "expand", (2, 2), expand, expanded, shape="C4", since=8)


def tile(call):  # tile.S1 to S3
    call.follows("C1", 0)
    d = call.dims(0)
    repeats = call.integers(1, "C2")
    call.require(len(repeats) == len(d) and all(v >= 0 for v in repeats), "C2")
    return [tuple(n * r for n, r in zip(d, repeats))]


def tiled(call):
    out = [0]
    d, y = call.inputs[0].dims, call.outs[0].dims
    for n, m, s in zip(d, y, strides(d)):
        out = [o + k % n * s for o in out for k in range(m)]
    return [out]


mover("Tile", "tile", (2, 2), tile, tiled, shape="C3")


def slices(call):
    """For each axis the positions taken (slice.S1 to S3)."""
    d = call.dims(0)
    lists = []
    for i in range(1, 5):
        if call.has(i):
            t = call.inputs[i]
            call.require(t.type.name in INDEX and (t.dims is None or len(t.dims) == 1), "C2")
            lists.append(list(call.values(i)))
        else:
            lists.append(None)
    starts, ends, axes, steps = lists
    call.require(all(v is None or len(v) == len(starts) for v in lists), "C2", "lists of several sizes")
    call.require(axes is not None or len(starts) <= len(d), "C3")
    axes = call.axes("C3", axes if axes is not None else range(len(starts)), len(d))
    steps = steps or [1] * len(starts)
    call.require(0 not in steps, "C4")
    taken = [range(n) for n in d]
    for a, start, end, step in zip(axes, starts, ends, steps):
        n = d[a]
        start, end = (start + n if start < 0 else start), (end + n if end < 0 else end)
        if step > 0:
            taken[a] = range(min(max(start, 0), n), min(max(end, 0), n), step)
        else:
            taken[a] = range(min(max(start, 0), n - 1), min(max(end, -1), n - 1), step)
    return taken


def slice_(call):
    call.follows("C1", 0)
    return [tuple(len(r) for r in slices(call))]


def sliced(call):
    return [positions(slices(call), strides(call.inputs[0].dims))]


def positions(taken, steps):
    out = [0]
    for r, s in zip(taken, steps):
        out = [o + k * s for o in out for k in r]
    return out


mover("Slice", "slice", (3, 5), slice_, sliced, shape="C5", form=10)


def parts(call):
    """The sizes of the parts (split.S2, S3)."""
    d = call.dims(0)
    n = len(call.declared)
    size = d[call.axis("C2", 0, len(d))]
    if call.has(1):
        call.require("num_outputs" not in call.attrs, "C5")
        sizes = list(call.integers(1, "C3"))
        call.require(len(sizes) == n and all(v >= 0 for v in sizes) and sum(sizes) == size, "C3")
        return sizes
    if "num_outputs" in call.attrs:
        call.require(call.attrs["num_outputs"] == n, "C4")
        part = -(-size // n)
        call.require(part * (n - 1) <= size, "C4")
        return [part] * (n - 1) + [size - part * (n - 1)]
    call.require(call.opset < 18, "C5")
    if "split" in call.attrs:
        sizes = call.attrs["split"]
        call.require(len(sizes) == n and all(v >= 0 for v in sizes) and sum(sizes) == size, "C3")
        return sizes
    call.require(size % n == 0, "C6")
    return [size // n] * n


def split(call):
    call.follows("C1", 0)
    call.require(len(call.dims(0)) > 0, "C2")
    d = call.dims(0)
    a = call.axis("C2", 0, len(d))
    return [d[:a] + (s,) + d[a + 1:] for s in parts(call)]


def split_sources(call):
    d = call.inputs[0].dims
    a = call.axis("C2", 0, len(d))
    out, start = [], 0
    for y in call.outs:
        taken = [range(n) for n in d]
        taken[a] = range(start, start + y.dims[a])
        start += y.dims[a]
        out.append(positions(taken, strides(d)))
    return out


mover("Split", "split", (1, 2), split, split_sources, shape="C7", outputs=(1, 1 << 20),
      attributes="axis:i num_outputs:i:18 split:is:1:13")


def block(call):
    d = call.dims(0)
    call.require(len(d) == 4, "C2")
    b = call.attrs["blocksize"]
    call.require(b >= 1, "C3")
    return d, b


def depth_to_space(call):  # depth_to_space.S1 to S3
    call.follows("C1", 0)
    (n, c, h, w), b = block(call)
    call.require(c % (b * b) == 0, "C4")
    call.require(call.text("mode", "DCR") in ("DCR", "CRD"), "C5")
    return [(n, c // (b * b), h * b, w * b)]


def depth_to_space_sources(call):
    (n, c, h, w), b = block(call)
    depth_first = call.text("mode", "DCR") == "DCR"
    out = []
    for m in range(n):
        for k in range(c // (b * b)):
            for i in range(h * b):
                for j in range(w * b):
                    place = i % b * b + j % b
                    channel = place * (c // (b * b)) + k if depth_first else k * b * b + place
                    out.append(((m * c + channel) * h + i // b) * w + j // b)
    return [out]


def space_to_depth(call):  # space_to_depth.S1, S2, C6
    call.follows("C1", 0)
    (n, c, h, w), b = block(call)
    call.require(h % b == 0 and w % b == 0, "C4")
    mode = call.text("mode", "DCR")
    if mode == "CRD":
        raise unsupported("mode CRD of SpaceToDepth")
    call.require(mode == "DCR", "C6")
    return [(n, c * b * b, h // b, w // b)]


def space_to_depth_sources(call):
    (n, c, h, w), b = block(call)
    out = []
    for m in range(n):
        for k in range(c * b * b):
            i, j = divmod(k // c, b)
            for y in range(h // b):
                for x in range(w // b):
                    out.append(((m * c + k % c) * h + y * b + i) * w + x * b + j)
    return [out]


mover("DepthToSpace", "depth_to_space", (1, 1), depth_to_space, depth_to_space_sources, shape="C6",
      attributes="blocksize:i mode:s:11", required=("blocksize",))
mover("SpaceToDepth", "space_to_depth", (1, 1), space_to_depth, space_to_depth_sources, shape="C5",
      attributes="blocksize:i mode:s", required=("blocksize",))


def checked_lengths(call):
    size = call.dims(0)[call.attr("time_axis", 0)]
    call.require(all(0 <= n <= size for n in call.inputs[1].data), "C4", "a length beyond the axis of %d" % size)
    return call.inputs[1].data


def reverse_sequence(call):
    call.follows("C1", 0)
    d, batch = call.dims(0), call.attr("batch_axis", 1)
    call.require(len(d) >= 2 and batch in (0, 1) and call.attr("time_axis", 0) == 1 - batch, "C2", "axes")
    call.require(call.inputs[1].type is INT64 and call.dims(1) == (d[batch],), "C3", "lengths %s" % (call.dims(1),))
    if call.inputs[1].data is not None:
        checked_lengths(call)
    return [d]


def reversed_sequences(call):  # reverse_sequence.S1
    d, batch_first, lengths = call.inputs[0].dims, call.attr("batch_axis", 1) == 0, checked_lengths(call)
    inner, out = elements(d[2:]), []
    for i in range(d[0]):
        for k in range(d[1]):
            t, n = (k, lengths[i]) if batch_first else (i, lengths[k])
            t = n - 1 - t if t < n else t
            row = i * d[1] + t if batch_first else t * d[1] + k
            out.extend(range(row * inner, row * inner + inner))
    return [out]


mover("ReverseSequence", "reverse_sequence", (2, 2), reverse_sequence, reversed_sequences, shape="C5",
      attributes="batch_axis:i time_axis:i", since=10)


def compress(call):  # compress.S1, S2
    call.follows("C1", 0)
    d = call.dims(0)
    call.require(len(d) >= 1, "C2", "x is a scalar")
    a = call.axis("C2", 0, len(d))
    c = call.dims(1)
    size = d[a] if "axis" in call.attrs else elements(d)
    call.require(call.inputs[1].type is BOOL and len(c) == 1 and c[0] <= size, "C3", "condition of shape %s" % (c,))
    kept = sum(v != 0 for v in call.values(1))
    return [d[:a] + (kept,) + d[a + 1:] if "axis" in call.attrs else (kept,)]


def kept_slices(call):
    d, kept = call.inputs[0].dims, [k for k, v in enumerate(call.inputs[1].data) if v]
    if "axis" not in call.attrs:
        return [kept]
    a, steps = call.axis("C2", 0, len(d)), strides(d)
    return [[o + k * steps[a] + i for o in walk(d[:a], steps[:a]) for k in kept for i in range(steps[a])]]


mover("Compress", "compress", (2, 2), compress, kept_slices, shape="C4", attributes="axis:i", since=9)
