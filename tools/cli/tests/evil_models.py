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
    """A message of (number, value) pairs; a value is an int, a float or the bytes of a text or a message."""
    text = b""
    for number, value in fields:
        if isinstance(value, int):
            text += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            text += varint(number << 3 | 5) + struct.pack("<f", value)
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


def scalar(name, value):
    return message((2, FLOAT), (8, name), (9, struct.pack("<f", value)))


def quant(name):
    """QONNX: x -> Quant -> y."""
    attributes = [(5, message((1, b"signed"), (3, 1), (20, 2))), (5, message((1, b"narrow"), (3, 0), (20, 2))),
                  (5, message((1, b"rounding_mode"), (4, b"ROUND"), (20, 3)))]
    parameters = {name + b".s": 0.5, name + b".z": 0, name + b".b": 8}
    domain = b"qonnx.custom_op.general"
    node = message((1, name + b".x"), *((1, one) for one in parameters), (2, name + b".y"), (3, name), (4, b"Quant"),
                   (7, domain), *attributes)
    graph = message((1, node), (2, name), *((5, scalar(*one)) for one in parameters.items()),
                    (11, value_info(name + b".x")), (12, value_info(name + b".y")))
    return message((1, IR_VERSION), (2, name), (7, graph), (8, message((1, b""), (2, OPSET))),
                   (8, message((1, domain), (2, 1))))


def int8(name):
    """The extended form: x -> Relu -> y, of one scale."""
    half = message((1, struct.pack("<f", 0.5)))
    graph = message((1, node(name, op_type=b"Relu", inputs=(b".x",))), (2, name),
                    (11, value_info(name + b".x", INT8Q, quantization=half)),
                    (12, value_info(name + b".y", INT8Q, quantization=half)))
    return message((1, IR_VERSION), (7, graph), (8, message((1, b""), (2, OPSET))), (8, message((1, b"qtx"), (2, 1))))


def paddle(name, op_type=b"relu"):
    """A program of feed, one operator and fetch; field numbers of framework.proto."""
    def operator(kind, x, y, attributes=()):
        return (4, message((1, message((1, b"X"), (2, x))), (2, message((1, b"Out"), (2, y))), (3, kind), *attributes))
    tensor = message((1, 7), (3, message((1, message((1, 5), (2, 1), (2, 2))))))
    column = [(4, message((1, b"col"), (2, 0), (3, 0)))]
    variables = [(3, message((1, name + end), (2, tensor))) for end in (b".x", b".y")]
    return message((1, message((1, 0), (2, 0), *variables, operator(b"feed", b"feed", name + b".x", column),
                               operator(op_type, name + b".x", name + b".y"),
                               operator(b"fetch", name + b".y", b"fetch", column))))


def caffe2(name, op_type=b"Int8Relu"):
    """A predict net of one operator; field numbers of caffe2.proto."""
    arguments = [(5, message((1, b"Y_scale"), (2, 0.5))), (5, message((1, b"Y_zero_point"), (3, 128)))]
    return message((1, name), (2, message((1, name + b".x"), (2, name + b".y"), (3, name), (4, op_type), *arguments)),
                   (7, name + b".x"), (8, name + b".y"))


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
        "quant.onnx": quant(name),
        "int8.onnx": int8(name),
        "good.pdmodel": paddle(name),
        "operator.pdmodel": paddle(name, name),
        "good.pb": caffe2(name),
        "operator.pb": caffe2(name, b"Unknown"),
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
