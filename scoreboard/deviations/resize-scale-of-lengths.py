"""Resize steps by the ratio of its lengths, and not by the given scale. Needs numpy and onnx, and what of onnxruntime, openvino, opencv, apache-tvm is to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

feeds = {"x": np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)}
scales = np.array([1, 1, 0.6, 0.6], np.float32)
nodes = [helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear")]
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 2, 4])]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 1, 2])]
graph = helper.make_graph(nodes, "graph", inputs, outputs, [onnx.numpy_helper.from_array(scales, "scales")])
model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])


def means(height, width):
    """The linear combinations of 1..8 in 2 rows of 4 by the two scales: element (r, c) is 1 + 4 r + c."""
    place = lambda i, scale: (i + 0.5) / scale - 0.5
    return [round(1 + 4 * place(0, height) + place(i, width), 4) for i in range(2)]


print("ONNX's test_resize_downsample_scales_linear: [2.6666665 4.3333331]")
print("by the scales 0.6 and 0.6:", means(0.6, 0.6))
print("by 1 row of 2, 2 columns of 4:", means(1 / 2, 2 / 4))
print("onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())
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
    net.setInput(feeds["x"])
    print("OpenCV", cv2.__version__, net.forward().ravel())
except ImportError:
    pass
try:
    import tvm
    from tvm.relax.frontend.onnx import from_onnx
    machine = tvm.relax.VirtualMachine(tvm.compile(from_onnx(model), target="llvm"), tvm.cpu())
    print("TVM", tvm.__version__, machine["main"](tvm.runtime.tensor(feeds["x"], tvm.cpu())).numpy().ravel())
except ImportError:
    pass
