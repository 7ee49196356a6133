"""TFLite's LSTM of int8 with a 16-bit cell (tflite.S18), and its 16-bit fixed-point functions (tflite.S19)."""
from fractions import Fraction

from .. import reals as R
from ..reals import f32
from ..types import is_power_of_two

FACTORS = (25520, 19875, 12055, 4435, 600, 11)  # e^(-2^(j - 2)) as fractions of 2^15


def p(a, b):
    return R.saturate(a * b + 2 ** 14 >> 15, 16)


def near(numerator, denominator):
    return R.half_away(Fraction(numerator, denominator))


def exp16(a, n):
    if a == 0:
        return 2 ** 15 - 1
    if n > 5 and a < -2 ** (20 - n):
        return 0
    quarter = 2 ** (13 - n)
    r = a % quarter - quarter
    t = 2 ** n * r + 2 ** 12
    square = p(t, t)
    rest = p(near(p(square, square), 4) + p(square, t), 10923) + square
    v = R.saturate(28918 + p(28918, t + near(rest, 2)), 16)
    bits = (r - a) // quarter
    for j in range(min(n + 1, 6) + 1):
        if bits >> j & 1:
            v = p(v, FACTORS[j] if j < len(FACTORS) else 0)
    return v


def twice_inverse(e):
    d = e + 2 ** 15 >> 1
    u = 23130 + p(d, -15420)
    for _ in range(3):
        u += R.saturate(4 * p(u, 2 ** 13 - p(d, u)), 16)
    return u


def logistic16(x):
    if x == 0:
        return 2 ** 14
    above = R.saturate(2 * twice_inverse(exp16(-abs(x), 3)), 16)
    return above if x > 0 else 2 ** 15 - 1 - above


def tanh16(x, n):
    if x == 0:
        return 0
    above = R.saturate(4 * (twice_inverse(exp16(-abs(x), n + 1)) - 2 ** 13), 16)
    return above if x > 0 else -above


def is_lstm(call):
    """Whether the kernel has the node."""
    x, w, r, b, _, h, c, peepholes = map(call.input, range(8))
    if call.origin not in (("tflite", "UNIDIRECTIONAL_SEQUENCE_LSTM"), ("tflite", "LSTM")) or h is None or c is None:
        return False
    if not all(t.type.name == "INT8Q" and t.single for t in (x, h)) or c.type.name != "INT16Q" or not c.single:
        return False
    if not is_power_of_two(c.scale) or c.offset or not -15 <= R.exponent(Fraction(c.scale)) <= -9:
        return False
    given = [y for y, blank in zip(call.outs, call.blank) if not blank]
    states = [t for t, blank in zip((h, h, c), call.blank) if not blank]
    def form(t):
        return t.type.code, t.scale, t.offset, t.quant.lo, t.quant.hi
    if not given or any(not y.single or form(y) != form(t) for y, t in zip(given, states)):
        return False
    if call.text("direction", "forward") != "forward" or peepholes is not None:
        return False
    return "activations" not in call.attrs and "clip" not in call.attrs and not call.attr("layout", 0) \
        and not call.attr("input_forget", 0) and is_gates(call, x, w, r, b)


def is_gates(call, x, w, r, b):
    H = call.dims(2)[2]

    def scales(t):
        return [t.quant.at(t.dims)[j * t.dims[2]][0] for j in range(4 * H)]
    for t in (w, r):
        if t.type.name != "INT8Q" or not t.quant.integer_form or any(t.quant.offsets):
            return False
        s = [scale for scale, _ in t.quant.at(t.dims)]
        if any(v != s[k // (H * t.dims[2]) * H * t.dims[2]] for k, v in enumerate(s)):
            return False
    if b is None:
        return True
    if b.type.name != "INT32Q" or b.data is None or any(b.data[4 * H:]):
        return False
    units = [Fraction(s) * x.quant.reals[0] for s in scales(w)]
    return all(abs(Fraction(s) - u) <= u / 2 ** 20 for u, (s, _) in zip(units, b.quant.at(b.dims)))


def plan(call, times):
    """A function that computes all outputs, or None; `times` is that of tflite.S5. The function gives None where a length is
    not the number of steps."""
    if None in [t and t.dims for t in call.inputs[:3]] or not is_lstm(call):
        return None
    x, w, r, b, lengths, h, c = (call.input(i) for i in range(7))
    H, size, k = call.dims(2)[2], call.dims(0)[2], R.exponent(Fraction(c.scale))

    def factors(t, s):
        return [f32(f32(t.quant.at(t.dims)[j * t.dims[2]][0] * s) * 2.0 ** 12) for j in range(4 * H)]

    def step(values, state, cell, from_x, from_h):
        def z(j):
            dot = sum((v - x.offset) * q for v, q in zip(values, w.data[j * size:]))
            in_x = times(R.wrap(dot + (b.data[j] if b is not None else 0), 32), from_x[j])
            dot = sum((v - h.offset) * q for v, q in zip(state, r.data[j * H:]))
            return R.saturate(R.saturate(in_x, 16) + times(R.wrap(dot, 32), from_h[j]), 16)
        out, cells, last = [], [], f32(2.0 ** -30 / h.scale)
        for j in range(H):
            new = logistic16(z(j)) * tanh16(z(3 * H + j), 3)
            kept = logistic16(z(2 * H + j)) * cell[j]
            cells.append(min(max(near(kept, 2 ** 15) + near(new, 2 ** (30 + k)), c.quant.lo), c.quant.hi))
            v = times(logistic16(z(H + j)) * tanh16(cells[j], 15 + k), last) + h.offset
            out.append(min(max(v, h.quant.lo), h.quant.hi))
        return out, cells

    def compute():
        steps, batch = call.dims(0)[:2]
        if lengths is not None and any(n != steps for n in lengths.data):
            return None
        from_x, from_h = factors(w, x.scale), factors(r, h.scale)
        y, states, cells = [[] for _ in range(steps)], [], []
        for n in range(batch):
            state, cell = h.data[n * H:(n + 1) * H], c.data[n * H:(n + 1) * H]
            for t in range(steps):
                first = (t * batch + n) * size
                state, cell = step(x.data[first:first + size], state, cell, from_x, from_h)
                y[t] += state
            states += state
            cells += cell
        return [sum(y, []), states, cells]
    return compute
