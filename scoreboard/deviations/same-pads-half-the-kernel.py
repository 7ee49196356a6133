"""Conv with auto_pad SAME pads half of the kernel at the beginning, whatever its stride, SAME_UPPER or SAME_LOWER. Needs numpy and onnx, and opencv-python-headless to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

row = [1, 2, 3, 4]


def expected(weights, stride, mode):
    """The text: ceil(4 / stride) windows, and the padding that they need, split between the sides."""
    count = -(-len(row) // stride)
    padding = max(0, (count - 1) * stride + len(weights) - len(row))
    begin = padding // 2 if mode == "SAME_UPPER" else padding - padding // 2
    padded = [0] * begin + row + [0] * (padding - begin)
    return [sum(w * x for w, x in zip(weights, padded[i * stride:])) for i in range(count)]


for weights, stride, mode in ([1, 10], 1, "SAME_LOWER"), ([1, 10, 100], 2, "SAME_UPPER"), ([1, 10, 100], 1, "SAME_UPPER"):
    feeds = {"x": np.float32(row).reshape(1, 1, 1, 4)}
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1, 4])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 1, -(-4 // stride)])]
    constants = [onnx.numpy_helper.from_array(np.float32(weights).reshape(1, 1, 1, -1), "w")]
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], auto_pad=mode, strides=[1, stride])]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])
    print(f"{mode}, a kernel of {len(weights)}, stride {stride}: the text: {expected(weights, stride, mode)}")
    print("  onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())
    try:
        import cv2
        net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
        net.setInput(feeds["x"], "x")
        print("  OpenCV", cv2.__version__, net.forward().ravel())
    except ImportError:
        pass
