"""A fused quantized AveragePool that counts its padding pads with stored 0 and not with the offset. Needs numpy and onnx, and what of openvino, onnxruntime is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.uint8([20, 30, 40]).reshape(1, 1, 1, 3)}
inputs = [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 1, 1, 3])]
outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 1, 1, 4])]
constants = [constant("one", np.float32(1)), constant("ten", np.uint8(10))]
nodes = [helper.make_node("DequantizeLinear", ["x", "one", "ten"], ["x_real"]),
         helper.make_node("AveragePool", ["x_real"], ["y_real"], kernel_shape=[1, 2], pads=[0, 1, 0, 1], count_include_pad=1),
         helper.make_node("QuantizeLinear", ["y_real", "one", "ten"], ["y"])]
print("the text: (0 + 10) / 2 + 10, (10 + 20) / 2 + 10, (20 + 30) / 2 + 10, (30 + 0) / 2 + 10 =", [15, 25, 35, 25])
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
