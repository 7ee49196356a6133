#!/usr/bin/env python3
"""Writes corpus/: helpers in base/, and for each row of readers.py a small file that it takes: make_seeds.py QTX.

Needs Debian's python3-onnx, python3-numpy and libturbojpeg0. Files that are there already stay; findings are added by hand.
"""
import ctypes
import io
import pathlib
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import readers

BASE = readers.CORPUS / "base"
CASE = """id: seed/add
spec: add.S2
why: one and one
op: {type: Add}
inputs: {a: {type: int8q, scale: [1.0], data: [1]}, b: {type: int8q, scale: [1.0], data: [1]}}
expect: {y: {type: int8q, scale: [1.0], offset: [1], data: [3]}}
"""
FORMULA = """# Seed

**relu.S1** The greater of x and 0.

```formula
y = max(x, 0)
---
spec: relu.S1
op: {type: Relu}
inputs: {x: {type: int8q, scale: [1.0]}}
expect: {y: {type: int8q, scale: [1.0]}}
```
"""
PREPROCESS = "channels: RGB\nlayout: NCHW\nresize: [2, 2]\nscale: 1/255\nmean: [0.5, 0.25, 0.125]\nstd: [0.5, 0.5, 1]\n"
RULES = "- match: {op_type: Gemm, name: \"g*\"}\n  activations: int16:symmetric\n  weights: int8:per-tensor\n  range: percentile=99.9\n"
PROGRAM = """func.func @main(%a: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = stablehlo.constant dense<[[0.5, -1.0, 2.0, 0.0]]> : tensor<1x4xf32>
  %1 = stablehlo.add %a, %0 : tensor<1x4xf32>
  return %1 : tensor<1x4xf32>
}
"""


