"""BitShift to the left saturates. Needs numpy and onnx, and what of openvino, onnxruntime is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

feeds = {"a": np.uint8([200, 1]), "b": np.uint8([1, 3])}
inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in feeds.items()]
outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [2])]
constants = []
nodes = [helper.make_node("BitShift", [*feeds], ["y"], direction="LEFT")]
print("the text: the low 8 bits of 400, and 8 =", [400 & 255, 8])
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])

try:
    import io
    import openvino
    compiled = openvino.Core().compile_model(openvino.Core().read_model(io.BytesIO(model.SerializeToString())), "CPU")
    print("OpenVINO", openvino.__version__.split("-")[0], compiled(feeds)[compiled.output(0)].ravel())
except ImportError:
    pass

try:
    import onnxruntime
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    print("ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0].ravel())
except ImportError:
    pass
