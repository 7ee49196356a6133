"""Einsum: sums of products over axes that an equation names."""
from ..types import Refusal, elements, strides
from .core import operator, walk


def labels(term, width):
    """The names of the axes of a term: letters, and numbers for those of its ellipsis (einsum.S1, S3)."""
    before, dots, after = term.partition("...")
    return list(before) + list(range(width if dots else 0)) + list(after)


def is_term(term):
    return all(c.isascii() and c.isalpha() for c in term.replace("...", "", 1))


class Equation:
    """The names of the axes of each input, of y, and of those that are summed."""

    def __init__(self, call):
        text = call.text("equation", "").replace(" ", "")
        left, arrow, right = text.partition("->")
        terms = left.split(",")
        call.require(len(terms) == len(call.inputs) and all(map(is_term, terms)) and is_term(right), "C2", text)
        ranks = [len(call.dims(i)) for i in range(len(terms))]
        letters = [len(t.replace("...", "")) for t in terms]
        widths = {r - n for r, n, t in zip(ranks, letters, terms) if "..." in t}
        call.require(all(r >= n if "..." in t else r == n for r, n, t in zip(ranks, letters, terms)), "C3", text)
        call.require(len(widths) <= 1, "C3", "ellipses of several ranks")
        width = widths.pop() if widths else 0
        self.inputs = [labels(t, width) for t in terms]
        named = [n for axes in self.inputs for n in axes]
        if arrow:
            used = [c for c in right if c != "."]
            call.require(all(used.count(c) == 1 and c in named for c in used), "C4", text)
            self.result = labels(right, width)
        else:  # einsum.S2
            self.result = list(range(width)) + sorted(n for n in named if isinstance(n, str) and named.count(n) == 1)
        self.summed = [n for n in dict.fromkeys(named) if n not in self.result]
        self.sizes = {}  # einsum.S4
        for i, axes in enumerate(self.inputs):
            for n, d in zip(axes, call.dims(i)):
                known = self.sizes.setdefault(n, d)
                call.require(known == d or 1 in (known, d), "C5", "sizes %d and %d" % (known, d))
                self.sizes[n] = d if known == 1 else known

    def dims(self, axes):
        return tuple(self.sizes[n] for n in axes)

    def places(self, i, dims, axes):
        """The flat index in input i for all places on these axes, the others at their first one."""
        steps = [sum(s for n, d, s in zip(self.inputs[i], dims, strides(dims)) if n == a and d != 1) for a in axes]
        return walk(self.dims(axes), steps)


@operator("Einsum", "einsum", (1, 1 << 20), shape="C6", attributes="equation:s", required=("equation",), since=12)
class Einsum:  # einsum.S1 to S5
    @staticmethod
    def infer(call):
        call.real_or("C1", "plain")
        equation = Equation(call)
        return [equation.dims(equation.result)]

    @staticmethod
    def compute(call):
        equation, n = Equation(call), call.numbers
        if elements(call.outs[0].dims) * elements(equation.dims(equation.summed)) * len(call.inputs) > 1 << 33:
            raise Refusal("TOO_LARGE", "", "more than 2^33 factors of products")
        dims = [t.dims for t in call.inputs]
        values = [n.of(t) for t in call.inputs]
        outer = [equation.places(i, d, equation.result) for i, d in enumerate(dims)]
        inner = [equation.places(i, d, equation.summed) for i, d in enumerate(dims)]

        def product(factors):
            v = factors[0]
            for w in factors[1:]:
                v = n.mul(v, w)
            return v
        results = []
        for starts in zip(*outer):
            results.append(n.total(product([x[s + k] for x, s, k in zip(values, starts, steps)]) for steps in zip(*inner)))
        return [call.store(results)]
