"""A pooling with ceil_mode has a window that starts in the padding at the end, of which it takes the mean of nothing. Needs numpy and onnx, and opencv-python-headless to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.float32([5]).reshape(1, 1, 1, 1)}
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1, 1])]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 1, "width"])]
constants = []
nodes = [helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[1, 2], pads=[0, 1, 0, 1], strides=[1, 2], ceil_mode=1)]
print("the text: windows start at 0 and 2 of 1 + 1 + 1 elements; the second starts in the padding, and is ignored:", [5.0])
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 22)])
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
