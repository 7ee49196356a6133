"""A Softmax between Q/DQ nodes wraps 256 to 0 where it saturates to 255. Needs numpy and onnx, and opencv-python-headless to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.uint8([[7], [3]])}
inputs = [helper.make_tensor_value_info("x", TensorProto.UINT8, [2, 1])]
outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [2, 1])]
constants = [constant("one", np.float32(1)), constant("zero", np.uint8(0)), constant("y_scale", np.float32(1 / 256))]
nodes = [helper.make_node("DequantizeLinear", ["x", "one", "zero"], ["x_real"]), helper.make_node("Softmax", ["x_real"], ["y_real"], axis=1),
         helper.make_node("QuantizeLinear", ["y_real", "y_scale", "zero"], ["y"])]
print("the text: exp(x) / exp(x) = 1, over 1 / 256, saturated:", min(255, 256))
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
