"""A fused quantized Add takes the first of several scales along an axis for all. Needs numpy and onnx, and opencv-python-headless to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"a": np.int8([[1], [1]]), "b": np.int8([[2], [2]])}
inputs = [helper.make_tensor_value_info(name, TensorProto.INT8, [2, 1]) for name in feeds]
outputs = [helper.make_tensor_value_info("y", TensorProto.INT8, [2, 1])]
constants = [constant("one", np.float32(1)), constant("zero", np.int8(0)), constant("scales", np.float32([1, 10])), constant("zeros", np.int8([0, 0]))]
nodes = [helper.make_node("DequantizeLinear", ["a", "scales", "zeros"], ["a_real"], axis=0), helper.make_node("DequantizeLinear", ["b", "one", "zero"], ["b_real"]),
         helper.make_node("Add", ["a_real", "b_real"], ["y_real"]), helper.make_node("QuantizeLinear", ["y_real", "one", "zero"], ["y"])]
print("the text: 1 * 1 + 2 and 1 * 10 + 2 =", [3, 12])
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])
print("onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())

try:
    import cv2
    net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
    for name, value in feeds.items():
        net.setInput(value, name)
    result = net.forward()
    print("OpenCV", cv2.__version__, result.ravel())
except ImportError:
    pass
