"""A Softmax between Q/DQ nodes gives the greatest value of the type for every class. Needs numpy and onnx, and what of tract, onnxruntime, openvino is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.uint8([[0, 64, 128, 255]])}
inputs = [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 4])]
outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 4])]
constants = [constant("scale", np.float32(0.0625)), constant("zero", np.uint8(0)), constant("small", np.float32(1 / 256))]
nodes = [helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["x_real"]), helper.make_node("Softmax", ["x_real"], ["y_real"]),
         helper.make_node("QuantizeLinear", ["y_real", "small", "zero"], ["y"])]
e = np.exp(feeds["x"] / 16.0 - 255 / 16)
print("the text: softmax of 0, 4, 8, 15.9375 by 1/256:", np.rint(256 * e / e.sum()).clip(0, 255).ravel())
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])

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

try:
    import io
    import openvino
    compiled = openvino.Core().compile_model(openvino.Core().read_model(io.BytesIO(model.SerializeToString())), "CPU")
    print("OpenVINO", openvino.__version__.split("-")[0], compiled(feeds)[compiled.output(0)].ravel())
except ImportError:
    pass
