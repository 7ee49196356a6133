"""A fused quantized Conv with auto_pad takes the least stored value, and not zero, for the padding of its last windows. Needs numpy and onnx, and opencv-python-headless to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.int8([1, 2, 3, 4]).reshape(1, 1, 1, 4)}
inputs = [helper.make_tensor_value_info("x", TensorProto.INT8, [1, 1, 1, 4])]
outputs = [helper.make_tensor_value_info("y", TensorProto.INT8, [1, 1, 1, 4])]
constants = [constant("one", np.float32(1)), constant("zero", np.int8(0)), constant("w", np.int8([1, 10]).reshape(1, 1, 1, 2))]
padding = {"auto_pad": {"auto_pad": "SAME_UPPER"}, "pads": {"pads": [0, 0, 0, 1]}}
print("the text: 1 and 10 times the elements of 1 2 3 4 0:", [a + 10 * b for a, b in ((1, 2), (2, 3), (3, 4), (4, 0))])
for key, attributes in padding.items():
    nodes = [helper.make_node("DequantizeLinear", ["x", "one", "zero"], ["x_real"]), helper.make_node("DequantizeLinear", ["w", "one", "zero"], ["w_real"]),
             helper.make_node("Conv", ["x_real", "w_real"], ["y_real"], **attributes), helper.make_node("QuantizeLinear", ["y_real", "one", "zero"], ["y"])]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])
    print(key)
    print("  onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())
    try:
        import cv2
        net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
        net.setInput(feeds["x"], "x")
        print("  OpenCV", cv2.__version__, net.forward().ravel())
    except ImportError:
        pass
