"""An Expand to nothing between Q/DQ nodes is taken for no change. Needs numpy and onnx, and what of onnxruntime is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.int8([[1, 2]])}
inputs = [helper.make_tensor_value_info("x", TensorProto.INT8, [1, 2])]
outputs = [helper.make_tensor_value_info("y", TensorProto.INT8, ["rows", 2])]
constants = [constant("shape", np.int64([0, 2])), constant("scale", np.float32(0.5)), constant("zero", np.int8(0))]
nodes = [helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["x_real"]), helper.make_node("Expand", ["x_real", "shape"], ["y_real"]),
         helper.make_node("QuantizeLinear", ["y_real", "scale", "zero"], ["y"])]
print("the text: as numpy.broadcast_to, no elements:", np.broadcast_to(feeds["x"], [0, 2]).ravel())
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])

try:
    import onnxruntime
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    print("ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0].ravel())
except ImportError:
    pass
