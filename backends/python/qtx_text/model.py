"""A model in the extended form: parsed, checked, and run node by node."""
from fractions import Fraction

from . import reals as R
from .control_flow import FORMS, check_bodies, read_bodies, run_bodies
from .ops import OPERATORS, Call, Deferred
from .quantization import HALVES, REALS, check_statistics, read_quantization
from .types import FLOAT, TYPES, Refusal, Tensor, byte_count, elements, invalid, pack, require, unpack, unsupported
from .values import Value, check_size, fits, read_tensor, type_of_code
from .wire import WireError, decode, encode

ATTRIBUTE_TYPES = {"f": 1, "i": 2, "s": 3, "t": 4, "g": 5, "fs": 6, "is": 7, "ss": 8, "st": 11}


def fit_into(count, dims, type_):
    """Whether `count` bytes hold a tensor of these dims, however many and large they are."""
    n = 0 if 0 in dims else 1
    for d in dims:
        n *= d
        if byte_count(type_, n) > count:
            return False
    return byte_count(type_, n) == count


class Imports:
    """The operator sets that a model imports, and the groups of its origins."""

    def __init__(self, m):
        """versioning.C1 to C5."""
        self.groups, self.imports = {}, {}
        for o in m.opset_import:
            domain = o.domain or ""
            domain = "" if domain == "ai.onnx" else domain
            version = o.version or 0
            require(self.imports.setdefault(domain, version) == version, "versioning.C4", "two versions of " + domain)
        self.qtx = self.imports.get("qtx")
        require(self.qtx is None or self.qtx in (1, 2, 3), "versioning.C2", "version %s of qtx" % self.qtx)
        self.opset = self.imports.get("", 0)
        require(self.opset <= 28, "versioning.C5", "opset %d" % self.opset)


