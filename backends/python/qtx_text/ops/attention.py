"""Attention."""
from fractions import Fraction

from .. import reals as R
from ..intervals import Interval, evaluated
from ..reals import INF, is_finite, is_nan
from ..types import elements, strides, unsupported
from .core import operator

Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS = range(7)


class Heads:
    """Sizes of a node, and where an element of a head lies (attention.S1, S8)."""

    def __init__(self, call):
        q, k, v = call.dims(Q), call.dims(K), call.dims(V)
        self.call, self.four = call, len(q) == 4
        self.q_heads = q[1] if self.four else call.attr("q_num_heads")
        self.kv_heads = k[1] if self.four else call.attr("kv_num_heads")
        self.batch, self.queries, self.new = q[0], q[-2], k[-2]
        self.size, self.value_size = (d[-1] if self.four else d[-1] // self.kv_heads for d in (k, v))
        self.past = call.dims(PAST_KEY)[2] if call.has(PAST_KEY) else 0
        self.keys = self.past + self.new

    def at(self, i, n, h, row, size):
        """The index of the first element of [n, h, row] of input i of this head size."""
        d = self.call.dims(i)
        return ((n * d[1] + h) * d[2] + row) * size if len(d) == 4 else (n * d[1] + row) * d[2] + h * size

    def cached(self, i, past, n, g, j, size):
        """(the input, the index of the first element) of key or value j."""
        return (past, self.at(past, n, g, j, size)) if j < self.past else (i, self.at(i, n, g, j - self.past, size))

    def shapes(self):
        y = (self.batch, self.q_heads, self.queries, self.value_size) if self.four else \
            (self.batch, self.queries, self.q_heads * self.value_size)
        return [y, (self.batch, self.kv_heads, self.keys, self.size),
                (self.batch, self.kv_heads, self.keys, self.value_size),
                (self.batch, self.q_heads, self.queries, self.keys)]

    def bias(self, n, h, i, j):
        """attention.S4 to S6."""
        call, lengths = self.call, self.call.inputs[LENGTHS].data if self.call.has(LENGTHS) else None
        diagonal = lengths[n] - self.queries if lengths else self.past
        if call.attr("is_causal", 0) and j > i + diagonal or lengths and j >= lengths[n]:
            return -INF
        if not call.has(MASK):
            return 0
        d, new = call.dims(MASK), call.opset >= 24
        if new and d and j >= d[-1]:
            return -INF
        place = [0 if size == 1 and not (new and a == len(d) - 1) else p
                 for a, (size, p) in enumerate(zip(d, (n, h, i, j)[4 - len(d):]))]
        v = self.mask[sum(p * s for p, s in zip(place, strides(d)))]
        return v if call.inputs[MASK].type.name != "BOOL" else 0 if v else -INF


def scores(n, heads, q, k, where):
    """The dots, the scaled products, the capped ones and the scores of a query; exact (attention.S2, S3)."""
    call, softcap = heads.call, heads.call.attr("softcap", 0.0)
    dots = [n.total(R.mul(x, y) for x, y in zip(q, row)) for row in k]
    factor = n.constant(call.attrs["scale"]) if "scale" in call.attrs else \
        n.div(Fraction(1), n.function("sqrt", Fraction(heads.size)))
    scaled = [n.mul(factor, d) for d in dots]
    capped = scaled
    if softcap:
        c = n.constant(softcap)
        capped = [n.mul(c, n.function("tanh", n.div(v, c))) for v in scaled]
    bias = [n.constant(heads.bias(*where, j)) for j in range(len(k))]
    return dots, scaled, capped, bias, [n.add(v, b) for v, b in zip(capped, bias)]


def attended(n, heads, q, k, v, where):
    """The row of Y and those of the four modes, in the numbers n (attention.S2, S7, S9, S11)."""
    dots, scaled, capped, bias, score = scores(n, heads, q, k, where)
    size = heads.value_size
    blind = all(b == -INF for b in bias)
    if not blind and any(is_nan(s) or s == INF for s in score if not isinstance(s, Interval)):
        return [R.NAN] * size, (scaled, capped, score, [R.NAN] * len(k))
    seen = [] if blind else [j for j, s in enumerate(score) if s != -INF]
    if not seen:
        return [Fraction(0)] * size, (scaled, capped, score, [Fraction(0)] * len(k))
    top = max(seen, key=lambda j: score[j][1] if isinstance(score[j], Interval) else score[j])

    def gap(j):  # equal products differ in the bias alone
        return n.sub(bias[j], bias[top]) if dots[j] == dots[top] else n.sub(score[j], score[top])
    power = [n.function("exp", gap(j)) if j in seen else Fraction(0) for j in range(len(k))]
    total = n.total(power)
    share = [n.div(p, total) for p in power]
    row = []
    for e in range(size):
        values = [x[e] for x in v]
        level = values[seen[0]]
        if all(x == level if j in seen else is_finite(x) for j, x in enumerate(values)):
            row.append(level)
        else:
            row.append(n.total(n.mul(s, x) for s, x in zip(share, values)))
    return row, (scaled, capped, score, share)


def attended32(n, heads, q, k, v, where):
    """attention.S10."""
    call, softcap = heads.call, heads.call.attr("softcap", 0.0)
    root = n.function("sqrt", call.attrs["scale"] if "scale" in call.attrs else
                      n.div(1.0, n.function("sqrt", float(heads.size))))
    scaled = [n.total(n.mul(n.mul(x, root), n.mul(y, root)) for x, y in zip(q, row)) for row in k]
    capped = [n.mul(softcap, n.function("tanh", n.div(s, softcap))) for s in scaled] if softcap else scaled
    bias = [heads.bias(*where, j) for j in range(len(k))]
    score = [n.add(s, b) for s, b in zip(capped, bias)]
    top = -INF if all(b == -INF for b in bias) else R.NAN if any(map(is_nan, score)) else max(score, default=-INF)
    if top == -INF:
        return [0.0] * heads.value_size, (scaled, capped, score, [0.0] * len(k))
    power = [n.function("exp", n.sub(s, top)) for s in score]
    total = n.total(power)
    share = [n.div(p, total) for p in power]
    row = [n.total(n.mul(s, x[e]) for s, x in zip(share, v)) for e in range(heads.value_size)]
    return row, (scaled, capped, score, share)


def check_attributes(call):
    for name in ("scale", "softcap"):
        call.require(0 <= call.attr(name, 0.0) < INF, "C2", name)
    call.require(call.attr("is_causal", 0) in (0, 1) and call.attr("qk_matmul_output_mode", 0) in range(4), "C2")
    call.require(all(call.attr(name, 1) >= 1 for name in ("q_num_heads", "kv_num_heads")), "C2", "heads")
    call.require(call.attr("softmax_precision", 1) in (1, 10, 11, 16), "C2", "softmax_precision")
    windows = [call.attr(name, -1) for name in ("left_window_size", "right_window_size")]
    call.require(min(windows) >= -1, "C9", "a window")
    if max(windows) > -1:
        raise unsupported("windows of Attention")


def check_heads(call):
    q, k, v = call.dims(Q), call.dims(K), call.dims(V)
    call.require(len(q) == len(k) == len(v) and len(q) in (3, 4), "C3", "ranks")
    for d, name in ((q, "q_num_heads"), (k, "kv_num_heads"), (v, "kv_num_heads")):
        heads = call.attr(name, d[1] if len(d) == 4 else None)
        call.require(heads and (d[1] == heads if len(d) == 4 else d[2] % heads == 0), "C3", name)
        call.require(d[-1] > 0, "C3", "a head without elements")
    h = Heads(call)
    own = q[-1] if h.four else q[-1] // h.q_heads
    call.require(q[0] == k[0] == v[0] and own == h.size and k[-2] == v[-2] and (not h.four or k[1] == v[1])
                 and h.q_heads % h.kv_heads == 0, "C4")
    return h


def check_inputs(call):
    h = check_heads(call)
    call.require(call.has(PAST_KEY) == call.has(PAST_VALUE), "C5", "past keys without values")
    if call.has(PAST_KEY):
        for i, size in ((PAST_KEY, h.size), (PAST_VALUE, h.value_size)):
            call.require(call.dims(i) == (h.batch, h.kv_heads, h.past, size), "C5")
    if call.has(MASK):
        d = call.dims(MASK)
        whole = (h.batch, h.q_heads, h.queries, h.keys)[4 - len(d):]
        short = len(d) - 1 if call.opset >= 24 else len(d)  # the axis that may be shorter
        call.require(len(d) <= 4 and all(m in (1, n) or a == short and m <= n
                                         for a, (m, n) in enumerate(zip(d, whole))), "C6")
    if call.has(LENGTHS):
        t = call.inputs[LENGTHS]
        call.require(t.type.name == "INT64" and call.dims(LENGTHS) == (h.batch,) and not call.has(PAST_KEY), "C7")
        call.require(all(0 <= s <= h.new for s in t.data or []), "C7", "a length")
    return h


@operator("Attention", "attention", (3, 7), outputs=(1, 4), shape="C8", since=23, operands=(0, 1, 2, 3, 4, 5),
          attributes="is_causal:i kv_num_heads:i left_window_size:i q_num_heads:i qk_matmul_output_mode:i "
                     "right_window_size:i scale:f softcap:f softmax_precision:i")
class Attention:
    @staticmethod
    def infer(call):
        mask = call.has(MASK) and call.inputs[MASK].type.name == "BOOL"
        call.real_or("C1", "DOUBLE", operands=[t for i, t in enumerate(call.inputs)
                                               if i != LENGTHS and not (mask and i == MASK)])
        check_attributes(call)
        count = len(call.declared)
        return check_inputs(call).shapes()[:count], [None, call.inputs[K].type, call.inputs[V].type, None][:count]

    @staticmethod
    def compute(call):
        h, arithmetic = check_inputs(call), call.effective()
        places = [(n, head, i) for n in range(h.batch) for head in range(h.q_heads) for i in range(h.queries)]
        mode = call.attr("qk_matmul_output_mode", 0)
        if arithmetic.numbers.binary32:
            results = queries(arithmetic.numbers, h, places, attended32, mode)
        else:
            results = evaluated(lambda n: queries(n, h, places, attended, mode))
        split = len(places) * h.value_size
        y, probabilities = results[:split], results[split:]
        if not h.four:  # the heads of a query lie beside each other
            rows = dict(zip(places, range(len(places))))
            y = [v for n in range(h.batch) for i in range(h.queries) for head in range(h.q_heads)
                 for v in y[rows[n, head, i] * h.value_size:(rows[n, head, i] + 1) * h.value_size]]
        out = [arithmetic.store(call.outs[0], y)]
        for t, i, past, size in zip(call.outs[1:3], (K, V), (PAST_KEY, PAST_VALUE), (h.size, h.value_size)):
            out.append(present(h, arithmetic, t, i, past, size))
        return out + [arithmetic.store(t, probabilities) for t in call.outs[3:]]


def queries(n, heads, places, compute, mode):
    """All rows of Y, then all of qk_matmul_output, in one list."""
    call, y, products = heads.call, [], []
    x = [n.of(t) if t is not None and i != LENGTHS else None for i, t in enumerate(call.inputs)]
    heads.mask = x[MASK] if call.has(MASK) else None

    def row(i, start, size):
        return x[i][start:start + size]
    for b, h, i in places:
        g = h * heads.kv_heads // heads.q_heads
        k, v = ([row(*heads.cached(t, past, b, g, j, size), size) for j in range(heads.keys)]
                for t, past, size in ((K, PAST_KEY, heads.size), (V, PAST_VALUE, heads.value_size)))
        values, modes = compute(n, heads, row(Q, heads.at(Q, b, h, i, heads.size), heads.size), k, v, (b, h, i))
        y += values
        products += modes[mode]
    return y + products


def present(heads, arithmetic, t, i, past, size):
    """attention.S8."""
    positions = {i: ([], []), past: ([], [])}
    rows = [(n, g, j) for n in range(heads.batch) for g in range(heads.kv_heads) for j in range(heads.keys)]
    for k, (n, g, j) in enumerate(rows):
        source, start = heads.cached(i, past, n, g, j, size)
        positions[source][0].extend(range(start, start + size))
        positions[source][1].extend(range(k * size, (k + 1) * size))
    out = [None] * elements(t.dims)
    for source, (indices, places) in positions.items():
        if indices:
            for p, v in zip(places, arithmetic.move(heads.call.inputs[source], indices, t, places)):
                out[p] = v
    return out
