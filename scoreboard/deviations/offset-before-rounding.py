"""The offset is added before the quotient is rounded, so that ties go another way where it is odd. Needs numpy and onnx, and what of onnxruntime, openvino, opencv-python-headless is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"a": np.uint8([1, 3, 5, 7]), "b": np.uint8([0, 0, 0, 0])}
inputs = [helper.make_tensor_value_info(name, TensorProto.UINT8, [4]) for name in feeds]
outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [4])]
constants = [constant("half", np.float32(0.5)), constant("zero", np.uint8(0)), constant("one", np.float32(1)), constant("offset", np.uint8(1))]
nodes = [helper.make_node("DequantizeLinear", ["a", "half", "zero"], ["a_real"]), helper.make_node("DequantizeLinear", ["b", "half", "zero"], ["b_real"]),
         helper.make_node("Add", ["a_real", "b_real"], ["y_real"]), helper.make_node("QuantizeLinear", ["y_real", "one", "offset"], ["y"])]
print("the text: 0.5, 1.5, 2.5, 3.5 round to even, plus 1:", [round(value / 2) + 1 for value in (1, 3, 5, 7)])
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])

try:
    import onnxruntime
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    print("ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0].ravel())
except ImportError:
    pass

try:
    import io
    import openvino
    compiled = openvino.Core().compile_model(openvino.Core().read_model(io.BytesIO(model.SerializeToString())), "CPU")
    print("OpenVINO", openvino.__version__.split("-")[0], compiled(feeds)[compiled.output(0)].ravel())
except ImportError:
    pass

try:
    import cv2
    net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
    for name, value in feeds.items():
        net.setInput(value, name)
    print("OpenCV", cv2.__version__, net.forward().ravel())
except ImportError:
    pass
