"""Pow of INT32 is computed in binary32. Needs numpy and onnx, and what of openvino, iree-base-compiler[onnx] and iree-base-runtime, onnxruntime is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"a": np.int32([3, -2, 7]), "b": np.int32([4, 3, 10])}
inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, [3]) for name in feeds]
outputs = [helper.make_tensor_value_info("y", TensorProto.INT32, [3])]
constants = []
nodes = [helper.make_node("Pow", ["a", "b"], ["y"])]
print("the text: 3^4, (-2)^3, 7^10 =", [3**4, (-2)**3, 7**10])
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])

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
