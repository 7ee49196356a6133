"""A MatMul of reals by quantized weights rounds the reals to 8 bits. Needs numpy and onnx, and what of onnxruntime is to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.float32([[1000, 1]])}
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])]
constants = [constant("w", np.int8([[0], [1]])), constant("one", np.float32(1))]
nodes = [helper.make_node("DequantizeLinear", ["w", "one"], ["w_real"]), helper.make_node("MatMul", ["x", "w_real"], ["y"])]
print("the text: 1000 * 0 + 1 * 1 =", 1000 * 0 + 1 * 1)
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])
print("onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())

try:
    import onnxruntime
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    print("ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0].ravel())
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    print("ONNX Runtime without graph optimization", session.run(None, feeds)[0].ravel())
except ImportError:
    pass
