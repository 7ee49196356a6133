"""What operators have in common: the call of a node, its attributes, type rules, broadcasting."""
from ..arithmetic import EXACT
from ..types import Tensor, elements, require, strides, unsupported


class Deferred(Exception):
    """A shape or a value is not known before the model runs."""


class Call:
    """One node with its inputs (tensors or None), declared outputs and the arithmetic in force."""

    def __init__(self, operator, stem, op, name, attrs, opset, arithmetic, inputs, declared, origin=("", "")):
        self.operator, self.stem, self.op, self.name, self.attrs, self.opset = operator, stem, op, name, attrs, opset
        self.arithmetic, self.inputs, self.declared, self.origin = arithmetic, inputs, declared, origin
        self.origin_integers = {}  # attributes of the origin
        self.outs, self.moved, self.plan = [], [], None

    def origin_integer(self, framework, name, otherwise):
        return self.origin_integers.get(name, otherwise) if self.origin[0] == framework else otherwise

    def clause(self, number):
        return "%s.%s" % (self.stem, number)

    def require(self, condition, number, message=""):
        require(condition, self.clause(number), message)

    def has(self, i):
        return i < len(self.inputs) and self.inputs[i] is not None

    def input(self, i):
        return self.inputs[i] if i < len(self.inputs) else None

    def dims(self, i):
        d = self.inputs[i].dims
        if d is None or None in d:
            raise Deferred()
        return d

    def values(self, i):
        """The numbers of an input that shapes depend on."""
        if self.inputs[i].data is None:
            raise Deferred()
        return self.inputs[i].data

    def parameters(self, *indices):
        """Defers the call until the values of these inputs, which are parameters, are known."""
        for i in indices:
            if self.has(i):
                self.values(i)

    def attr(self, name, default=None):
        return self.attrs.get(name, default)

    def text(self, name, default):
        value = self.attrs.get(name)
        return default if value is None else value.decode("utf-8", "replace")

    @property
    def numbers(self):
        return self.effective().numbers

    def store(self, numbers, positions=None):
        """Numbers as elements of output 0."""
        return self.effective().store(self.outs[0], numbers, positions)

    def effective(self):
        """The arithmetic in force; results of plain types are exact in every one (exact.S10)."""
        real = self.outs[0].type.real and all(t is None or not t.type.plain or self.op in ("Cast", "CastLike", "Pow")
                                              or i not in self.operator.operands(self)
                                              for i, t in enumerate(self.inputs))
        return self.arithmetic if real else EXACT

    def plan_kernel(self, kernel, **info):
        """Asks the arithmetic for a kernel of its own; operands without an integer form have none but ggml's
        (quantization.S8), which looks itself, and none of reals of 16 bits have (S13)."""
        arithmetic = self.effective()
        if any(t is not None and t.quant is not None and t.quant.half for t in [*self.inputs, self.outs[0]]):
            return None
        if any(t is not None and t.quant is not None and not t.quant.integer_form for t in self.inputs) and not (
                kernel == "products" and arithmetic.scales_may_be_signed):
            return None
        quantized = any(t is not None and t.quant is not None for t in [*self.inputs, self.outs[0]])
        if not quantized and kernel != "log_softmax" and not (kernel == "products" and self.origin[0] == "tflite"):
            return None
        return arithmetic.plan(kernel, self, **info)

    # Type rules.
    def real_or(self, number, *also, operands=None, results=None):
        """All operands and results are real, or have one type that `also` allows: plain, DOUBLE, BOOL, integer."""
        types = [t.type for t in (operands if operands is not None else self.inputs) if t is not None]
        types += [t for t, *_ in (results if results is not None else self.declared) if t is not None]
        if all(t.real for t in types):
            return
        one = all(t is types[0] for t in types)
        t = types[0]
        allowed = ("plain" in also and t.plain or "DOUBLE" in also and t.code == 11 or "BOOL" in also and t.code == 9
                   or "integer" in also and t.kind == "int" and t.plain)
        self.require(one and allowed, number, "types " + ", ".join(t.name for t in types))

    def follows(self, number, *inputs):
        """Results are real operands when the inputs are, else they have their type."""
        types = [self.inputs[i].type for i in inputs] + [t for t, *_ in self.declared if t is not None]
        ok = all(t.real for t in types) or all(t is types[0] for t in types)
        self.require(ok, number, "types " + ", ".join(t.name for t in types))
        self.supported(*inputs)

    def supported(self, *inputs):
        for i in inputs:
            if self.inputs[i].type.kind in ("string", "complex"):
                raise unsupported("type " + self.inputs[i].type.name)

    def axis(self, number, default, rank, name="axis", beyond=0):
        """A negative axis counts from the end."""
        a = self.attr(name, default)
        self.require(-rank <= a < rank + beyond, number, "axis %d of rank %d" % (a, rank))
        return a + rank if a < 0 else a

    def axes(self, number, values, rank):
        out = []
        for a in values:
            self.require(-rank <= a < rank, number, "axis %d of rank %d" % (a, rank))
            out.append(a + rank if a < 0 else a)
        self.require(len(set(out)) == len(out), number, "an axis is named twice")
        return out

    def integers(self, i, number, rank=1, types=("INT64",)):
        """The values of an INT64 input of rank 1."""
        t = self.inputs[i]
        self.require(t.type.name in types, number, "input %d is %s" % (i, t.type.name))
        self.require(t.dims is None or len(t.dims) == rank or rank == 1 and None, number, "input %d is no list" % i)
        return self.values(i)


