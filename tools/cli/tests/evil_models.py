"""Models and answers of backends whose every text is one given name, as bytes: names need not be UTF-8, which the
libraries of ONNX and protobuf insist on. Source of the field numbers: ONNX's onnx.proto, proto/qtx/*.proto.

evil_models.py FILE [--lies]: is such a backend; FILE has the name.
"""

import struct
import sys

FLOAT = 1
INT8Q = 1003
SCALE_TENSOR, OFFSET_TENSOR = 5, 6
OPSET = 13
IR_VERSION = 8


def varint(number):
    text = b""
    while number > 0x7F:
        text += bytes([number & 0x7F | 0x80])
        number >>= 7
    return text + bytes([number])


def message(*fields):
    """A message of (number, value) pairs; a value is an int or the bytes of a text or a message."""
    text = b""
    for number, value in fields:
        if isinstance(value, int):
            text += varint(number << 3) + varint(value)
        else:
            text += varint(number << 3 | 2) + varint(len(value)) + value
    return text


def value_info(name, elem_type=FLOAT, size=2, quantization=b""):
    shape = message((1, message((1, size))))
    parameters = [(1001, quantization)] if quantization else []
    return message((1, name), (2, message((1, message((1, elem_type), (2, shape), *parameters)))))


def model(name, node, imports=b"", output=None, data=((9, struct.pack("<2f", 1, 2)),)):
    """input `name`.x, initializer .w, output .y, and `node`, which is to compute the one from the others."""
    weights = message((1, 2), (2, FLOAT), (8, name + b".w"), *data)
    graph = message((1, node), (2, name), (5, weights), (10, name), (11, value_info(name + b".x")),
                    (12, output or value_info(name + b".y")))
    opsets = [(8, message((1, b""), (2, OPSET)))] + ([(8, message((1, imports), (2, 1)))] if imports else [])
    return message((1, IR_VERSION), (2, name), (3, name), (4, name), (6, name), (7, graph), *opsets,
                   (14, message((1, name), (2, name))))


def node(name, op_type=b"Add", inputs=(b".x", b".w"), **more):
    """`more`: fields of NodeProto by name."""
    numbers = {"attribute": 5, "doc_string": 6, "domain": 7}
    return message(*((1, name + end) for end in inputs), (2, name + b".y"), (3, name), (4, op_type),
                   *((numbers[key], value) for key, value in more.items()))


def models(name):
    """{file name: bytes}: one model that runs, and some that each break another rule."""
    attribute = message((1, name), (4, name), (20, 3))
    outside = ((13, message((1, b"location"), (2, name + b".bin"))), (14, 1))
    quantized = value_info(name + b".y", INT8Q, quantization=message((SCALE_TENSOR, name), (OFFSET_TENSOR, name)))
    return {
        "good.onnx": model(name, node(name, doc_string=name)),
        "operator.onnx": model(name, node(name, op_type=name)),
        "domain.onnx": model(name, node(name, op_type=name, domain=name), imports=name),
        "attribute.onnx": model(name, node(name, attribute=attribute)),
        "unresolved.onnx": model(name, node(name, inputs=(b".x", b".nowhere"))),
        "shape.onnx": model(name, node(name), output=value_info(name + b".y", size=3)),
        "external.onnx": model(name, node(name), data=outside),
        "named.onnx": model(name, node(name), output=quantized),
    }


def answer(request, name, lies):
    """What a backend whose every text is `name` says to a Request: errors, or zeros where it `lies`."""
    kind = request[0] >> 3
    if kind == 1:
        body = message((2, message((1, name), (2, name), (3, b"exact"), (3, name), (4, name))))
    elif lies:
        zeros = message((1, FLOAT), (2, 2), (3, bytes(8)))
        body = message({2: (3, message((1, 1))), 3: (4, message((1, zeros))), 4: (5, b"")}[kind])
    else:
        body = message((1, message((1, 1), (2, name), (3, name), (4, name))))
    return varint(len(body)) + body


def main():
    with open(sys.argv[1], "rb") as file:
        name = file.read()
    read, write = sys.stdin.buffer, sys.stdout.buffer
    sys.stderr.buffer.write(2 * (name.replace(b"\n", b" ") + b"\n"))
    sys.stderr.flush()
    while byte := read.read(1):
        size, shift = byte[0] & 0x7F, 7
        while byte[0] & 0x80:
            byte = read.read(1)
            size |= (byte[0] & 0x7F) << shift
            shift += 7
        write.write(answer(read.read(size), name, "--lies" in sys.argv))
        write.flush()


if __name__ == "__main__":
    main()
