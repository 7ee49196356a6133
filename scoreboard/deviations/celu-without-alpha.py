"""Celu leaves out the factor alpha. Needs numpy and onnx, and what of tract, onnxruntime is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

feeds = {"x": np.float32([-2, -0.5, 1])}
inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in feeds.items()]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])]
constants = []
nodes = [helper.make_node("Celu", [*feeds], ["y"], alpha=0.5)]
print("the text: alpha (exp(x / alpha) - 1) =", [0.5 * (np.exp(x / 0.5) - 1) for x in (-2, -0.5)], "and 1")
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
