"""A Concat between Q/DQ nodes with an empty operand ends the process. Needs numpy and onnx, and opencv-python-headless to be asked."""

import subprocess
import sys

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper

ASK = """
import sys
import cv2
import numpy as np
net = cv2.dnn.readNetFromONNX(np.frombuffer(sys.stdin.buffer.read(), np.uint8))
net.setInput(np.int8([[1], [2]]), "a")
net.setInput(np.zeros((2, 0), np.int8), "b")
print("OpenCV", cv2.__version__, net.forward().ravel())
"""

feeds = {"a": np.int8([[1], [2]]), "b": np.zeros((2, 0), np.int8)}
inputs = [helper.make_tensor_value_info(name, TensorProto.INT8, value.shape) for name, value in feeds.items()]
outputs = [helper.make_tensor_value_info("y", TensorProto.INT8, [2, 1])]
constants = [onnx.numpy_helper.from_array(value, name) for name, value in
             (("one", np.array(1, np.float32)), ("zero", np.array(0, np.int8)))]
nodes = [helper.make_node("DequantizeLinear", ["a", "one", "zero"], ["a_real"]), helper.make_node("DequantizeLinear", ["b", "one", "zero"], ["b_real"]),
         helper.make_node("Concat", ["a_real", "b_real"], ["y_real"], axis=1), helper.make_node("QuantizeLinear", ["y_real", "one", "zero"], ["y"])]
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)])
print("the text: two rows of 1 + 0 elements:", [1, 2])
print("onnx.reference", onnx.__version__, onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0].ravel())
asked = subprocess.run([sys.executable, "-c", ASK], input=model.SerializeToString(), capture_output=True, check=False)
print(asked.stdout.decode().strip() or f"OpenCV: the process ended with status {asked.returncode}")