class Operator:
    """The functions of an operator: `infer` gives the dims of the outputs, `plan` a function that computes them."""

    def __init__(self, name, stem, infer, plan, inputs, outputs=(1, 1), attributes="", shape="", operands=None,
                 required=(),
                 since=1, form=1, domains=("",)):
        self.name, self.stem, self.infer, self.plan = name, stem, infer, plan
        self.inputs, self.outputs, self.shape = inputs, outputs, shape
        self.attributes = {}
        for entry in attributes.split():  # name:type, name:type:least opset, name:type:least:beyond
            parts = entry.split(":")
            self.attributes[parts[0]] = (parts[1], int(parts[2]) if len(parts) > 2 else 1,
                                         int(parts[3]) if len(parts) > 3 else 1000)
        self.form = form  # the least opset whose form of the node the section has
        self.blank = set()  # optional inputs among the first ones
        self._operands, self.required, self.since, self.domains = operands, required, since, domains

    def operands(self, call):
        return range(len(call.inputs)) if self._operands is None else self._operands


OPERATORS = {}


def planned(compute, moved=None, kernel=None):
    """A plan: the kernel of the arithmetic where kernel(call) gives one, else compute(call); moved(call) are the
    operands whose elements the operator moves."""
    def plan(call):
        if moved:
            call.moved = moved(call)
            call.plan_kernel("move")
        own = kernel(call) if kernel else None
        return (lambda: [own()]) if own else lambda: compute(call)
    return plan


def operator(name, stem, inputs, **options):
    """Registers a class with the functions infer and plan, or in the place of plan those that `planned` takes."""
    def register(cls):
        plan = cls.plan if hasattr(cls, "plan") else planned(cls.compute, getattr(cls, "moved", None),
                                                             getattr(cls, "kernel", None))
        OPERATORS[name] = Operator(name, stem, cls.infer, plan, inputs, **options)
        return cls
    return register


# Broadcasting and indices.
def broadcast(call, number, *shapes):
    rank = max(len(s) for s in shapes)
    out = []
    for k in range(rank):
        sizes = {s[len(s) - rank + k] for s in shapes if len(s) - rank + k >= 0} - {1}
        call.require(len(sizes) <= 1, number, "shapes %s" % (shapes,))
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)


def broadcast_index(dims, to):
    """For each element of the shape `to` the flat index in a tensor of `dims`."""
    if dims == to:
        return range(elements(to))
    steps = [0] * (len(to) - len(dims)) + [0 if d == 1 else s for d, s in zip(dims, strides(dims))]
    return walk(to, steps)


def walk(dims, steps, start=0):
    """start + the sum of coordinate * step, for all coordinates in row-major order."""
    out = [start]
    for d, s in zip(dims, steps):
        out = [base + k * s for base in out for k in range(d)]
    return out


def lines(dims, axis, count=1):
    """The lists of flat indices along `count` axes from `axis` on (row-major), one list a line."""
    steps = strides(dims)
    inside = walk(dims[axis:axis + count], steps[axis:axis + count])
    outer = walk(dims[:axis] + dims[axis + count:], steps[:axis] + steps[axis + count:])
    return [[o + i for i in inside] for o in outer]


def result_tensor(type_, dims, quant):
    return Tensor(type_, dims, None, quant)
