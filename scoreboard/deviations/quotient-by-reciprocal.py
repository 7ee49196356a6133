"""QuantizeLinear multiplies by the reciprocal of the scale, where the text divides. Needs numpy and onnx, and what of openvino, tract, onnxruntime is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.full(8, 8.213434, np.float32)}
scale = np.float32(0.113288745)
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8])]
outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [8])]
constants = [constant("scale", scale), constant("zero", np.uint8(0))]
nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"])]
print("the text: x / y_scale =", feeds["x"][0] / scale, "in binary32, which rounds to", int(np.rint(feeds["x"][0] / scale)))
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
    import tract
    onnx.save(model, "model.onnx")
    runnable = tract.onnx().load("model.onnx").into_model().into_runnable()
    print("tract", importlib.metadata.version("tract"), runnable.run(list(feeds.values()))[0].to_numpy().ravel())
except ImportError:
    pass

try:
    import onnxruntime
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    print("ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0].ravel())
except ImportError:
    pass
