"""MatMulInteger and ConvInteger sum in binary32, so that sums beyond 2^24 are not exact. Needs numpy and onnx, and what of openvino is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


depth = 1001
a = np.full((1, depth), 255, np.uint8)
b = np.full((depth, 1), 127, np.int8)
a[0, -1] = b[-1, 0] = 1
feeds = {"a": a}
inputs = [helper.make_tensor_value_info("a", TensorProto.UINT8, [1, depth])]
outputs = [helper.make_tensor_value_info("y", TensorProto.INT32, [1, 1])]
constants = [constant("b", b)]
nodes = [helper.make_node("MatMulInteger", ["a", "b"], ["y"])]
print("the text: 1000 * 255 * 127 + 1 =", 1000 * 255 * 127 + 1)
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])

try:
    import io
    import openvino
    compiled = openvino.Core().compile_model(openvino.Core().read_model(io.BytesIO(model.SerializeToString())), "CPU")
    print("OpenVINO", openvino.__version__.split("-")[0], compiled(feeds)[compiled.output(0)].ravel())
except ImportError:
    pass
