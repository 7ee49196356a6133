"""The reference's operators inside onnx.reference."""

import numpy as np
import pytest

import qtx
from models import INT4Q, add, model, node, quantization, value

onnx = pytest.importorskip("onnx")
from qtx import onnx_reference  # noqa: E402  # after what it needs  pylint: disable=wrong-import-position


# Each (1 + 2) / 2 = 1.5 becomes 2, to even, plus the offset 3; 127 + 127 = 254, / 2 + 3 saturates.
def test_add_by_hand():
    evaluator = onnx_reference.evaluator(add(1, 2))
    y, = evaluator.run(None, {"a": np.int8([[1, 127]]), "b": np.int8([[2, 127]])})
    assert y.dtype == np.int8 and y.tolist() == [[5, 127]]


def two_nodes(elem_type):
    """u = x + x over scales 1, y = Relu(u)."""
    one = quantization([1])
    return model([node("Add", ["x", "x"], ["u"]), node("Relu", ["u"], ["y"])], [value("x", elem_type, [3], one)],
                 [value("y", elem_type, [3], one)], [value("u", elem_type, [3], one)])


def test_values_between_and_small_types():
    values = onnx_reference.evaluator(two_nodes(INT4Q)).run(None, {"x": np.int8([-2, 3, 5])}, intermediate=True)
    assert values["u"].tolist() == [-4, 6, 7] and values["y"].tolist() == [0, 6, 7]


def test_operators_of_others_come_first():
    class Relu(onnx.reference.op_run.OpRun):
        """Adds 1."""

        op_domain = ""

        def _run(self, x):
            return (x + np.int8(1),)

    y, = onnx_reference.evaluator(two_nodes(INT4Q), new_ops=[Relu]).run(None, {"x": np.int8([-2, 3, 3])})
    assert y.tolist() == [-3, 7, 7]


def test_what_the_reference_does_not_compute_is_named():
    text = onnx.TensorProto.STRING
    graph = onnx.helper.make_graph([onnx.helper.make_node("StringNormalizer", ["x"], ["y"])], "g",
                                   [onnx.helper.make_tensor_value_info("x", text, [2])],
                                   [onnx.helper.make_tensor_value_info("y", text, [2])])
    strings = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)])
    with pytest.raises(qtx.Error, match="StringNormalizer") as fault:
        onnx_reference.evaluator(strings)
    assert fault.value.code == "unsupported"
