"""A pooling with auto_pad SAME and dilations gives fewer elements than the text says. Needs numpy and onnx, and what of onnxruntime, openvino, apache-tvm is to be asked."""

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


feeds = {"x": np.arange(1, 6, dtype=np.float32).reshape(1, 1, 1, 5)}
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1, 5])]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
constants = []
print("the text: ceil(5 / 1) = 5 elements: max(2), max(1, 3), max(2, 4), max(3, 5), max(4), and their means")
for operator in "MaxPool", "AveragePool":
    nodes = [helper.make_node(operator, ["x"], ["y"], kernel_shape=[1, 2], dilations=[1, 2], auto_pad="SAME_UPPER")]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])
    print(operator)
    print("  onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())
    try:
        import onnxruntime
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        print("  ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0].ravel())
    except ImportError:
        pass
    try:
        import io
        import openvino
        compiled = openvino.Core().compile_model(openvino.Core().read_model(io.BytesIO(model.SerializeToString())), "CPU")
        print("  OpenVINO", openvino.__version__.split("-")[0], compiled(feeds)[compiled.output(0)].ravel())
    except ImportError:
        pass
    try:
        import tvm
        from tvm.relax.frontend.onnx import from_onnx
        machine = tvm.relax.VirtualMachine(tvm.compile(from_onnx(model), target="llvm"), tvm.cpu())
        print("  TVM", tvm.__version__, machine["main"](tvm.runtime.tensor(feeds["x"], tvm.cpu())).numpy().ravel())
    except ImportError:
        pass
