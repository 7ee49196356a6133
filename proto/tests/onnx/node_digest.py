"""The digest of the nodes of a model with bodies (lowering.S9), from ONNX's own messages."""
import onnx

def fnv1a(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value

nodes = [("Relu", ["x"], ["\x1f1\x1ft"]), ("Sigmoid", ["x"], ["\x1f2\x1ft"]), ("If", ["c"], ["y"])]
graph = onnx.GraphProto(node=[onnx.NodeProto(op_type=op, input=i, output=o) for op, i, o in nodes])
print(f"{len(nodes)}:{fnv1a(onnx.ModelProto(graph=graph).SerializeToString()):016x}")