def save_model(path, nodes, inputs, outputs, constants):
    tensors = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in values] for values in (inputs, outputs)]
    graph = helper.make_graph(nodes, "seed", *tensors, [numpy_helper.from_array(array, name) for name, array in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


def png():
    """2 by 2 pixels of 8-bit RGB. Source: the PNG specification, clauses 5 and 11."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(range(6 * i, 6 * i + 6)) for i in range(2))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def jpeg():
    """8 by 8 pixels, as libjpeg-turbo writes them."""
    library = ctypes.CDLL("libturbojpeg.so.0")
    library.tjInitCompress.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(library.tjInitCompress())
    pixels = bytes(range(192))
    buffer, size = ctypes.POINTER(ctypes.c_ubyte)(), ctypes.c_ulong()
    library.tjCompress2(handle, pixels, 8, 0, 8, 0, ctypes.byref(buffer), ctypes.byref(size), 2, 90, 0)
    return bytes(buffer[:size.value])


def saved(save, *arguments, **named):
    stream = io.BytesIO()
    save(stream, *arguments, **named)
    return stream.getvalue()


def safetensors():
    header = b'{"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}'
    return struct.pack("<Q", len(header)) + header + struct.pack("<4f", 1, 2, 3, 4)


def write_base(qtx):
    BASE.mkdir(parents=True, exist_ok=True)
    weights = numpy.arange(16, dtype=numpy.float32).reshape(4, 4) / 8 - 1
    gemm = helper.make_node("Gemm", ["x", "w", "c"], ["h"], name="gemm")
    save_model(BASE / "net.onnx", [gemm, helper.make_node("Relu", ["h"], ["y"], name="relu")], [("x", [1, 4])], [("y", [1, 4])],
               [("w", weights), ("c", weights[0])])
    save_model(BASE / "image.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", [1, 3, 2, 2])], [("y", [1, 3, 2, 2])], [])
    numpy.save(BASE / "sample.npy", numpy.arange(4, dtype=numpy.float32).reshape(1, 4))
    (BASE / "pixels.png").write_bytes(png())
    (BASE / "preprocess.yaml").write_text(PREPROCESS)
    (BASE / "cases").mkdir(exist_ok=True)
    (BASE / "cases/seed.yaml").write_text(CASE)

    def run(*words):
        subprocess.run([qtx, *words, "--quiet"], check=True, cwd=BASE)
    run("calibrate", "net.onnx", "--data", "sample.npy", "--histogram", "16", "-o", "measured.onnx")
    run("quantize", "measured.onnx", "-o", "quantized.onnx")


def frames(*payloads):
    """Messages of the protocol, length first (spec/backend_protocol.md)."""
    assert all(len(payload) < 128 for payload in payloads)
    return b"".join(bytes([len(payload)]) + payload for payload in payloads)


def field(number, value):
    """A field of a protobuf message: a small integer, a FLOAT, or bytes and text."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    if isinstance(value, float):
        return bytes([number << 3 | 5]) + struct.pack("<f", value)
    payload = value.encode() if isinstance(value, str) else value
    assert len(payload) < 128
    return bytes([number << 3 | 2, len(payload)]) + payload


def paddle():
    """x -> relu -> y. Fields: tools/convert/schema/paddle.proto; types of Paddle's framework.proto."""
    def operator(kind, source, target, attributes=b""):
        inputs, outputs = (field(number, field(1, name) + field(2, value)) for number, (name, value) in ((1, source), (2, target)))
        return field(4, inputs + outputs + field(3, kind) + attributes)
    shape = field(3, field(1, field(1, 5) + field(2, 1) + field(2, 4)))
    values = b"".join(field(3, field(1, name) + field(2, field(1, kind) + tensor))
                      for name, kind, tensor in (("feed", 9, b""), ("fetch", 10, b""), ("x", 7, shape), ("y", 7, shape)))
    column = field(4, field(1, "col") + field(2, 0) + field(3, 0))
    operators = (operator("feed", ("X", "feed"), ("Out", "x"), column) + operator("relu", ("X", "x"), ("Out", "y")) +
                 operator("fetch", ("X", "y"), ("Out", "fetch"), column))
    block = field(1, 0) + field(2, 0) + values + operators
    return bytes([1 << 3 | 2]) + varint(len(block)) + block


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def caffe2():
    """x -> Int8Quantize -> Int8Dequantize -> y. Fields: tools/convert/schema/caffe2.proto."""
    def operator(kind, source, target, arguments=b""):
        return field(2, field(1, source) + field(2, target) + field(4, kind) + arguments)
    parameters = field(5, field(1, "Y_scale") + field(2, 0.5)) + field(5, field(1, "Y_zero_point") + field(3, 3))
    return (field(1, "seed") + operator("Int8Quantize", "x", "q", parameters) + operator("Int8Dequantize", "q", "y") + field(7, "x") +
            field(8, "y"))


def converted(qtx, kind, extension):
    """quantized.onnx, of which profiles name no float value, or measured.onnx as another kind; None where it is none."""
    model = "measured.onnx" if kind in readers.WITH - {"glow"} else "quantized.onnx"
    path = BASE / ("converted" + extension)
    ran = subprocess.run([qtx, "convert", model, "-o", path.name, "--to", kind, "--quiet"] +
                         [word for loss in ("documentation", "origin", "statistics", "scheme", "range", "graph", "parameters") for word in ("--allow", loss)],
                         cwd=BASE, capture_output=True)
    data = path.read_bytes() if ran.returncode == 0 else None
    path.unlink(missing_ok=True)
    return data


def journal(qtx, *words):
    path = BASE / "journal"
    subprocess.run([qtx, *words, "--resume", path.name, "--quiet"], check=True, cwd=BASE)
    data = path.read_bytes()
    path.unlink()
    (BASE / "calibrated.onnx").unlink(missing_ok=True)
    return data


def seeds(qtx):
    """{row: bytes}."""
    sample = numpy.arange(4, dtype=numpy.float32).reshape(1, 4)
    model = (BASE / "quantized.onnx").read_bytes()
    found = {f"convert_{kind}": converted(qtx, kind, extension) for kind, extension in readers.KINDS.items()
             if kind in ("tflite", "glow", "ort", "csv", "json", "qoperator", "qdq", "stablehlo", "nnef", "qtx")}
    found |= {f"write_{kind}": model for kind in readers.WRITTEN}
    report = subprocess.run([qtx, "validate", "--suite", "cases", "--backend", "reference", "--jobs", "1", "--json", "-"], cwd=BASE, check=True,
                            capture_output=True, env={"SOURCE_DATE_EPOCH": "1700000000"}).stdout
    found |= {
        "convert_onnx": (BASE / "net.onnx").read_bytes(), "convert_safetensors": safetensors(), "check": model, "inspect": model,
        "infer": (BASE / "net.onnx").read_bytes(), "run_model": model, "npy": saved(numpy.save, sample), "npz": saved(numpy.savez, x=sample),
        "tensor_proto": numpy_helper.from_array(sample, "x").SerializeToString(), "raw": sample.tobytes(), "png": png(), "jpeg": jpeg(),
        "preprocessing": PREPROCESS.encode(), "rules": RULES.encode(), "cases": CASE.encode(), "formulas": FORMULA.encode(),
        "reports": report, "expected_failures": b"seed/add  # a reason\n", "requests": frames(b"\x0a\x00", b"\x22\x00"),
        "responses": frames(b"\x0a\x10\x0a\x01a\x12\x011\x1a\x05exact\x22\x01d"), "convert_stablehlo": PROGRAM.encode(),
        "calibration_journal": journal(qtx, "calibrate", "./net.onnx", "--data", "./sample.npy", "-o", "calibrated.onnx"),
        "validation_journal": journal(qtx, "validate", "--suite", "cases", "--backend", "reference", "--jobs", "1"),
        "fuzz_journal": journal(qtx, "fuzz", "--backend", "x86", "--operators", "Relu", "--cases", "64", "--seed", "1"), "scoreboard": report,
        "convert_gguf": struct.pack("<4sIQQ", b"GGUF", 3, 0, 0), "convert_paddle": paddle(), "convert_caffe2": caffe2(), "convert_qonnx": (BASE / "net.onnx").read_bytes(),
    }
    return {row: data for row, data in found.items() if data is not None}


def main():
    qtx = pathlib.Path(sys.argv[1]).resolve()
    write_base(qtx)
    for row, data in seeds(qtx).items():
        folder = readers.CORPUS / row
        folder.mkdir(exist_ok=True)
        data = data.replace(readers.commit_of(qtx).encode(), readers.COMMIT)
        (folder / ("seed" + readers.reader(row).extension)).write_bytes(data)
    print("without a seed:", *(row.name for row in readers.READERS if not readers.seeds_of(row)))


if __name__ == "__main__":
    main()
