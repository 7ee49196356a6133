"""AveragePool with ceil_mode and count_include_pad divides by elements that lie beyond the padding. Needs numpy and onnx, and what of openvino, iree-base-compiler[onnx] and iree-base-runtime, onnxruntime, opencv-python-headless, onnx is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.arange(1, 7, dtype=np.float32).reshape(1, 1, 1, 6)}
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1, 6])]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 1, 4])]
constants = []
nodes = [helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[1, 3], strides=[1, 2], pads=[0, 1, 0, 1], ceil_mode=1, count_include_pad=1)]
print("the text: (0 + 1 + 2) / 3, (2 + 3 + 4) / 3, (4 + 5 + 6) / 3, (6 + 0) / 2 =", [1.0, 3.0, 5.0, 3.0])
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])

try:
    import io
    import openvino
    compiled = openvino.Core().compile_model(openvino.Core().read_model(io.BytesIO(model.SerializeToString())), "CPU")
    print("OpenVINO", openvino.__version__.split("-")[0], compiled(feeds)[compiled.output(0)].ravel())
except ImportError:
    pass

try:
    import importlib.metadata
    import os
    import subprocess
    import sys
    import iree.compiler
    onnx.save(onnx.shape_inference.infer_shapes(model), "model.onnx")
    folder = os.path.dirname(sys.executable)
    subprocess.run([folder + "/iree-import-onnx", "model.onnx", "-o", "model.mlir"], check=True)
    subprocess.run([folder + "/iree-compile", "model.mlir", "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                    "--iree-llvmcpu-target-cpu=host", "-o", "model.vmfb"], check=True)
    for name, value in feeds.items():
        np.save(name + ".npy", value)
    subprocess.run([folder + "/iree-run-module", "--module=model.vmfb", "--device=local-sync", "--output=@result.npy",
                    *("--input=@" + name + ".npy" for name in feeds)], check=True)
    print("IREE", importlib.metadata.version("iree-base-compiler"), np.load("result.npy").ravel())
except ImportError:
    pass

try:
    import onnxruntime
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    print("ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0].ravel())
except ImportError:
    pass

try:
    import onnx.reference
    print("onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())
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
