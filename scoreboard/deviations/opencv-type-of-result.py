"""A fused quantized Add gives the type of its inputs, whatever that of the zero point of its result. Needs numpy and onnx, and opencv-python-headless to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"a": np.uint8([1, 100]), "b": np.uint8([2, 100])}
inputs = [helper.make_tensor_value_info(name, TensorProto.UINT8, [2]) for name in feeds]
outputs = [helper.make_tensor_value_info("y", TensorProto.INT8, [2])]
constants = [constant("one", np.float32(1)), constant("zero", np.uint8(0)), constant("y_zero", np.int8(0))]
nodes = [helper.make_node("DequantizeLinear", ["a", "one", "zero"], ["a_real"]), helper.make_node("DequantizeLinear", ["b", "one", "zero"], ["b_real"]),
         helper.make_node("Add", ["a_real", "b_real"], ["y_real"]), helper.make_node("QuantizeLinear", ["y_real", "one", "y_zero"], ["y"])]
print("the text: 1 + 2 and 100 + 100, of INT8:", [3, min(127, 200)])
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])
print("onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0])

try:
    import cv2
    net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
    for name, value in feeds.items():
        net.setInput(value, name)
    result = net.forward()
    print("OpenCV", cv2.__version__, result, result.dtype)
except ImportError:
    pass