class Graph:
    """The graph of a model, or a body: a graph that is an attribute of a node of the graph `around` (graph.S2)."""

    def __init__(self, graph, imports, arithmetic, around=None, above=frozenset()):
        """`above` are the names that are defined around the body's node."""
        self.graph, self.imports, self.arithmetic = graph, imports, arithmetic
        self.qtx, self.opset = imports.qtx, imports.opset
        self.around, self.above = around, above
        self.read_values()
        self.read_nodes()

    # Values.
    def read_value(self, info):
        name = info.name or ""
        if info.type is None:
            return None
        t = info.type.tensor_type
        if t is None:
            raise unsupported("value %s is no tensor" % name)
        if not t.elem_type:
            return None
        type_ = type_of_code(t.elem_type)
        shape = None
        if t.shape is not None:
            shape = [d.dim_value if d.dim_value is not None else d.dim_param or None for d in t.shape.dim]
            require(all(not isinstance(d, int) or d >= 0 for d in shape), "shape.C1", "a negative dimension of " + name)
        require(not type_.quantized or t.quantization is not None, "element_types.C2", name + " has no quantization")
        require(type_.quantized or type_.name in REALS or t.quantization is None, "element_types.C3", name)
        if t.quantization is not None or t.statistics is not None:
            require(shape is None or len(shape) <= 16, "shape.C2", name)
        if type_.quantized:
            require(self.qtx is not None, "versioning.C1", "the model does not import qtx")
        if t.quantization is not None and (t.quantization.scale_levels or t.quantization.base_levels):
            require(self.qtx is None or self.qtx >= 2, "versioning.C3", "levels need version 2")
        real_type = t.quantization is not None and t.quantization.real_type is not None
        if real_type or type_.name in HALVES and (t.quantization is not None or t.statistics is not None):
            require(self.qtx is None or self.qtx >= 3, "versioning.C3", "reals of 16 bits need version 3")
        if t.statistics is not None:
            check_statistics(t.statistics, type_, shape)
        return Value(name, type_, shape, t.quantization)

    def read_values(self):
        g = self.graph
        self.declared = {}
        if g.sparse_initializer:
            raise unsupported("sparse initializers")
        for info in [*g.input, *g.output, *g.value_info]:
            value = self.read_value(info)
            if value is None:
                continue
            old = self.declared.setdefault(value.name, value)
            require(old.same(value), "graph.C1", "%s is declared with two types" % value.name)
            if old.shape is None:
                old.shape = value.shape
        names = [i.name or "" for i in g.input]
        require(len(set(names)) == len(names), "graph.C1", "an input comes twice")
        protos = {}
        for p in g.initializer:
            require(p.name and p.name not in protos, "graph.C1", "initializer %s" % p.name)
            protos[p.name] = p
        self.inputs = [n for n in names if n not in protos]
        self.outputs = [o.name or "" for o in g.output]
        self.tensors = {}
        plain = {n: p for n, p in protos.items() if n not in self.declared or not self.declared[n].type.quantized}
        for name, p in plain.items():
            t = read_tensor(p, name=name)
            v = self.declared.get(name)
            if v is not None:
                require(v.type is t.type, "graph.C1", "initializer %s is of another type" % name)
                require(v.shape is None or fits(t.dims, v.shape), "graph.C1", "initializer %s has another shape" % name)
            t.initializer = True
            self.tensors[name] = t
        for name, v in self.declared.items():
            if v.message is not None:
                if name in protos and v.type.quantized:
                    require(v.shape is not None and all(isinstance(d, int) for d in v.shape), "shape.C4", name)
                encoded = name in protos and v.type.quantized and v.message.encoding is not None
                records = read_tensor(protos[name], name=name) if encoded else None
                v.quant, version = read_quantization(v.message, v.type, v.shape, self.all_tensors(), name in protos,
                                                     records)
                require(self.qtx is None or self.qtx >= version, "versioning.C3", "%s needs version %d" % (name, version))
        for name, p in protos.items():
            if name not in plain:
                self.tensors[name] = self.quantized_initializer(name, p, self.declared[name])

    def all_tensors(self):
        """Initializers by name, of this graph and those around it."""
        return self.tensors if self.around is None else {**self.around.all_tensors(), **self.tensors}

    def quantized_initializer(self, name, p, v):
        """element_types.C4, C5, S1, S2."""
        t = read_tensor(p, v.type, name)
        n = elements(v.shape)
        check_size(v.shape)
        if v.quant.encoding is not None:
            data = v.quant.encoding.read_codes(t.data)
        elif v.type.kind == "bipolar":
            require(t.type.name == "UINT8" and t.dims == ((n + 7) // 8,), "element_types.C4", name)
            data = unpack(v.type, t.data, n)
        else:
            require(t.type.code == v.type.storage, "element_types.C4", "%s is stored as %s" % (name, t.type))
            require(t.dims == tuple(v.shape), "element_types.C4", "%s has dims %s" % (name, t.dims))
            data = t.data
        if v.type.kind != "small":
            require(all(v.quant.lo <= s <= v.quant.hi for s in data), "element_types.C5", "a value of %s" % name)
        return Tensor(v.type, tuple(v.shape), data, v.quant, True)

    # Nodes.
    def read_nodes(self):
        own = set(self.inputs) | set(self.tensors)
        defined = own | self.above
        for name in self.inputs:
            require(self.around is not None or name in self.declared, "", "input %s has no type" % name)
        produced = {o for node in self.graph.node for o in node.output if o}
        self.nodes = []
        for k, node in enumerate(self.graph.node):
            where = node.name or "%s #%d" % (node.op_type, k)
            try:
                self.nodes.append((where, self.read_node(node, defined, produced)))
                own.update(o for o in node.output if o)
            except Refusal as e:
                e.where = e.where or where
                raise
        for name in self.outputs:
            require(name in own, "graph.C3", "output %s is not defined" % name)
            require(self.around is not None or name in self.declared or name in self.tensors, "",
                    "output %s has no type" % name)

    def read_node(self, node, defined, produced):
        for name in node.input:
            if name and name not in defined:
                raise invalid("graph.C2", "%s is %s" % (name, "defined later" if name in produced else "not defined"))
        for name in node.output:
            if name:
                require(name not in defined, "graph.C10" if name in self.above else "graph.C1",
                        "%s is defined twice" % name)
        # Its bodies read what stands before it.
        bodies = read_bodies(self, Graph, node, frozenset(defined)) if node.op_type in FORMS else None
        defined.update(name for name in node.output if name)
        self.check_origin(node)
        domain = "" if node.domain in (None, "ai.onnx") else node.domain
        if bodies is not None:
            require("" in self.imports.imports, "graph.C4", "the model does not import ai.onnx")
            return bodies, None, self.opset, list(node.input), list(node.output), None
        op = OPERATORS.get(node.op_type)
        if op is None or domain not in op.domains:
            raise unsupported("operator %s of domain '%s'" % (node.op_type, domain or "ai.onnx"))
        opset = self.opset
        if domain == "":
            require("" in self.imports.imports, "graph.C4", "the model does not import ai.onnx")
            require(opset >= op.since, "graph.C4", "opset %d has no %s" % (opset, op.name))
            if opset < op.form:
                raise unsupported("%s in the form of opset %d" % (op.name, opset))
        else:
            opset = max(opset, 28)
        least, most = op.inputs
        inputs = list(node.input)
        given = all(name or k in op.blank for k, name in enumerate(inputs[:least]))
        require(least <= len(inputs) <= most and given, "graph.C5", "%d inputs" % len(inputs))
        if most > 9:
            require(all(inputs), "graph.C5", "an input is left out")
        outputs = list(node.output)
        while len(outputs) > op.outputs[0] and not outputs[-1]:
            outputs.pop()
        if op.name == "TopK" and outputs and not outputs[0]:
            raise unsupported("TopK without values")
        require(op.outputs[0] <= len(outputs) <= op.outputs[1] and all(outputs[:op.outputs[0]]), "graph.C5",
                "%d outputs" % len(outputs))
        attrs = {}
        for a in node.attribute:
            name = a.name or ""
            require(name not in attrs, "graph.C6", "attribute %s comes twice" % name)
            require(name in op.attributes, "graph.C6", "attribute %s" % name)
            kind, since, before = op.attributes[name]
            own = {"Clip": "clip.C4", "Reshape": "reshape.C6"}
            clause = own.get(op.name, "graph.C6") if before < 1000 else "graph.C6"
            require(since <= opset < before, clause, "attribute %s at opset %d" % (name, opset))
            if a.ref_attr_name:
                raise unsupported("an attribute that refers to a function's")
            require(a.type == ATTRIBUTE_TYPES[kind], "graph.C6", "attribute %s has type %s" % (name, a.type))
            attrs[name] = {"f": a.f if a.f is not None else 0.0, "i": a.i or 0, "s": a.s or b"", "t": a.t,
                           "fs": a.floats,
                           "is": a.ints, "ss": a.strings, "g": a.g, "st": None}[kind]
        for name in op.required:
            clause = {"axis": "concat.C2", "blocksize": op.stem + ".C3", "to": "cast.C2",
                      "equation": "einsum.C2"}.get(name, "graph.C6")
            require(name in attrs, clause, "no " + name)
        origin = (node.origin.framework or "", node.origin.op_type or "") if node.origin else ("", "")
        return op, attrs, opset, inputs, outputs, origin, self.origin_integers(node.origin)

    @staticmethod
    def origin_integers(origin):
        found = (decode("ATTRIBUTE", data) for data in origin.attributes) if origin else ()
        return {a.name: a.i or 0 for a in found if a.type == ATTRIBUTE_TYPES["i"]}

    def check_origin(self, node):
        """origin.C1, C2."""
        o = node.origin
        if o is None:
            return
        require(o.framework and o.op_type, "origin.C1", "an origin without framework or op_type")
        if o.group:
            require(self.imports.groups.setdefault(o.group, encode("ORIGIN", o)) == encode("ORIGIN", o), "origin.C2",
                    "group " + o.group)

    def call(self, node, values):
        op, attrs, opset, inputs, outputs, origin, integers = node
        tensors = [values[i] if i else None for i in inputs]
        while len(tensors) > op.inputs[0] and tensors[-1] is None:
            tensors.pop()
        declared = [(v.type, v.shape, v.quant) if v else (None, None, None) for v in map(self.declared.get, outputs)]
        call = Call(op, op.stem, op.name, "", attrs, opset, self.arithmetic, tensors, declared, origin)
        call.origin_integers = integers
        call.blank = [not name for name in outputs]
        return call

    def prepare_call(self, call):
        """Shapes and types of the outputs; the constraints of the operator, of the format and of the arithmetic."""
        op = call.operator
        call.outs = [Tensor(t or call.inputs[0].type, None, None, q) for t, _,
                     q in call.declared] if call.inputs else []
        self.check_stock_types(call)
        result = op.infer(call)
        dims, types = result if isinstance(result, tuple) else (result, [None] * len(result))
        outs = []
        for (type_, shape, quant), d, own, blank in zip(call.declared, dims, types, call.blank):
            if type_ is None:
                type_ = own or call.inputs[0].type
                require(blank or not type_.quantized, "graph.C8", "an output is not declared")
                type_ = FLOAT if type_.quantized else type_
            if d is not None:
                d = tuple(d)
                check_size(d)
                if shape is not None and op.shape:
                    require(fits(d, shape), "%s.%s" % (op.stem, op.shape), "the shape is %s, declared %s" % (d, shape))
            outs.append(Tensor(type_, d, None, quant))
        call.outs = outs
        call.arithmetic.check(call)
        self.check_requantization(call)

    def check_stock_types(self, call):
        """graph.C7: without qtx operands and results have one type of ONNX's schema."""
        if self.qtx is not None or call.op in ("Cast", "CastLike", "QuantizeLinear", "DequantizeLinear", "QLinearConv",
                                               "QLinearMatMul",
                                               "BatchNormalization", "LayerNormalization", "ArgMax", "ArgMin", "Shape",
                                               "Constant", "Resize"):
            return
        operands = call.operator.operands(call)
        types = [call.inputs[i].type for i in operands if call.has(i)] + [t for t, *_ in call.declared[:1]
                                                                          if t is not None]
        if all(t.real for t in types):
            require(len(set(types)) <= 1, "graph.C7", "types %s in a model that does not import qtx" % types)

    def check_requantization(self, call):
        """requantization.C1, C3."""
        y = call.outs[0] if call.outs else None
        if y is None or y.quant is None or y.quant.requantization is None:
            return
        r = y.quant.requantization
        weights = call.input(1) if call.op in ("Conv", "Gemm", "MatMul", "ConvTranspose") else None
        count = len(weights.quant.scales) if weights is not None and weights.quant is not None else 1
        require(len(r.multiplier) in (1, count), "requantization.C1", "%d multipliers" % len(r.multiplier))
        x = call.input(0)
        if call.op in ("Conv", "Gemm",
                       "MatMul") and x.quant is not None and weights.quant is not None and x.quant.single:
            require(weights.quant.integer_form, "requantization.C3", "the weights have no integer form")
            alpha = Fraction(call.attr("alpha", 1.0)) if call.op == "Gemm" and R.is_finite(call.attr("alpha",
                                                                                                     1.0)) else 1
            for k, ws in enumerate(weights.quant.reals):
                m = k if len(r.multiplier) > 1 else 0
                declared = Fraction(r.multiplier[m], 2 ** 31) * R.pow2(-r.shift[m])
                wanted = x.quant.reals[0] * ws / y.quant.reals[k if len(y.quant.reals) > 1 and k < len(y.quant.reals)
                                                               else 0]
                require(abs(declared - wanted * alpha) * 2 ** 23 <= abs(wanted * alpha), "requantization.C3",
                        "%s instead of %s" % (float(declared), float(wanted)))

    def check(self, values):
        """Refuses what can be refused before the model runs. `values` are those that are known at first, with or without
        dims and data; afterwards all of them."""
        values.update(self.tensors)
        for where, node in self.nodes:
            try:
                for name, t in zip(node[4], self.check_node(node, values)):
                    values[name] = t
            except Refusal as e:
                e.where = e.where or where
                raise

    def check_node(self, node, values):
        if node[1] is None:
            return check_bodies(self, node, values)
        call = self.call(node, values)
        try:
            self.prepare_call(call)
            if all(t is None or t.dims is not None for t in [*call.inputs, *call.outs]):
                call.operator.plan(call)
        except Deferred:
            for t, (type_, shape, _) in zip(call.outs, call.declared):
                t.type = type_ or t.type
                if shape is not None and all(isinstance(d, int) for d in shape):
                    t.dims = tuple(shape)
        return call.outs

    # Running.
    def execute(self, values):
        """Computes the nodes; `values` hold the inputs, and what is around a body."""
        values.update(self.tensors)
        for where, node in self.nodes:
            try:
                for name, t in zip(node[4], self.execute_node(node, values)):
                    if name:
                        values[name] = t
            except Refusal as e:
                e.where = e.where or where
                raise
        return [values[name] for name in self.outputs]

    def execute_node(self, node, values):
        if node[1] is None:
            return run_bodies(self, node, values)
        call = self.call(node, values)
        try:
            self.prepare_call(call)
        except Deferred as e:
            raise unsupported("a shape that is not known") from e
        for t, name, data in zip(call.outs, node[4], call.operator.plan(call)()):
            if name:
                t.data = data
        return call.outs


class Model(Graph):
    def __init__(self, data, arithmetic):
        try:
            m = decode("MODEL", data)
        except WireError as e:
            raise invalid("", "the model is no ModelProto: %s" % e) from e
        require(m.graph is not None, "", "the model has no graph")
        super().__init__(m.graph, Imports(m), arithmetic)
        values = {}
        for name in self.inputs:
            v = self.declared[name]
            fixed = v.shape is not None and all(isinstance(d, int) for d in v.shape)
            if fixed:
                check_size(v.shape)
            values[name] = Tensor(v.type, tuple(v.shape) if fixed else None, None, v.quant)
        self.check(values)

    def run(self, tensors):
        require(len(tensors) == len(self.inputs), "backend_protocol.S9",
                "%d inputs, not %d" % (len(tensors), len(self.inputs)))
        values = {name: self.read_input(self.declared[name], m) for name, m in zip(self.inputs, tensors)}
        return [self.write_output(name, t) for name, t in zip(self.outputs, self.execute(values))]

    def read_input(self, v, m):
        """backend_protocol.S12 to S14; quantization.S5."""
        try:
            type_, dims, data, q = self.read_message(m)
        except WireError as e:
            raise Refusal("PROTOCOL", "backend_protocol.S14", str(e)) from e
        n, S13 = elements(dims), "backend_protocol.S13"
        require(v.shape is None or fits(dims, v.shape), S13, "input %s has dims %s" % (v.name, dims))
        if q is not None and type_ is v.type:
            given = q.scales, q.offsets, q.axis, q.block or [1] * len(q.axis)
            own = v.quant.scales, v.quant.offsets, v.quant.axis, v.quant.block or [1] * len(v.quant.axis)
            require(given == own or not v.quant.integer_form, S13, "input %s has other parameters" % v.name)
        numbers = unpack(type_, data, n)
        if type_ is v.type:
            return Tensor(type_, dims, numbers, v.quant)
        require(type_ is FLOAT and v.type.quantized, S13, "input %s is %s" % (v.name, type_))
        call = Call(OPERATORS["Cast"], "cast", "Cast", "", {"to": v.type.code}, 28, self.arithmetic,
                    [Tensor(FLOAT, dims, numbers)], [(v.type, None, v.quant)])
        call.outs = [Tensor(v.type, dims, None, v.quant)]
        return Tensor(v.type, dims, call.operator.plan(call)()[0], v.quant)

    @staticmethod
    def read_message(m):
        """The type, dims, data and parameters of a tensor that is well formed by itself (backend_protocol.S12, S13)."""
        def check(condition, message):
            if not condition:
                raise WireError(message)
        type_ = TYPES.get(m.elem_type or 0)
        check(type_ is not None and type_.bits, "elem_type %s" % m.elem_type)
        dims, data = tuple(m.dims), m.data or b""
        check(all(d >= 0 for d in dims), "a negative dimension")
        check(fit_into(len(data), dims, type_), "%d bytes of data" % len(data))
        check_size(dims)
        n = elements(dims)
        if type_.bits < 8 and n * type_.bits % 8:
            check(data[-1] >> n * type_.bits % 8 == 0, "unused bits are not 0")
        check(bool(m.quantization) == type_.quantized, "a quantization of %s" % type_)
        if not type_.quantized:
            return type_, dims, data, None
        q = decode("QUANTIZATION", m.quantization)
        check(not (q.scale_tensor or q.offset_tensor or q.scale_levels or q.base_levels or
                  q.code_book_tensor), "parameters are not inline")
        try:
            return type_, dims, data, read_quantization(q, type_, list(dims), {}, False)[0]
        except Refusal as e:
            raise WireError("%s: %s" % (e.clause, e.message)) from e

    def write_output(self, name, t):
        out = {"elem_type": t.type.code, "dims": list(t.dims), "data": pack(t.type, t.data)}
        if t.quant is not None:
            q = t.quant
            out["quantization"] = encode("QUANTIZATION", {
                "scale": q.scales, "offset": q.offsets if any(q.offsets) else [], "axis": q.axis,
                                                          "block_shape": q.block,
                "quant_min": q.lo if q.message.quant_min is not None else None,
                "quant_max": q.hi if q.message.quant_max is not None else None})
        return out
