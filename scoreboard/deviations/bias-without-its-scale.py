"""A fused quantized Gemm or Conv takes its bias without the bias's own scale. Needs numpy and onnx, and what of onnxruntime, opencv-python-headless is to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


def model_of(operator, dims):
    """y = x * 1 + 3 * 2, where 3 is stored and 2 its scale."""
    constants = [constant("one", np.float32(1)), constant("two", np.float32(2)), constant("zero", np.int8(0)), constant("zero32", np.int32(0)),
                 constant("w", np.int8([1]).reshape(dims)), constant("b", np.int32([3]))]
    nodes = [helper.make_node("DequantizeLinear", ["x", "one", "zero"], ["x_real"]), helper.make_node("DequantizeLinear", ["w", "one", "zero"], ["w_real"]),
             helper.make_node("DequantizeLinear", ["b", "two", "zero32"], ["b_real"]), helper.make_node(operator, ["x_real", "w_real", "b_real"], ["y_real"]),
             helper.make_node("QuantizeLinear", ["y_real", "one", "zero"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.INT8, dims) for name in "xy"]
    graph = helper.make_graph(nodes, "graph", values[:1], values[1:], constants)
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])


print("the text: 1 * 1 + 3 * 2 =", 1 * 1 + 3 * 2)
for operator, dims in ("Gemm", [1, 1]), ("Conv", [1, 1, 1, 1]):
    model, feeds = model_of(operator, dims), {"x": np.int8([1]).reshape(dims)}
    print(operator)
    print("  onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())
    try:
        import onnxruntime
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        print("  ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0].ravel())
        settings = onnxruntime.SessionOptions()
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        print("  ONNX Runtime without graph optimization", session.run(None, feeds)[0].ravel())
    except ImportError:
        pass
    try:
        import cv2
        net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
        net.setInput(feeds["x"], "x")
        print("  OpenCV", cv2.__version__, net.forward().ravel())
    except ImportError:
        pass
    except cv2.error:
        print("  OpenCV", cv2.__version__, "does not load it")
