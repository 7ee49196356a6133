"""QuantizeLinear by a computed scale of 0, an infinity or NaN. Needs numpy and onnx, and what of onnxruntime, onnx is to be asked."""

import numpy as np
import onnx
from onnx import TensorProto, helper

feeds = {"x": np.float32([0, 1, -1, np.inf, np.nan]), "z": np.array(3, np.int8)}
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5]), helper.make_tensor_value_info("scale", TensorProto.FLOAT, []),
          helper.make_tensor_value_info("z", TensorProto.INT8, [])]
outputs = [helper.make_tensor_value_info("y", TensorProto.INT8, [5])]
nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "z"], ["y"])]
graph = helper.make_graph(nodes, "graph", inputs, outputs)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])

for scale in (0.0, -0.0, np.inf, np.nan):
    feeds["scale"] = np.array(scale, np.float32)
    print(f"x over {scale}, the text:", [3, 127, -128, 127, 3] if scale == 0 else [3, 3, 3, 3, 3])
    try:
        import onnxruntime
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        print("  ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0].ravel().tolist())
    except ImportError:
        pass
    try:
        import onnx.reference
        print("  onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel().tolist())
    except ImportError:
        pass
