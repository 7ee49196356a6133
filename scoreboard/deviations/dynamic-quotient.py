"""DynamicQuantizeLinear rounds another quotient than x / y_scale. Needs numpy and onnx, and what of openvino, onnxruntime, onnx is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.float32([0, 0.5, 1.5, 2.5, 3.5, 4.5, 255])}
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [7])]
outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [7]), helper.make_tensor_value_info("y_scale", TensorProto.FLOAT, []),
           helper.make_tensor_value_info("y_zero_point", TensorProto.UINT8, [])]
constants = []
nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "y_scale", "y_zero_point"])]
print("the text: y_scale is 255 / 255 = 1, y_zero_point 0, and x rounds to even:", [0, 0, 2, 2, 4, 4, 255])
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

try:
    import onnx.reference
    print("onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())
except ImportError:
    pass
