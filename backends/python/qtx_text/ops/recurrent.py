"""LSTM and GRU."""
from ..intervals import evaluated
from ..reals import INF, is_nan
from ..types import elements, unsupported
from .core import OPERATORS, Operator

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


class Cells:
    """The operands of a node in one system of numbers; `step` gives the states after a step of direction d."""

    def __init__(self, call, n):
        self.call, self.n = call, n
        self.hidden, self.size = call.dims(2)[2], call.dims(0)[2]
        self.w, self.r, self.b, self.p = (n.of(call.input(i)) if call.has(i) else None for i in (1, 2, 3, 7))
        self.clip = call.attr("clip")
        names = call.attr("activations")
        self.names = [a.decode() for a in names] if names else list(self.activations) * 2

    def activation(self, v, k):  # lstm.S3, gru.S3
        if self.clip is not None:
            bound = self.n.constant(self.clip)
            v = self.n.monotone(lambda x: x if is_nan(x) else min(max(x, -bound), bound), v)
        if self.names[k] == "Relu":
            return self.n.monotone(lambda x: x if is_nan(x) else max(x, self.n.zero), v)
        return self.n.function(self.names[k].lower(), v)

    def of_input(self, d, j, x):
        first = (d * self.gates * self.hidden + j) * self.size
        return self.n.dot(self.w[first:first + self.size], x, self.n.zero)

    def with_state(self, d, j, h, s):
        first = (d * self.gates * self.hidden + j) * self.hidden
        return self.n.dot(self.r[first:first + self.hidden], h, s)

    def with_bias(self, d, half, j, s):
        """The sum and the element of the half of B: 0 is Wb, 1 is Rb."""
        return self.n.add(s, self.b[((2 * d + half) * self.gates) * self.hidden + j]) if self.b is not None else s

    def gate(self, d, j, x, h, cell=None):
        s = self.with_state(d, j, h, self.of_input(d, j, x))
        if cell is not None and self.p is not None:
            s = self.n.multiply_add(self.p[d * 3 * self.hidden + j], cell, s)
        return self.with_bias(d, 1, j, self.with_bias(d, 0, j, s))


class LstmCells(Cells):  # lstm.S1
    gates, activations, states, flags = 4, ("Sigmoid", "Tanh", "Tanh"), 2, ("layout", "input_forget")

    def step(self, d, x, h, c):
        n, H = self.n, self.hidden

        def peeping(block, i, cell):
            return self.activation(self.gate(d, block * H + i, x, h, cell), 3 * d)
        out, cells = [], []
        for i in range(H):
            enter = peeping(0, i, c[i])
            forget = n.sub(n.constant(1.0), enter) if self.call.attr("input_forget", 0) else peeping(2, i, c[i])
            new = self.activation(self.gate(d, 3 * H + i, x, h), 3 * d + 1)
            cells.append(n.multiply_add(enter, new, n.mul(forget, c[i])))
            out.append(n.mul(peeping(1, i, cells[i]), self.activation(cells[i], 3 * d + 2)))
        return out, cells


class GruCells(Cells):  # gru.S1, S4
    gates, activations, states, flags = 3, ("Sigmoid", "Tanh"), 1, ("layout", "linear_before_reset")

    def step(self, d, x, h):
        n, H, out = self.n, self.hidden, []
        reset = [self.activation(self.gate(d, H + i, x, h), 2 * d) for i in range(H)]
        kept = [n.mul(r, v) for r, v in zip(reset, h)]
        for i in range(H):
            z, j = self.activation(self.gate(d, i, x, h), 2 * d), 2 * H + i
            if self.call.attr("linear_before_reset", 0):
                s = self.with_bias(d, 1, j, self.with_state(d, j, h, n.zero))
                s = self.with_bias(d, 0, j, n.multiply_add(reset[i], s, self.of_input(d, j, x)))
            else:
                s = self.gate(d, j, x, kept)
            new = self.activation(s, 2 * d + 1)
            out.append(n.multiply_add(z, h[i], n.mul(n.sub(n.constant(1.0), z), new)))
        return (out,)


