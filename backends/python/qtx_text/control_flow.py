"""If, Loop and Scan (graph.S2 to S4, C10 to C12): nodes whose bodies are graphs. ONNX's definitions, If-19, Loop-19, Scan-19."""
from .types import TYPES, Refusal, Tensor, elements, invalid, require, unsupported
from .values import check_size, fits
from .wire import WireError, decode

FORMS = {"If": ("then_branch", "else_branch"), "Loop": ("body",), "Scan": ("body",)}
SCANS = ("num_scan_inputs", "scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions")


class Bodies:
    """The bodies of a node. `carried` values go from one iteration to the next; the first are input `first` of the node, and
    output `results` of the body."""

    def __init__(self, op, graphs, attributes, carried, first, results):
        self.op, self.graphs, self.attributes = op, graphs, attributes
        self.carried, self.first, self.results = carried, first, results

    def listed(self, name, i):
        """Entry i of an attribute of Scan, whose entries are 0 where it is not given."""
        values = self.attributes.get(name, [])
        return values[i] if i < len(values) else 0


def read_bodies(around, make, node, defined):
    """`make` makes a body of a graph; `defined` are the names that it may read."""
    op = node.op_type
    if op == "Scan" and around.opset < 9:
        raise unsupported("Scan in the form of opset %d" % around.opset)
    graphs, attributes = {}, {}
    for a in node.attribute:
        if a.name in FORMS[op]:
            require(a.g is not None and a.name not in graphs, "graph.C6", "attribute %s" % a.name)
            try:
                graphs[a.name] = make(decode("GRAPH", a.g), around.imports, around.arithmetic, around, defined)
            except WireError as e:
                raise invalid("", "attribute %s is no graph: %s" % (a.name, e)) from e
        else:
            require(op == "Scan" and a.name in SCANS and a.name not in attributes, "graph.C6", "attribute %s" % a.name)
            attributes[a.name] = a.i or 0 if a.name == "num_scan_inputs" else list(a.ints)
    require(len(graphs) == len(FORMS[op]), "graph.C6", "a body is missing")
    inputs, outputs = len(node.input), len(node.output)
    carried, first, results = 0, 0, 0
    if op == "If":
        require(inputs == 1, "graph.C5", "%d inputs" % inputs)
    elif op == "Loop":
        require(inputs >= 2, "graph.C5", "%d inputs" % inputs)
        carried, first, results = inputs - 2, 2, 1
    else:
        scanned = attributes.get("num_scan_inputs", 0)
        require(1 <= scanned <= inputs, "graph.C11", "num_scan_inputs is %d of %d" % (scanned, inputs))
        carried = inputs - scanned
    require(outputs >= carried, "graph.C5", "%d outputs" % outputs)
    for body in graphs.values():
        require(len(body.inputs) == (0 if op == "If" else inputs), "graph.C11", "a body has %d inputs" % len(body.inputs))
        require(len(body.outputs) == outputs + results, "graph.C11", "a body has %d outputs" % len(body.outputs))
    return Bodies(op, [graphs[name] for name in FORMS[op]], attributes, carried, first, results)


def require_equal(type_, quant, other, other_quant, cut=False):
    """graph.C12: what moves keeps its type; what is `cut` or stacked has one scale."""
    require(type_ is other, "graph.C12", "%s becomes %s" % (type_, other))
    if not type_.quantized:
        return
    require(quant is not None and other_quant is not None, "graph.C12", "a quantized value without declaration")
    for q in (quant, other_quant):
        require(q.integer_form and (q.single or not cut), "graph.C12", "no integer form, or several scales of what is cut")
    one, two = ((q.scales, q.offsets, q.axis, q.block or [1] * len(q.axis), q.lo, q.hi) for q in (quant, other_quant))
    require(one == two, "graph.C12", "a value has other parameters")


def enter(body, name, value, cut=False):
    """A value as an input of a body, which may declare it."""
    declared = body.declared.get(name)
    if declared is None:
        require(not value.type.quantized, "graph.C12", "%s is not declared" % name)
        return value
    require_equal(value.type, value.quant, declared.type, declared.quant, cut)
    require(value.dims is None or declared.shape is None or fits(value.dims, declared.shape), "graph.C9",
            "input %s has dims %s, declared %s" % (name, value.dims, declared.shape))
    if value.dims is None and declared.shape is not None and all(isinstance(d, int) for d in declared.shape):
        return Tensor(value.type, tuple(declared.shape), None, value.quant)
    return value


def result(graph, name, value, cut=False):
    """A value as an output of the node, which the graph around it may declare."""
    declared = graph.declared.get(name)
    if declared is None:
        require(not name or not value.type.quantized, "graph.C12", "%s is not declared" % name)
        return value
    require_equal(value.type, value.quant, declared.type, declared.quant, cut)
    require(value.dims is None or declared.shape is None or fits(value.dims, declared.shape), "graph.C9",
            "output %s has dims %s, declared %s" % (name, value.dims, declared.shape))
    return value


def axis_of(axis, rank):
    require(-rank <= axis < rank, "graph.C9", "axis %d of rank %d" % (axis, rank))
    return axis + rank if axis < 0 else axis


