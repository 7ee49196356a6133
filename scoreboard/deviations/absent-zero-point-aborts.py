"""QLinearSigmoid and QLinearLeakyRelu without zero points end the process. Needs numpy and onnx, and what of onnxruntime is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.uint8([0])}
inputs = [helper.make_tensor_value_info("x", TensorProto.UINT8, [1])]
outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [1])]
constants = [constant("x_scale", np.float32(0.25)), constant("y_scale", np.float32(1 / 128))]
nodes = [helper.make_node("QLinearSigmoid", ["x", "x_scale", "", "y_scale"], ["y"], domain="com.microsoft")]
print("the text: sigmoid(0) * 128 =", [64])
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])

try:
    import onnxruntime
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    print("ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0].ravel())
except ImportError:
    pass
