"""Scales along the inner axis of a Gemm's second operand are taken for scales of its columns. Needs numpy and onnx, and what of onnxruntime is to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"a": np.uint8([[1, 1]])}
inputs = [helper.make_tensor_value_info("a", TensorProto.UINT8, [1, 2])]
outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 2])]
constants = [constant("one", np.float32(1)), constant("zero", np.uint8(0)), constant("scales", np.float32([1, 10])), constant("zeros", np.int8([0, 0])),
             constant("b", np.int8([[1, 1], [1, 1]]))]
nodes = [helper.make_node("DequantizeLinear", ["a", "one", "zero"], ["a_real"]), helper.make_node("DequantizeLinear", ["b", "scales", "zeros"], ["b_real"], axis=0),
         helper.make_node("Gemm", ["a_real", "b_real"], ["y_real"]), helper.make_node("QuantizeLinear", ["y_real", "one", "zero"], ["y"])]
print("the text: both columns are 1 * 1 + 1 * 10 =", [11, 11])
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
