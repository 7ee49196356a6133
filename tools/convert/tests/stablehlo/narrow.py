"""Holds weights of 4 and 2 bits, and what jaxlib takes of parameters in blocks: narrow.py QTX (by hand; jaxlib, onnx)

Products of FLOAT and of INT8Q by weights of INT4, UINT4, INT2 and UINT2 with one scale or one a column go out by
`--to stablehlo`: jaxlib parses and verifies them, and what is read back gives the same results in `float32`. Those with
scales in blocks are refused by name, because jaxlib takes such types as arguments and results alone, which is looked at.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from jaxlib.mlir import ir
from onnx import TensorProto, helper

import interpreter

RNG = numpy.random.default_rng(41)
RANGES = {"INT4": (-8, 8), "UINT4": (0, 16), "INT2": (-2, 2), "UINT2": (0, 4)}
BLOCKS = "tensor<2x4x!quant.uniform<{}:f32:{{0:1,1:2}}, {{{{0.5,0.25}},{{1.0,2.0}}}}>>"
USES = {
    "argument": "func.func @main(%a: W) -> W {{ return %a : W }}",
    "constant": "func.func @main() -> W {{ %0 = stablehlo.constant() <{{value = dense<1> : tensor<2x4x{}>}}> : () -> W return %0 : W }}",
    "uniform_dequantize": "func.func @main(%a: W) -> tensor<2x4xf32> {{ %0 = stablehlo.uniform_dequantize %a : (W) -> tensor<2x4xf32> "
                          "return %0 : tensor<2x4xf32> }}",
    "uniform_quantize": "func.func @main(%a: tensor<2x4xf32>) -> W {{ %0 = stablehlo.uniform_quantize %a : (tensor<2x4xf32>) -> W "
                        "return %0 : W }}",
    "bitcast_convert": "func.func @main(%a: tensor<2x4x{}>) -> W {{ %0 = stablehlo.bitcast_convert %a : (tensor<2x4x{}>) -> W return %0 : W }}",
    "dot_general": "func.func @main(%x: tensor<3x2xf32>, %a: W) -> tensor<3x4xf32> {{ %0 = stablehlo.dot_general %x, %a, "
                   "contracting_dims = [1] x [0] : (tensor<3x2xf32>, W) -> tensor<3x4xf32> return %0 : tensor<3x4xf32> }}",
}


def product(kind, shape, quantized):
    """x [2, 4] by weights [4, 6]; `shape`: tensor, axis or blocks."""
    scales = {"tensor": numpy.array(0.5), "axis": RNG.uniform(0.1, 2, 6), "blocks": RNG.uniform(0.1, 2, (2, 6))}[shape].astype(numpy.float32)
    code = getattr(TensorProto, kind)
    stored = [helper.make_tensor("w", code, [4, 6], RNG.integers(*RANGES[kind], 24).tolist()),
              onnx.numpy_helper.from_array(scales, "s")]
    inputs = ["w", "s"]
    if kind[0] == "U" and shape != "blocks":
        stored.append(helper.make_tensor("z", code, scales.shape, [1] * scales.size))
        inputs.append("z")
    attributes = {"axis": {"axis": 1}, "blocks": {"axis": 0, "block_size": 2}}.get(shape, {})
    nodes = [helper.make_node("DequantizeLinear", inputs, ["real_w"], **attributes)]
    for name, source, scale, zero in (("x", "x", 0.1, 3), ("m", "product", 0.5, -2)) if quantized else ():
        stored += [onnx.numpy_helper.from_array(numpy.float32(scale), name + "_s"), onnx.numpy_helper.from_array(numpy.int8(zero), name + "_z")]
        parameters = [name + "_s", name + "_z"]
        if name == "m":
            nodes.append(helper.make_node("MatMul", ["real_x", "real_w"], ["product"]))
        nodes += [helper.make_node("QuantizeLinear", [source, *parameters], [name + "_q"]),
                  helper.make_node("DequantizeLinear", [name + "_q", *parameters], ["real_x" if name == "x" else "y"])]
    if not quantized:
        nodes.append(helper.make_node("MatMul", ["x", "real_w"], ["y"]))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 6])], stored)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 25)])


def qtx(*arguments):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())


def result(program, model, x):
    with tempfile.TemporaryDirectory() as folder:
        qtx(program, "run", model, "--input", f"x={x}", "--output-dir", folder, "--arithmetic", "float32")
        return numpy.load(next(pathlib.Path(folder).glob("*.npy")))


def is_verified(made, text):
    try:
        with made:
            ir.Module.parse(text).operation.verify()
        return True
    except ir.MLIRError:
        return False


def hold(program, made, folder, model, shape):
    stock, extended, program_text, back, x = (folder / name for name in ("stock.onnx", "m.onnx", "m.mlir", "back.onnx", "x.npy"))
    onnx.save(model, stock)
    qtx(program, "convert", stock, "-o", extended)
    write = (program, "convert", extended, "--to", "stablehlo", "-o", program_text, "--allow", "origin")
    if shape == "blocks":
        try:
            qtx(*write)
        except RuntimeError as error:
            assert "in blocks" in str(error), error
            return "refused by name"
        raise AssertionError("blocks were written")
    qtx(*write)
    assert is_verified(made, program_text.read_text()), "jaxlib refuses it"
    qtx(program, "convert", program_text, "-o", back)
    numpy.save(x, RNG.standard_normal((2, 4)).astype(numpy.float32))
    before, after = (result(program, name, x) for name in (extended, back))
    assert numpy.array_equal(before, after), f"{before} became {after}"
    return "verified, same results"


def main():
    program, made, failed = sys.argv[1], interpreter.context(), 0
    for storage in ("i8", "i4"):
        taken = [use for use, text in USES.items()
                 if is_verified(made, text.format(storage, storage).replace("W", BLOCKS.format(storage)))]
        print(f"{storage} in blocks is taken as: {', '.join(taken)}")
        failed += taken != ["argument"]  # the writer could do more, then
    for kind in RANGES:
        for shape in ("tensor", "axis", "blocks"):
            for quantized in (False, True):
                name = f"{kind.lower()} {shape} {'int8' if quantized else 'float'}"
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        print(f"{name}: {hold(program, made, pathlib.Path(folder), product(kind, shape, quantized), shape)}")
                    except (RuntimeError, AssertionError) as error:
                        failed += 1
                        print(f"{name}: FAILED {str(error)[:300]}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
