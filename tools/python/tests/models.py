"""Models for the tests, written byte by byte as protobuf has them, so that no test needs the code that it tests to make them.

Source of the field numbers: onnx.proto, and proto/qtx/quantization.proto for 1001.
"""

import struct

FLOAT, UINT8, INT8, INT32, INT64, BFLOAT16, INT4 = 1, 2, 3, 6, 7, 16, 22
UINT8Q, INT8Q, INT4Q = 1002, 1003, 1022


def varint(value):
    value %= 1 << 64
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    data = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


def quantization(scale, offset=(), axis=()):
    zigzag = [value * 2 if value >= 0 else -value * 2 - 1 for value in offset]
    return message(1001, message(1, struct.pack(f"<{len(scale)}f", *scale)),
                   message(2, *map(varint, zigzag)) if offset else b"", message(3, *map(varint, axis)) if axis else b"")


def value(name, elem_type, dims, *more):
    """A ValueInfoProto; a dimension is a number or a symbol."""
    shape = b"".join(message(1, message(2, dim) if isinstance(dim, str) else number(1, dim)) for dim in dims)
    return message(1, name) + message(2, message(1, number(1, elem_type), message(2, shape), *more))


def node(op_type, inputs, outputs, *attributes, name=""):
    return b"".join([*(message(1, text) for text in inputs), *(message(2, text) for text in outputs),
                     message(3, name) if name else b"", message(4, op_type), *(message(5, a) for a in attributes)])


def initializer(name, elem_type, dims, raw):
    return b"".join([*(number(1, dim) for dim in dims), number(2, elem_type), message(8, name), message(9, raw)])


def model(nodes, inputs, outputs, values=(), initializers=(), opset=17, extended=True):
    graph = b"".join([*(message(1, n) for n in nodes), message(2, "graph"), *(message(5, t) for t in initializers),
                      *(message(11, v) for v in inputs), *(message(12, v) for v in outputs),
                      *(message(13, v) for v in values)])
    imports = message(8, number(2, opset)) + (message(8, message(1, "qtx"), number(2, 1)) if extended else b"")
    return number(1, 8) + message(7, graph) + imports


def add(rows=2, columns=2):
    """y = a + b over INT8Q, scales 1; y has scale 2 and offset 3."""
    one = quantization([1.0])
    return model([node("Add", ["a", "b"], ["y"], name="sum")],
                 [value("a", INT8Q, [rows, columns], one), value("b", INT8Q, [rows, columns], one)],
                 [value("y", INT8Q, [rows, columns], quantization([2.0], [3]))])


def relu(elem_type=FLOAT, dims=("N", 3)):
    """y = max(x, 0)"""
    return model([node("Relu", ["x"], ["y"], name="relu")], [value("x", elem_type, dims)], [value("y", elem_type, dims)],
                 extended=False)


def chain():
    """Two Adds of INT8Q: t = a + b of scale 2 and offset 3, y = t + b of scale 1."""
    one = quantization([1.0])
    return model([node("Add", ["a", "b"], ["t"], name="first"), node("Add", ["t", "b"], ["y"], name="second")],
                 [value("a", INT8Q, [4], one), value("b", INT8Q, [4], one)], [value("y", INT8Q, [4], one)],
                 [value("t", INT8Q, [4], quantization([2.0], [3]))])
