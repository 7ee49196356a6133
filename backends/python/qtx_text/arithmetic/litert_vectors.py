"""QUANTIZE and ADD of LiteRT's builtin kernels, whose vectors round otherwise than what is left over
(tflite_float64.S13, tflite_half_up.S12 and S13)."""
import math
from fractions import Fraction

from .. import reals as R
from ..reals import exact, f32
from .base import clamp

BYTES = 1002, 1003


def stands_for(call, name):
    return call.origin[0] != "tflite" or call.origin[1] in ("", name)


def order(call, dims):
    """A function of an element: its number in TFLite's order; and one of sizes."""
    if len(dims) != 4 or not call.origin_integer("tflite", "channels_first", 0):
        return lambda i: i, list
    pixels, channels = dims[2] * dims[3], dims[1]

    def place(i):
        rest, pixel = divmod(i, pixels)
        image, channel = divmod(rest, channels)
        return (image * pixels + pixel) * channels + channel
    return place, lambda sizes: [sizes[0], sizes[2], sizes[3], sizes[1]]


def in_vector(place, run, lanes):
    return place % run < run // lanes * lanes


def to_int32(v, rounded):
    return rounded(exact(v)) if abs(v) < 2 ** 31 - 0.5 else -2 ** 31


def takes_floats(call):
    x, y = call.inputs[0], call.outs[0]
    return (call.stem == "cast" and stands_for(call, "QUANTIZE") and x.quant is None and x.type.code == 1 and
            y.quant is not None and y.single and y.type.code in (*BYTES, 1005))


def plan_floats(call, builtin):
    if not takes_floats(call):
        return None
    x, y = call.inputs[0], call.outs[0]
    place, _ = order(call, y.dims)

    def steps(v, vector):
        if not builtin:
            return to_int32(R.div32(v, y.scale), R.half_away)
        if vector:
            return to_int32(f32(v * R.div32(1.0, y.scale)), R.half_even)
        return to_int32(v / y.scale, R.half_away)
    n = math.prod(y.dims)
    return lambda: [clamp(R.wrap(steps(v, in_vector(place(i), n, 8)) + y.offset, 32), y.quant.lo, y.quant.hi)
                    for i, v in enumerate(x.floats())]


def plan_bytes(call, upward, away):
    x, y = call.inputs[0], call.outs[0]
    if not (call.stem == "cast" and stands_for(call, "QUANTIZE") and x.type.eight and y.type.eight and x.single and y.single):
        return None
    place, _ = order(call, y.dims)
    n, M = math.prod(y.dims), x.scale / y.scale
    return lambda: [clamp(R.wrap((upward if in_vector(place(i), n, 16) else away)(v - x.offset, M) + y.offset, 32),
                          y.quant.lo, y.quant.hi) for i, v in enumerate(x.data)]


def loop(a, b):
    """Of shapes of one length: the innermost loop's elements, whether one element is added to each, whether it is over all
    elements, whether all dimensions are in its five groups."""
    def back(end, condition):
        while end and condition(end - 1):
            end -= 1
        return end
    inner = back(len(a), lambda d: a[d] == b[d])
    if inner and a[inner - 1] != 1:
        a, b = b, a
    repeated = back(inner, lambda d: a[d] == 1)
    shared = back(repeated, lambda d: a[d] == b[d])
    other = back(shared, lambda d: b[d] == 1)
    grouped = back(other, lambda d: a[d] == b[d]) == 0
    run = math.prod(b[inner:])
    if inner and run == 1:
        return math.prod(b[repeated:inner]), True, False, grouped
    return run, False, inner == 0, grouped


def plan_sum(call, a_at, b_at, tools):
    """`tools`: high, pair and twice of tflite."""
    a, b, y = *call.inputs, call.outs[0]
    high, pair, twice = tools
    place, ordered = order(call, y.dims)
    run, single, whole, grouped = loop(*(ordered((1,) * (len(y.dims) - len(t.dims)) + tuple(t.dims)) for t in (a, b)))
    vectors = grouped and (a.type.eight or whole)
    down = single or a.type.code == 1002
    bits = 20 if a.type.eight else 15
    t = 2 * max(a.scale, b.scale)
    last = pair(t / (2 ** bits * y.scale))

    def brought(d, vector, m, e):
        if not vector:
            return twice(d << bits, m, e)
        if down:
            return high(d << bits, m) >> -e
        return high(math.floor(d * Fraction(2) ** (bits + e)), m)

    def one(k, i, j):
        vector = vectors and in_vector(place(k), run, 8 if down else 16)
        steps = twice(brought(a.data[i] - a.offset, vector, *pair(a.scale / t)) +
                      brought(b.data[j] - b.offset, vector, *pair(b.scale / t)), *last)
        if vector and a.type.eight:
            return R.wrap(R.wrap(steps, 16) + y.offset, 16)
        return steps + y.offset
    return lambda: [clamp(one(k, i, j), y.quant.lo, y.quant.hi) for k, (i, j) in enumerate(zip(a_at, b_at))]
