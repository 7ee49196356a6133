"""LRN normalizes only as many channels as there are images in the batch. Needs numpy and onnx, and what of onnx, onnxruntime, openvino is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

feeds = {"x": np.float32([1, 2, 3, 4]).reshape(1, 4, 1, 1)}
inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in feeds.items()]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 1, 1])]
constants = []
nodes = [helper.make_node("LRN", [*feeds], ["y"], size=3, alpha=3.0, beta=1.0, bias=1.0)]
print("the text: 1 / (1 + 5), 2 / (1 + 14), 3 / (1 + 29), 4 / (1 + 25) =", [1 / 6, 2 / 15, 3 / 30, 4 / 26])
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
