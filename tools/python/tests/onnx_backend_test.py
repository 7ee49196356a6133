"""ONNX's backend tests on the reference, through onnx.backend.test.runner: its node tests, and the interface's own calls."""

import os
import re
import warnings

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
backend_test = pytest.importorskip("onnx.backend.test")
from qtx import onnx_backend  # noqa: E402  # after what it needs  pylint: disable=wrong-import-position

warnings.simplefilter("ignore")
# ONNX's node tests on the CPU. By default those of some operators, as all of them take minutes: QTX_NODE_TESTS=all.
CHOSEN = re.compile(r"test_.*_cpu" if os.environ.get("QTX_NODE_TESTS") == "all" else
                    r"test_(quantizelinear|dequantizelinear|qlinear|matmulinteger|convinteger|clip|sequence|optional)_.*_cpu")
TESTS = backend_test.BackendTest(onnx_backend.Backend, __name__).test_cases["OnnxBackendNodeModelTest"]
for name in [name for name in dir(TESTS) if name.startswith("test_") and not CHOSEN.fullmatch(name)]:
    delattr(TESTS, name)
OnnxBackendNodeModelTest = TESTS


def test_declines_are_raised_as_onnx_has_them():
    graph = onnx.helper.make_graph([onnx.helper.make_node("StringNormalizer", ["x"], ["y"])], "g",
                                   [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.STRING, [2])],
                                   [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.STRING, None)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    with pytest.raises(onnx_backend.BackendIsNotSupposedToImplementIt):
        onnx_backend.prepare(model)
    assert not onnx_backend.is_compatible(model)


# QuantizeLinear by 2 with offset 3 rounds 5 / 2 = 2.5 to even before the offset: 2 + 3 = 5.
def test_run_node():
    node = onnx.helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
    arrays = [np.float32([5]), np.float32(2), np.uint8(3)]
    y, = onnx_backend.run_node(node, arrays)
    assert y.dtype == np.uint8 and y.tolist() == [5]
    y, = onnx_backend.run_node(node, arrays, outputs_info=[(np.uint8, (1,))])
    assert y.tolist() == [5]


def test_supports_device():
    assert onnx_backend.supports_device("CPU") and not onnx_backend.supports_device("CUDA")
    with pytest.raises(ValueError, match="device: found 'CUDA'"):
        onnx_backend.prepare(onnx.ModelProto(), "CUDA")