class Sequences:
    """The order of steps, sequences and directions in the tensors (lstm.S5, S7; gru.S5, S7)."""

    def __init__(self, call, cells):
        self.batch_first = bool(call.attr("layout", 0))
        x = call.dims(0)
        self.steps, self.batch = (x[1], x[0]) if self.batch_first else x[:2]
        self.direction = call.text("direction", "forward")
        self.directions, self.hidden = DIRECTIONS[self.direction], call.dims(2)[2]
        self.call, self.cells = call, cells

    def pair(self, i, n):
        return (n, i) if self.batch_first else (i, n)

    def shapes(self):
        state = (*self.pair(self.directions, self.batch), self.hidden)
        y = (self.batch, self.steps, *state[1:]) if self.batch_first else (self.steps, *state)
        return [y] + [state] * self.cells.states

    def row(self, values, i, n, rows, width):
        """The elements at [i, n] of a tensor of `rows` by batch, or of [n, i] with the batch first."""
        at = (n * rows + i if self.batch_first else i * self.batch + n) * width
        return values[at:at + width]

    def run(self, numbers):
        """Y, Y_h (and Y_c), in one list."""
        call, H, cells = self.call, self.hidden, self.cells(self.call, numbers)
        x = numbers.of(call.input(0))
        initial = [numbers.of(call.input(5 + k)) if call.has(5 + k) else None for k in range(cells.states)]
        lengths = call.input(4).data if call.has(4) else [self.steps] * self.batch
        y, last = {}, {}
        for d in range(self.directions):
            for n in range(self.batch):
                states = [self.row(v, d, n, self.directions, H) if v else [numbers.zero] * H for v in initial]
                order = range(lengths[n])
                for t in order if self.direction != "reverse" and d == 0 else reversed(order):
                    states = cells.step(d, self.row(x, t, n, self.steps, cells.size), *states)
                    y[t, d, n] = states[0]
                last[d, n] = states
        pairs = [(d, n) for d in range(self.directions) for n in range(self.batch)]
        places = [(t, d, n) for t in range(self.steps) for d, n in pairs]
        if self.batch_first:
            pairs.sort(key=lambda p: p[1])
            places.sort(key=lambda p: (p[2], p[0], p[1]))
        out = [v for p in places for v in y.get(p, [numbers.zero] * H)]
        for k in range(cells.states):
            out += [v for p in pairs for v in last[p][k]]
        return out


def check_shapes(call, cells):
    call.require(all(len(call.dims(i)) == 3 for i in range(3)), "C2", "X, W and R have rank 3")
    s = Sequences(call, cells)
    D, H, rows = s.directions, s.hidden, cells.gates * s.hidden
    call.require(call.dims(1) == (D, rows, call.dims(0)[2]) and call.dims(2) == (D, rows, H) and H >= 1, "C2")
    call.require(call.attr("hidden_size", H) == H, "C3", "hidden_size")
    if call.has(4):
        lengths = call.inputs[4]
        call.require(lengths.type.name == "INT32" and call.dims(4) == (s.batch,), "C4", "sequence_lens")
        call.require(all(0 <= n <= s.steps for n in lengths.data or []), "C4", "a length")
    for i, shape in ((3, (D, 2 * rows)), (5, s.shapes()[1]), (6, s.shapes()[1]), (7, (D, 3 * H))):
        call.require(not call.has(i) or call.dims(i) == shape, "C5", "input %d" % i)
    return s


def recurrent(name, stem, cells, inputs):
    def infer(call):
        call.real_or("C1", "DOUBLE", operands=[t for i, t in enumerate(call.inputs) if i != 4])
        call.require(call.text("direction", "forward") in DIRECTIONS, "C6", "direction")
        call.require(all(call.attr(flag, 0) in (0, 1) for flag in cells.flags), "C6", "layout")
        call.require(0 < call.attr("clip", 1.0) < INF, "C6", "clip")
        sequences = check_shapes(call, cells)
        names = call.attr("activations")
        if names:
            call.require(len(names) == len(cells.activations) * sequences.directions, "C7", "activations")
            if not all(a in (b"Sigmoid", b"Tanh", b"Relu") for a in names):
                raise unsupported("activations %s" % names)
        return sequences.shapes()[:len(call.declared)]

    def plan(call):
        def compute():
            check_shapes(call, cells)
            sequences, arithmetic = Sequences(call, cells), call.effective()
            if arithmetic.numbers.binary32:
                numbers = sequences.run(arithmetic.numbers)
            else:
                numbers = evaluated(sequences.run)
            results = []
            for y in call.outs:
                size = elements(y.dims)
                results.append(arithmetic.store(y, numbers[:size]))
                numbers = numbers[size:]
            return results
        kernel = call.plan_kernel("lstm") if cells is LstmCells else None
        return (lambda: kernel() or compute()) if kernel else compute
    OPERATORS[name] = Operator(name, stem, infer, plan, inputs, outputs=(0, 1 + cells.states), shape="C8",
                               attributes="activation_alpha:fs activation_beta:fs activations:ss clip:f direction:s "
                                          "hidden_size:i layout:i:14 %s:i" % cells.flags[1],
                               operands=tuple(i for i in range(inputs[1]) if i != 4))


recurrent("LSTM", "lstm", LstmCells, (3, 8))
recurrent("GRU", "gru", GruCells, (3, 6))
