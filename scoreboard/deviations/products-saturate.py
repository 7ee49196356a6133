"""Sums of two products of UINT8 by INT8 saturate at 16 bits on x86 without VNNI. Needs numpy and onnx, and what of onnxruntime, openvino, torch is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


depth = 64
feeds = {"a": np.full((1, depth), 255, np.uint8)}
inputs = [helper.make_tensor_value_info("a", TensorProto.UINT8, [1, depth])]
outputs = [helper.make_tensor_value_info("y", TensorProto.INT32, [1, 1])]
constants = [constant("b", np.full((depth, 1), 127, np.int8))]
nodes = [helper.make_node("MatMulInteger", ["a", "b"], ["y"])]
print("the text: 64 * 255 * 127 =", 64 * 255 * 127)
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])

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

try:
    import torch
    print("at a scale of 16384:", 64 * 255 * 127 / 16384)
    for engine in ("fbgemm", "onednn", "qnnpack"):
        torch.backends.quantized.engine = engine
        a = torch._make_per_tensor_quantized_tensor(torch.full((1, depth), 255, dtype=torch.uint8), 1.0, 0)
        b = torch._make_per_tensor_quantized_tensor(torch.full((1, depth), 127, dtype=torch.int8), 1.0, 0)
        packed = torch.ops.quantized.linear_prepack(b, None)
        print("PyTorch", torch.__version__, engine, torch.ops.quantized.linear(a, packed, 16384.0, 0).int_repr().ravel())
except ImportError:
    pass
