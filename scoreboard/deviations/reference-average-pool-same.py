"""AveragePool with auto_pad SAME and dilations pads too little, and gives 0 for the windows that are left. Needs numpy and onnx, and openvino to be asked."""

from fractions import Fraction

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

row = [1, 2, 3, 4, 5]
padded = [None, *row, None]
windows = [[value for value in (padded[i], padded[i + 2]) if value is not None] for i in range(5)]
print("the text: one element of padding on each side, and means of what is no padding:", [str(Fraction(sum(window), len(window))) for window in windows])

feeds = {"x": np.float32(row).reshape(1, 1, 1, 5)}
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1, 5])]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 1, 5])]
nodes = [helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[1, 2], dilations=[1, 2], auto_pad="SAME_UPPER")]
graph = helper.make_graph(nodes, "graph", inputs, outputs)
model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])
print("onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())

try:
    import io
    import openvino
    compiled = openvino.Core().compile_model(openvino.Core().read_model(io.BytesIO(model.SerializeToString())), "CPU")
    print("OpenVINO", openvino.__version__.split("-")[0], compiled(feeds)[compiled.output(0)].ravel())
except ImportError:
    pass
