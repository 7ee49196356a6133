"""Loop without a condition ends by that of its body. Needs numpy and onnx, and onnxruntime if that is to be asked."""

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
graph (int64 trips, int64 x) => (int64 y) {
  y = Loop <body = body (int64 i, bool before, int64 v) => (bool go, int64 sum) {
    three = Constant <value_int = 3> ()
    ten = Constant <value_int = 10> ()
    sum = Add (v, three)
    go = Less (sum, ten)
  }> (trips, , x)
}""")
feeds = {"trips": np.array(5), "x": np.array(0)}
print("by hand: 5 * 3 =", 5 * 3)
print("onnx.reference", onnx.__version__, ReferenceEvaluator(model).run(None, feeds)[0])

try:
    import onnxruntime
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    print("ONNX Runtime", onnxruntime.__version__, session.run(None, feeds)[0])
except ImportError:
    pass
