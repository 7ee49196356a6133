"""A linear Resize that halves a row mixes what lies beyond the input into its results. Needs numpy and onnx, and opencv-python-headless to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

feeds = {"x": np.float32([10, 20, 30, 40]).reshape(1, 1, 1, 4)}
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1, 4])]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 1, 2])]
constants = [onnx.numpy_helper.from_array(np.float32([1, 1, 1, 0.5]), "scales")]
nodes = [helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear", coordinate_transformation_mode="asymmetric")]
print("the text: the elements at 0 / 0.5 and 1 / 0.5:", [10.0, 30.0])
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])
print("onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())

try:
    import cv2
    for _ in range(8):
        net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
        net.setInput(feeds["x"], "x")
        print("OpenCV", cv2.__version__, net.forward().ravel())
except ImportError:
    pass
