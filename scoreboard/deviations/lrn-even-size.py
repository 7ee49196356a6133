"""The window of an LRN of even size lies one channel too low. Needs numpy and onnx, and what of openvino is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

feeds = {"x": np.float32([1, 2, 3, 4]).reshape(1, 4, 1, 1)}
inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in feeds.items()]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 1, 1])]
constants = []
nodes = [helper.make_node("LRN", [*feeds], ["y"], size=2, alpha=2.0, beta=1.0, bias=1.0)]
print("the text: 1 / (1 + 1 + 4), 2 / (1 + 4 + 9), 3 / (1 + 9 + 16), 4 / (1 + 16) =", [1 / 6, 2 / 14, 3 / 26, 4 / 17])
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])

try:
    import io
    import openvino
    compiled = openvino.Core().compile_model(openvino.Core().read_model(io.BytesIO(model.SerializeToString())), "CPU")
    print("OpenVINO", openvino.__version__.split("-")[0], compiled(feeds)[compiled.output(0)].ravel())
except ImportError:
    pass
