"""INT64 is computed in 32 bits. Needs numpy and onnx, and what of openvino, onnxruntime is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

feeds = {"a": np.int64([2**31 + 1, 3]), "b": np.int64([2**31 - 1, -7])}
inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in feeds.items()]
outputs = [helper.make_tensor_value_info("y", TensorProto.INT64, [2])]
constants = []
nodes = [helper.make_node("Mul", [*feeds], ["y"])]
print("the text: (2^31 + 1) (2^31 - 1), 3 * -7 =", [2**62 - 1, -21])
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
