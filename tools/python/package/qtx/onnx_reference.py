"""The exact reference's operators inside onnx.reference: other operators can be put beside them, or in their place.

    import onnx.reference
    import qtx.onnx_reference
    model = qtx.load("model.tflite")
    evaluator = qtx.onnx_reference.evaluator(model, "tflite")
    values = evaluator.run(None, {"x": x}, intermediate=True)   # quantized values are arrays of their storage type

onnx.reference walks the graph and keeps the values; each node is computed by a qtx.Interpreter of it alone.
"""

import onnx
import onnx.reference
from onnx.reference.op_run import OpRun

import qtx
from qtx._model import ModelLike


def evaluator(model: ModelLike, arithmetic: str = "exact", new_ops=(), **options) -> onnx.reference.ReferenceEvaluator:
    """An onnx.reference.ReferenceEvaluator of a model, with the operators that the reference has in `arithmetic`.

    `new_ops`: classes of operators, as ReferenceEvaluator takes them, which come before ours. `options` are its others.
    Raises qtx.Error for a model that breaks a rule.
    """
    proto = onnx.ModelProto.FromString(qtx.infer(model).to_bytes())
    own = {(one.op_domain, one.__name__) for one in new_ops}
    ours = [one for one in operators(proto, arithmetic) if (one.op_domain, one.__name__) not in own]
    return onnx.reference.ReferenceEvaluator(proto, new_ops=[*new_ops, *ours], **options)


def operators(model: onnx.ModelProto, arithmetic: str = "exact") -> list[type[OpRun]]:
    """A class for each operator of the model's graph that has no body, for `new_ops` of a ReferenceEvaluator of this model.

    Types with their parameters are those that the model declares: `qtx.infer` declares all. A class raises qtx.Error when it
    is instantiated for a node that the reference does not compute.
    """
    declared = {value.name: value for value in [*model.graph.input, *model.graph.value_info, *model.graph.output]}
    constants = {tensor.name: tensor for tensor in model.graph.initializer}

    class Operator(OpRun):
        """A node on the reference."""

        def __init__(self, onnx_node, run_params, schema=None):
            super().__init__(onnx_node, run_params, schema)
            graph = onnx.GraphProto(name="node", node=[onnx_node])
            names = dict.fromkeys(name for name in onnx_node.input if name)
            graph.initializer.extend(constants[name] for name in names if name in constants)
            graph.value_info.extend(declared[name] for name in names if name in constants and name in declared)
            graph.input.extend(_value(name, declared) for name in names if name not in constants)
            graph.output.extend(_value(name, declared) for name in onnx_node.output if name)
            one = onnx.ModelProto(ir_version=model.ir_version, graph=graph, opset_import=model.opset_import)
            self._interpreter = qtx.Interpreter(one, arithmetic)

        def _run(self, *args, **kwargs):
            del kwargs  # the node has them
            given = dict(zip(self.onnx_node.input, args))
            results = self._interpreter.run({value.name: given[value.name] for value in self._interpreter.model.inputs})
            values = (results[name] if name else None for name in self.onnx_node.output)
            return tuple(value.stored if isinstance(value, qtx.Tensor) else value for value in values)

    kinds = {(node.domain, node.op_type) for node in model.graph.node
             if not any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)}
    return [type(op_type, (Operator,), {"op_domain": domain, "__doc__": f"{op_type} on the reference."})
            for domain, op_type in sorted(kinds)]


def _value(name, declared):
    """The declaration of a value. Raises qtx.Error where the model has none."""
    if name not in declared:
        raise qtx.Error("found no declared type, expected one; qtx.infer declares what follows", f"value {name!r}")
    return declared[name]