# Before the model runs.
def check_bodies(graph, node, values):
    bodies, _, _, inputs, outputs, _ = node
    around = {name: t if t.initializer else Tensor(t.type, None, None, t.quant) for name, t in values.items()}
    found = []
    for body in bodies.graphs:
        inside = dict(around)
        for i, name in enumerate(body.inputs):
            inside[name] = enter(body, name, moved(bodies, i, values, inputs), cut=is_cut(bodies, i))
        body.check(inside)
        found.append([declared_as(body, name, inside[name]) for name in body.outputs][bodies.results:])
    outs = []
    for k, name in enumerate(outputs):
        for result_of_one in found:
            value = result_of_one[k]
            stacked = bodies.op != "If" and k >= bodies.carried
            if bodies.op != "If" and not stacked:
                first = values[inputs[bodies.first + k]]
                require_equal(first.type, first.quant, value.type, value.quant)
            result(graph, name, Tensor(value.type, None, None, value.quant), stacked)
        outs.append(Tensor(value.type, None, None, value.quant))
    return outs


def declared_as(body, name, value):
    declared = body.declared.get(name)
    return value if declared is None else Tensor(declared.type, value.dims, None, declared.quant)


def is_cut(bodies, i):
    return bodies.op == "Scan" and i >= bodies.carried


def moved(bodies, i, values, inputs):
    """What is known of input i of a body: its type alone, since sizes may change."""
    if bodies.op == "Loop" and i < 2:
        return Tensor(TYPES[7 if i == 0 else 9], (), None, None)
    t = values[inputs[i]]
    return Tensor(t.type, None, None, t.quant)


# Running.
def run_bodies(graph, node, values):
    bodies, _, _, inputs, outputs, _ = node
    given = [values[name] if name else None for name in inputs]
    if bodies.op == "If":
        branch = bodies.graphs[0 if holds(given[0]) else 1]
        found = branch.execute(dict(values))
    else:
        found = iterate(graph, bodies, outputs, values, given)
    return [result(graph, name, t) for name, t in zip(outputs, found)]


def holds(condition):
    require(condition.type.name == "BOOL" and len(condition.data) == 1, "", "a condition is %s" % condition.type)
    return condition.data[0] != 0


def iterate(graph, bodies, outputs, values, given):
    body, carried = bodies.graphs[0], given[bodies.first:bodies.first + bodies.carried]
    stacks = [[] for _ in outputs[bodies.carried:]]
    size = 0
    for others in (turns_of_loop if bodies.op == "Loop" else turns_of_scan)(bodies, given):
        entering = [*others.before, *carried, *others.after]
        inside = dict(values)
        for i, (name, t) in enumerate(zip(body.inputs, entering)):
            inside[name] = enter(body, name, t, is_cut(bodies, i))
        found = body.execute(inside)
        others.found = found
        carried = found[bodies.results:][:bodies.carried]
        for stack, t in zip(stacks, found[bodies.results + bodies.carried:]):
            stack.append(t)
            size += elements(t.dims)
        check_size((size,))
    return carried + [stacked(graph, bodies, k, stack, outputs[bodies.carried + k]) for k, stack in enumerate(stacks)]


class Turn:
    """What an iteration has beside the carried values, and then what its body gave."""

    def __init__(self, before=(), after=()):
        self.before, self.after, self.found = before, after, None


def turns_of_loop(bodies, given):
    trips, condition = given[:2]
    require(trips is None or len(trips.data) == 1, "", "a trip count of %s elements" % (trips and len(trips.data)))
    goes_on, i = condition is None or holds(condition), 0
    while goes_on and (trips is None or i < trips.data[0]):
        turn = Turn(before=(Tensor(TYPES[7], (), [i]), Tensor(TYPES[9], (), [1])))
        yield turn
        goes_on, i = condition is None or holds(turn.found[0]), i + 1


def turns_of_scan(bodies, given):
    sequences = given[bodies.carried:]
    axes = [axis_of(bodies.listed("scan_input_axes", i), len(t.dims)) for i, t in enumerate(sequences)]
    length = sequences[0].dims[axes[0]]
    require(all(t.dims[a] == length for t, a in zip(sequences, axes)), "graph.C9", "sequences of several lengths")
    for k in range(length):
        yield Turn(after=[cut(t, a, length - 1 - k if bodies.listed("scan_input_directions", i) else k)
                          for i, (t, a) in enumerate(zip(sequences, axes))])


def cut(t, axis, k):
    inner, step = elements(t.dims[axis + 1:]), elements(t.dims[axis:])
    data = [v for o in range(elements(t.dims[:axis])) for v in t.data[o * step + k * inner:o * step + (k + 1) * inner]]
    return Tensor(t.type, (*t.dims[:axis], *t.dims[axis + 1:]), data, t.quant)


def stacked(graph, bodies, k, parts, name):
    if not parts:  # what the output does not declare of its shape is 0
        declared = graph.declared.get(name)
        if declared is None:
            raise unsupported("no iteration, and output %s is not declared" % name)
        shape = [0] if declared.shape is None else declared.shape
        dims = [d if isinstance(d, int) else 0 for d in shape]
        if dims:
            dims[axis_of(bodies.listed("scan_output_axes", k), len(dims))] = 0
        return Tensor(declared.type, tuple(dims), [], declared.quant)
    if bodies.op == "Scan" and bodies.listed("scan_output_directions", k):
        parts = parts[::-1]
    first = parts[0]
    axis = axis_of(bodies.listed("scan_output_axes", k), len(first.dims) + 1)
    for i, t in enumerate(parts):
        if t.dims != first.dims:
            raise Refusal("INVALID", "", "iteration %d gives dims %s, the first gave %s" % (i, t.dims, first.dims))
    step = elements(first.dims[axis:])
    data = [v for o in range(elements(first.dims[:axis])) for t in parts for v in t.data[o * step:(o + 1) * step]]
    return Tensor(first.type, (*first.dims[:axis], len(parts), *first.dims[axis:]), data, first.quant)
