"""The places of an ONNX file where quantization could be written: each puts a mark there and looks for it again.

The mark is looked for where it was put, by the name of the value, node or tensor that has it: a mark that turns up
elsewhere is lost to whoever reads it. A tool may put a prefix before a name.
"""
from dataclasses import dataclass
from typing import Callable

import onnx
from onnx import TensorProto, helper, numpy_helper
import numpy as np

MARK = "qtx_mark"
VALUE, NODE, WEIGHT = "hidden", "product", "weight"
FIELD = 1001
FLOAT = TensorProto.FLOAT


@dataclass(frozen=True)
class Carrier:
    name: str
    put: Callable
    found: Callable


def base(opset=17, function=False):
    """x -> Add weight -> hidden -> Abs -> y; with `function`, Abs is called in a local function."""
    value = lambda name: helper.make_tensor_value_info(name, FLOAT, [1, 4])
    last = helper.make_node("Twice" if function else "Abs", [VALUE], ["y"], name="last",
                            domain="local" if function else "")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", WEIGHT], [VALUE], name=NODE), last], "net", [value("x")], [value("y")],
        [numpy_helper.from_array(np.ones((1, 4), np.float32), WEIGHT)], value_info=[value(VALUE)])
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("local", 1)] if function else [])
    functions = [helper.make_function("local", "Twice", ["a"], ["b"], [helper.make_node("Abs", ["a"], ["b"])],
                                      [helper.make_opsetid("", opset)])] if function else []
    # 10 is the first IR version with metadata_props everywhere; an older onnx writes its own.
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=min(10, onnx.IR_VERSION))


def _named(items, name):
    return next((item for item in items if item.name.split("/")[-1] == name), None)


def _value(model):
    return _named([*model.graph.value_info, *model.graph.input, *model.graph.output], VALUE)


def _input(model):
    return _named(model.graph.input, "x")


def _node(model):
    return next((node for node in model.graph.node if node.op_type == "Add"), None)


def _weight(model):
    return _named(model.graph.initializer, WEIGHT)


def _put_field(message):
    """Field 1001, of wire type 2, which the installed onnx does not know."""
    key, payload = FIELD << 3 | 2, MARK.encode()
    message.MergeFromString(bytes([key & 0x7F | 0x80, key >> 7, len(payload)]) + payload)


def _has_field(message):
    return message is not None and MARK.encode() in message.SerializeToString()


def _unknown(name, of):
    return Carrier(f"unknown field of {name}", lambda m: _put_field(of(m)), lambda m: _has_field(of(m)))


def _metadata(name, of):
    def put(model):
        entry = of(model).metadata_props.add()
        entry.key, entry.value = MARK, MARK

    return Carrier(f"`metadata_props` of {name}", put,
                   lambda m: of(m) is not None and any(p.key == MARK for p in of(m).metadata_props))


def _doc_string(name, of):
    return Carrier(f"`doc_string` of {name}", lambda m: setattr(of(m), "doc_string", MARK),
                   lambda m: of(m) is not None and of(m).doc_string == MARK)


def _put_annotation(model):
    annotation = model.graph.quantization_annotation.add()
    annotation.tensor_name = VALUE
    entry = annotation.quant_parameter_tensor_names.add()
    entry.key, entry.value = "SCALE_TENSOR", WEIGHT


def _annotated(model):
    return any(a.tensor_name.split("/")[-1] == VALUE and a.quant_parameter_tensor_names
               for a in model.graph.quantization_annotation)


def _denote(model):
    _value(model).type.denotation = MARK


def _denoted(model):
    return _value(model) is not None and _value(model).type.denotation == MARK


def _put_attribute(model):
    _node(model).attribute.append(helper.make_attribute(MARK, 1))


def _has_attribute(model):
    return _node(model) is not None and any(a.name == MARK for a in _node(model).attribute)


def _insert(model, nodes):
    """Puts nodes between the value and who reads it, so that they end in `after`."""
    del model.graph.node[1:]
    model.graph.node.extend([*nodes, helper.make_node("Abs", ["after"], ["y"], name="last")])


def _put_custom_node(model):
    _insert(model, [helper.make_node("Quant", [VALUE], ["after"], domain=MARK)])
    model.opset_import.append(helper.make_opsetid(MARK, 1))


def _put_qdq(model):
    model.graph.initializer.append(numpy_helper.from_array(np.float32(0.5), "scale"))
    model.graph.initializer.append(numpy_helper.from_array(np.int8(3), "zero_point"))
    _insert(model, [helper.make_node("QuantizeLinear", [VALUE, "scale", "zero_point"], ["stored"]),
                    helper.make_node("DequantizeLinear", ["stored", "scale", "zero_point"], ["after"])])


def _has_qdq(model):
    return {"QuantizeLinear", "DequantizeLinear"} <= {node.op_type for node in model.graph.node}


def _put_type(code):
    return lambda m: setattr(_value(m).type.tensor_type, "elem_type", code)


def _has_type(code):
    return lambda m: _value(m) is not None and _value(m).type.tensor_type.elem_type == code


def _put_opaque(model):
    _value(model).type.opaque_type.domain, _value(model).type.opaque_type.name = MARK, "int8q"


def _has_opaque(model):
    return _value(model) is not None and _value(model).type.HasField("opaque_type")


def _names(model):
    """A file beside the model can only name what is in it."""
    names = {v for node in model.graph.node for v in node.output}
    return VALUE in names and _weight(model) is not None and _weight(model).name == WEIGHT


CARRIERS = [
    _unknown("the `TypeProto.Tensor` of an input", lambda m: _input(m) and _input(m).type.tensor_type),
    _unknown("the `TypeProto.Tensor` of a value between nodes", lambda m: _value(m) and _value(m).type.tensor_type),
    _unknown("`TensorProto`", _weight),
    _unknown("`NodeProto`", _node),
    _unknown("`ModelProto`", lambda m: m),
    _metadata("`ValueInfoProto`", _value),
    _metadata("`TensorProto`", _weight),
    _metadata("`NodeProto`", _node),
    _metadata("`GraphProto`", lambda m: m.graph),
    _metadata("`ModelProto`", lambda m: m),
    _doc_string("`ValueInfoProto`", _value),
    _doc_string("`NodeProto`", _node),
    Carrier("`quantization_annotation`", _put_annotation, _annotated),
    Carrier("`TypeProto.denotation`", _denote, _denoted),
    Carrier("further attribute of a stock node", _put_attribute, _has_attribute),
    Carrier("node of another domain (as QONNX's Quant)", _put_custom_node,
            lambda m: any(node.domain == MARK for node in m.graph.node)),
    Carrier("file beside the model, by names", lambda m: None, _names),
    Carrier("`TypeProto.Opaque`", _put_opaque, _has_opaque),
    Carrier("`elem_type` 60, as a code per scheme", _put_type(60), _has_type(60)),
    Carrier("`elem_type` 1003 (INT8Q)", _put_type(1003), _has_type(1003)),
    Carrier("QuantizeLinear and DequantizeLinear", _put_qdq, _has_qdq),
]
