"""ReduceL1 of INT32 reduces all axes, whatever its axes are. Needs numpy and onnx, and what of openvino, onnxruntime is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

feeds = {"x": np.int32([[-40, 3], [3, 4]])}
inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in feeds.items()]
outputs = [helper.make_tensor_value_info("y", TensorProto.INT32, [2, 1])]
constants = []
nodes = [helper.make_node("ReduceL1", [*feeds], ["y"], axes=[1])]
print("the text: |-40| + |3|, |3| + |4| =", [43, 7], "of shape [2, 1]")
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
