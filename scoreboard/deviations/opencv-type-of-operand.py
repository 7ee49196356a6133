"""A fused quantized Add of UINT8 and INT8 reads the second operand as UINT8. Needs numpy and onnx, and opencv-python-headless to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"a": np.uint8([100, 100]), "b": np.int8([2, -5])}
inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), [2]) for name, value in feeds.items()]
outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [2])]
constants = [constant("one", np.float32(1)), constant("zero", np.uint8(0)), constant("b_zero", np.int8(0))]
nodes = [helper.make_node("DequantizeLinear", ["a", "one", "zero"], ["a_real"]), helper.make_node("DequantizeLinear", ["b", "one", "b_zero"], ["b_real"]),
         helper.make_node("Add", ["a_real", "b_real"], ["y_real"]), helper.make_node("QuantizeLinear", ["y_real", "one", "zero"], ["y"])]
print("the text: 100 + 2 and 100 - 5 =", [102, 95])
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
