"""DequantizeLinear of INT32 subtracts the zero point in 32 bits. Needs numpy and onnx, and what of onnxruntime is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.int32([-2**31, 5])}
inputs = [helper.make_tensor_value_info("x", TensorProto.INT32, [2])]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])]
constants = [constant("scale", np.float32(1)), constant("zero_point", np.int32(1))]
nodes = [helper.make_node("DequantizeLinear", ["x", "scale", "zero_point"], ["y"])]
print("the text: -2^31 - 1, in binary32, and 4:", np.float32([-2**31 - 1, 4]))
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])

try:
    import onnxruntime
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    print("ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0].ravel())
except ImportError:
    pass
