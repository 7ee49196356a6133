"""LpNormalization with p = 1 divides by the sum of the elements, and not of their absolute values. Needs numpy and onnx, and what of onnx, onnxruntime, openvino is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

feeds = {"x": np.float32([[3, -1]])}
inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in feeds.items()]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])]
constants = []
nodes = [helper.make_node("LpNormalization", [*feeds], ["y"], p=1, axis=1)]
print("the text: 3 / (3 + 1), -1 / (3 + 1) =", [0.75, -0.25])
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])

try:
    import onnx.reference
    print("onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())
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
