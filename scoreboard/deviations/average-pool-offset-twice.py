"""A fused quantized AveragePool applies the offset twice where it differs between input and output. Needs numpy and onnx, and what of openvino, onnxruntime is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.uint8([10, 20, 30, 40]).reshape(1, 1, 1, 4)}
inputs = [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 1, 1, 4])]
outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 1, 1, 3])]
constants = [constant("one", np.float32(1)), constant("zero", np.uint8(0)), constant("ten", np.uint8(10))]
nodes = [helper.make_node("DequantizeLinear", ["x", "one", "zero"], ["x_real"]), helper.make_node("AveragePool", ["x_real"], ["y_real"], kernel_shape=[1, 2]),
         helper.make_node("QuantizeLinear", ["y_real", "one", "ten"], ["y"])]
print("the text: 15 + 10, 25 + 10, 35 + 10 =", [25, 35, 45])
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
    import onnxruntime
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    print("ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0].ravel())
except ImportError:
    pass
