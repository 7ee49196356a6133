"""Holds `qtx convert` of StableHLO programs to StableHLO's own interpreter, the one in jaxlib.

Usage: interpreter.py QTX [NAME]        (by hand; needs jaxlib, numpy)

Each program below gets random inputs, runs in the interpreter and, converted, on the reference. A float result may
differ by 1e-5 relative, a quantized one, compared as stored integers, by 1; one that is said to be exact not at all.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, stablehlo
from jaxlib.mlir.passmanager import PassManager

Q = "!quant.uniform<i8:f32, 0.05:3>"
R = "!quant.uniform<i8:f32, 0.03:-5>"
S = "!quant.uniform<i8:f32, 0.25:1>"
NARROW = "!quant.uniform<i8<-127:127>:f32, 0.04>"
AXIS = "!quant.uniform<i8:f32:3, {0.01, 0.02, 0.015, 0.03}>"
ACC = "!quant.uniform<i32:f32:3, {0.0005, 0.001, 0.00075, 0.0015}>"

# name: arguments, results, body; %q... are the arguments quantized, %r is quantized back by the frame where it is `q`.
PROGRAMS = {}


def program(name, arguments, result, body, integers=None):
    PROGRAMS[name] = (arguments, result, body, integers)


def over_reals(body):
    """`body` with the convolution as StableHLO defines it, over dequantized operands: the interpreter of jaxlib 0.10.2
    multiplies i8 by i8 modulo 2^8 where it has integers."""
    signature = re.sub(", ", ",", body).replace(">,tensor", ">, tensor")
    left, right, to = re.search(r": \(tensor<(\S*)>, tensor<(\S*)>\) -> tensor<(\S*)>\s*%r", signature).groups()
    plain = [re.sub(r"!quant\.uniform<.*", "f32", kind) for kind in (left, right, to)]
    call = re.search(r"%d = (stablehlo\.convolution)\(%x, %y\)(.*?)\n?\s*: \(", body, re.S)
    before, after = body.split("%d =")[0], body.split("%r =")[1]
    return f"""{before}
      %fx = stablehlo.uniform_dequantize %x : (tensor<{left}>) -> tensor<{plain[0]}>
      %fy = stablehlo.uniform_dequantize %y : (tensor<{right}>) -> tensor<{plain[1]}>
      %fd = stablehlo.convolution(%fx, %fy) {call.group(2)} : (tensor<{plain[0]}>, tensor<{plain[1]}>) ->
        tensor<{plain[2]}>
      %d = stablehlo.uniform_quantize %fd : (tensor<{plain[2]}>) -> tensor<{to}>
      %r ={after}"""


def unary(op, shape="3x4", scale=1):
    program(op, [f"{shape}xf32"], f"{shape}xf32", f"%r = stablehlo.{op} %a : tensor<{shape}xf32>")
    program(op + "_q", [f"{shape}xf32"], f"{shape}x{R}", f"""
      %x = stablehlo.uniform_quantize %a : (tensor<{shape}xf32>) -> tensor<{shape}x{Q}>
      %r = stablehlo.{op} %x : (tensor<{shape}x{Q}>) -> tensor<{shape}x{R}>""")


for name in ("abs", "ceil", "cosine", "exponential", "exponential_minus_one", "floor", "logistic", "negate", "sign",
             "sine", "tanh", "round_nearest_afz", "round_nearest_even"):
    unary(name)
for name in ("log", "log_plus_one", "rsqrt", "sqrt"):
    program(name, ["5xf32"], "5xf32",
        f"%p = stablehlo.abs %a : tensor<5xf32>\n %r = stablehlo.{name} %p : tensor<5xf32>")
for name in ("add", "subtract", "multiply", "maximum", "minimum"):
    program(name + "_q", ["3x4xf32", "3x4xf32"], f"3x4x{S}", f"""
      %x = stablehlo.uniform_quantize %a : (tensor<3x4xf32>) -> tensor<3x4x{Q}>
      %y = stablehlo.uniform_quantize %b : (tensor<3x4xf32>) -> tensor<3x4x{R}>
      %r = stablehlo.{name} %x, %y : (tensor<3x4x{Q}>, tensor<3x4x{R}>) -> tensor<3x4x{S}>""")
    for kind in ("i8", "ui8", "i32"):
        program(f"{name}_{kind}", [f"40x{kind}", f"40x{kind}"], f"40x{kind}",
            f"%r = stablehlo.{name} %a, %b : tensor<40x{kind}>")
for name in ("and", "or", "xor"):
    for kind in ("i1", "ui8", "i32"):
        program(f"{name}_{kind}", [f"40x{kind}", f"40x{kind}"], f"40x{kind}",
            f"%r = stablehlo.{name} %a, %b : tensor<40x{kind}>")
for kind in ("i1", "i32"):
    program(f"not_{kind}", [f"40x{kind}"], f"40x{kind}", f"%r = stablehlo.not %a : tensor<40x{kind}>")
program("negate_ui8", ["40xui8"], "40xui8", "%r = stablehlo.negate %a : tensor<40xui8>")
program("divide_i32", ["40xi32"], "40xi32", """%c = stablehlo.constant dense<-7> : tensor<40xi32>
  %r = stablehlo.divide %a, %c : tensor<40xi32>""")
program("remainder_i32", ["40xi32"], "40xi32", """%c = stablehlo.constant dense<-7> : tensor<40xi32>
  %r = stablehlo.remainder %a, %c : tensor<40xi32>""")
program("remainder_f32", ["40xf32"], "40xf32", """%c = stablehlo.constant dense<-0.7> : tensor<40xf32>
  %r = stablehlo.remainder %a, %c : tensor<40xf32>""")
program("power_i32", ["40xi8"], "40xi8", """%c = stablehlo.constant dense<3> : tensor<40xi8>
  %r = stablehlo.power %a, %c : tensor<40xi8>""")
program("power_f32", ["40xf32"], "40xf32", """%c = stablehlo.constant dense<3.0> : tensor<40xf32>
  %r = stablehlo.power %a, %c : tensor<40xf32>""")
for direction in ("EQ", "NE", "LT", "LE", "GT", "GE"):
    program("compare_" + direction, ["40xi8", "40xi8"], "40xi1",
            f"%r = stablehlo.compare {direction}, %a, %b, SIGNED : (tensor<40xi8>, tensor<40xi8>) -> tensor<40xi1>")
program("compare_long", ["4xf32", "4xf32"], "4xi1", """%r = "stablehlo.compare"(%a, %b) <{
  compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}>
  : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>""")
program("select", ["4xf32", "4xf32"], "4xf32", """%p = stablehlo.compare GT, %a, %b : (tensor<4xf32>, tensor<4xf32>) ->
    tensor<4xi1>
  %r = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>""")
program("clamp", ["4x5xf32"], "4x5xf32", """%l = stablehlo.constant dense<-0.5> : tensor<f32>
  %h = stablehlo.constant dense<0.7> : tensor<f32>
  %r = stablehlo.clamp %l, %a, %h : (tensor<f32>, tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>""")
program("convert_ui8", ["40xi32"], "40xui8", "%r = stablehlo.convert %a : (tensor<40xi32>) -> tensor<40xui8>")
program("convert_f32", ["40xi32"], "40xf32", "%r = stablehlo.convert %a : (tensor<40xi32>) -> tensor<40xf32>")
program("is_finite", ["4xf32"], "4xi1", """%z = stablehlo.constant dense<[1.0, 0.0, 0.0, 1.0]> : tensor<4xf32>
  %d = stablehlo.divide %a, %z : tensor<4xf32>
  %r = stablehlo.is_finite %d : (tensor<4xf32>) -> tensor<4xi1>""")
program("requantize", ["40xf32"], f"40x{R}", f"""%x = stablehlo.uniform_quantize %a : (tensor<40xf32>) -> tensor<40x{Q}>
  %r = stablehlo.uniform_quantize %x : (tensor<40x{Q}>) -> tensor<40x{R}>""")
program("bounds", ["40xf32"], f"40x{NARROW}", f"""%six = stablehlo.constant dense<6.0> : tensor<40xf32>
  %m = stablehlo.multiply %a, %six : tensor<40xf32>
  %r = stablehlo.uniform_quantize %m : (tensor<40xf32>) -> tensor<40x{NARROW}>""")
for name, to, body in (
        ("transpose", "4x2x3", "%r = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x3x4xT>) -> tensor<4x2x3xT>"),
        ("reshape", "6x4", "%r = stablehlo.reshape %a : (tensor<2x3x4xT>) -> tensor<6x4xT>"),
        ("slice", "1x2x2", "%r = stablehlo.slice %a [1:2, 0:3:2, 1:4:2] : (tensor<2x3x4xT>) -> tensor<1x2x2xT>"),
        ("reverse", "2x3x4", "%r = stablehlo.reverse %a, dims = [0, 2] : tensor<2x3x4xT>"),
        ("concatenate", "2x6x4",
        "%r = stablehlo.concatenate %a, %a, dim = 1 : (tensor<2x3x4xT>, tensor<2x3x4xT>) -> tensor<2x6x4xT>"),
        ("broadcast", "3x5x2x4",
        "%r = stablehlo.broadcast_in_dim %a, dims = [2, 0, 3] : (tensor<2x3x4xT>) -> tensor<3x5x2x4xT>")):
    for kind in ("f32", "i8"):
        program(f"{name}_{kind}", [f"2x3x4x{kind}"], f"{to}x{kind}", body.replace("T", kind))
program("pad", ["2x3xf32"], "5x4xf32", """%c = stablehlo.constant dense<9.0> : tensor<f32>
  %r = stablehlo.pad %a, %c, low = [1, -1], high = [1, 0], interior = [1, 1]
    : (tensor<2x3xf32>, tensor<f32>) -> tensor<5x4xf32>""")
for kind, zero in (("f32", "0.0"), ("i32", "0")):
    program(f"reduce_{kind}", [f"2x3x4x{kind}"], f"3x{kind}", f"""%c = stablehlo.constant dense<{zero}> : tensor<{kind}>
      %r = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0, 2]
        : (tensor<2x3x4x{kind}>, tensor<{kind}>) -> tensor<3x{kind}>""")
program("reduce_body", ["2x3x4xi8"], "3x4xi8", """%c = stablehlo.constant dense<5> : tensor<i8>
  %r = stablehlo.reduce(%a init: %c) across dimensions = [0] : (tensor<2x3x4xi8>, tensor<i8>) -> tensor<3x4xi8>
    reducer(%l: tensor<i8>, %m: tensor<i8>) {
      %o = stablehlo.maximum %l, %m : tensor<i8>
      stablehlo.return %o : tensor<i8>
    }""")
program("reduce_long", ["2x3xi1"], "2xi1", """%c = stablehlo.constant dense<true> : tensor<i1>
  %r = "stablehlo.reduce"(%a, %c) <{dimensions = array<i64: 1>}> ({
    ^bb0(%l: tensor<i1>, %m: tensor<i1>):
      %o = stablehlo.and %l, %m : tensor<i1>
      stablehlo.return %o : tensor<i1>
  }) : (tensor<2x3xi1>, tensor<i1>) -> tensor<2xi1>""")


def window(name, kind, init, op, attributes, shape, to):
    program(name, [f"{shape}x{kind}"], f"{to}x{kind}", f"""%c = stablehlo.constant dense<{init}> : tensor<{kind}>
      %r = "stablehlo.reduce_window"(%a, %c) <{{{attributes}}}> ({{
        ^bb0(%l: tensor<{kind}>, %m: tensor<{kind}>):
          %o = stablehlo.{op} %l, %m : tensor<{kind}>
          stablehlo.return %o : tensor<{kind}>
      }}) : (tensor<{shape}x{kind}>, tensor<{kind}>) -> tensor<{to}x{kind}>""")


window("max_pool_nhwc", "f32", "0xFF800000", "maximum",
       "window_dimensions = array<i64: 1, 2, 3, 1>, window_strides = array<i64: 1, 2, 1, 1>,"
       "padding = dense<[[0, 0], [1, 0], [1, 1], [0, 0]]> : tensor<4x2xi64>", "2x5x6x3", "2x3x6x3")
window("sum_pool", "f32", "0.0", "add",
       "window_dimensions = array<i64: 2, 3>, window_dilations = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 2]]> "
       ": tensor<2x2xi64>",
       "4x7", "4x5")
window("max_pool_wide", "i8", "-128", "maximum",
       "window_dimensions = array<i64: 2>, padding = dense<[[2, 3]]> : tensor<1x2xi64>", "5", "9")


def dot(name, left, right, to, numbers):
    program(name, [f"{left}xf32", f"{right}xf32"], f"{to}xf32", f"""
      %r = stablehlo.dot_general %a, %b, {numbers} : (tensor<{left}xf32>, tensor<{right}xf32>) -> tensor<{to}xf32>""")
    program(name + "_q", [f"{left}xf32", f"{right}xf32"], f"{to}x{S}", f"""
      %x = stablehlo.uniform_quantize %a : (tensor<{left}xf32>) -> tensor<{left}x{Q}>
      %y = stablehlo.uniform_quantize %b : (tensor<{right}xf32>) -> tensor<{right}x{NARROW}>
      %d = stablehlo.dot_general %x, %y, {numbers} : (tensor<{left}x{Q}>, tensor<{right}x{NARROW}>) ->
        tensor<{to}x!quant.uniform<i32:f32, 0.002>>
      %r = stablehlo.uniform_quantize %d : (tensor<{to}x!quant.uniform<i32:f32, 0.002>>) -> tensor<{to}x{S}>""")


dot("dot", "3x4", "4x5", "3x5", "contracting_dims = [1] x [0]")
dot("dot_vectors", "4", "4", "", "contracting_dims = [0] x [0]")
dot("dot_batch", "2x3x4x5", "5x2x6x4", "2x3x6",
    "batching_dims = [0] x [1], contracting_dims = [2, 3] x [3, 0], precision = [DEFAULT, DEFAULT]")
dot("dot_outer", "2x3", "4", "2x3x4", "contracting_dims = [] x []")
for name in [name for name in PROGRAMS if name == "dot_vectors_q" or name == "dot_vectors"]:
    arguments, result, body, integers = PROGRAMS[name]
    PROGRAMS[name] = (arguments, result.removeprefix("x"), body.replace("tensor<x", "tensor<"), integers)
program("dot_i8", ["3x4xi8", "4x5xi8"], "3x5xi32",
        "%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xi8>, tensor<4x5xi8>) -> "
        "tensor<3x5xi32>")


def conv(name, left, right, to, numbers, attributes="batch_group_count = 1 : i64, feature_group_count = 1 : i64",
         kinds="fq"):
    if "f" in kinds:
        program(name, [f"{left}xf32", f"{right}xf32"], f"{to}xf32", f"""
          %r = stablehlo.convolution(%a, %b) {numbers} {{{attributes}}}
            : (tensor<{left}xf32>, tensor<{right}xf32>) -> tensor<{to}xf32>""")
    if "q" in kinds:
        program(name + "_q", [f"{left}xf32", f"{right}xf32"], f"{to}x{S}", f"""
          %x = stablehlo.uniform_quantize %a : (tensor<{left}xf32>) -> tensor<{left}x{Q}>
          %y = stablehlo.uniform_quantize %b : (tensor<{right}xf32>) -> tensor<{right}x{NARROW}>
          %d = stablehlo.convolution(%x, %y) {numbers} {{{attributes}}}
            : (tensor<{left}x{Q}>, tensor<{right}x{NARROW}>) -> tensor<{to}x!quant.uniform<i32:f32, 0.002>>
          %r = stablehlo.uniform_quantize %d : (tensor<{to}x!quant.uniform<i32:f32, 0.002>>) -> tensor<{to}x{S}>""")


conv("conv_nhwc", "1x5x6x2", "3x2x2x4", "1x5x5x4",
     "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [0, 0]]}")
conv("conv_mixed", "5x2x6x1", "4x2x3x2", "1x2x4x3",
     "dim_numbers = [0, f, 1, b]x[o, i, 0, 1]->[b, 0, f, 1], window = {stride = [2, 2], pad = [[1, 0], [1, 0]]}")
conv("conv_dilated", "1x2x9", "3x2x3", "1x3x5",
    "dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {rhs_dilate = [2]}")
conv("conv_transposed", "1x2x4x4", "3x2x2x3", "1x3x8x8",
     "dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [2, 1]], lhs_dilate = [2, 2]}")
conv("conv_reversed", "1x2x5x5", "3x2x3x2", "1x3x3x4",
     "dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {reverse = [true, true]}", kinds="f")
conv("conv_cropped", "1x2x7x5", "3x2x3x2", "1x3x3x4",
     "dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[-1, -1], [0, 0]]}", kinds="f")
conv("conv_groups", "1x4x6", "6x2x3", "1x6x4", "dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {}",
     "batch_group_count = 1 : i64, feature_group_count = 2 : i64")
program("conv_per_axis", ["1x4x4x2xf32", "2x2x2x4xf32"], f"1x3x3x4x{S}", f"""
  %x = stablehlo.uniform_quantize %a : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2x{Q}>
  %y = stablehlo.uniform_quantize %b : (tensor<2x2x2x4xf32>) -> tensor<2x2x2x4x{AXIS}>
  %d = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<1x4x4x2x{Q}>, tensor<2x2x2x4x{AXIS}>) -> tensor<1x3x3x4x{ACC}>
  %r = stablehlo.uniform_quantize %d : (tensor<1x3x3x4x{ACC}>) -> tensor<1x3x3x4x{S}>""")


def gather(name, data, indices, to, numbers, sizes):
    program(name, [f"{data}xf32", f"{indices}xi32"], f"{to}xf32", f"""
      %r = "stablehlo.gather"(%a, %b) <{{dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64:
        {sizes}>}}>
        : (tensor<{data}xf32>, tensor<{indices}xi32>) -> tensor<{to}xf32>""", 5)


gather("gather_rows", "4x5", "3x1", "3x5",
    "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 5")
gather("gather_columns", "4x5", "3x2", "3x4x2",
    "offset_dims = [1], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2", "4, 1")
gather("gather_window", "4x5x6", "7x2", "7x2x3x6",
    "offset_dims = [1, 2, 3], start_index_map = [1, 0], index_vector_dim = 1", "2, 3, 6")
gather("gather_part", "4x5x6", "2x3", "3x2x3",
    "offset_dims = [1, 2], collapsed_slice_dims = [1], start_index_map = [1, 2], index_vector_dim = 0", "2, 1, 3")
gather("gather_batch", "3x4x5", "2x3x1", "2x3x2x5",
    "offset_dims = [2, 3], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], "
    "index_vector_dim = 2", "1, 2, 5")
program("iota", ["2x3xi32"], "2x3xi32", """%i = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %r = stablehlo.add %a, %i : tensor<2x3xi32>""")


def stored(result):
    return result.split("!quant")[0] + result.split("uniform<")[1].split(":f32")[0].split("<")[0].replace("u8", "ui8") \
        if "!quant" in result else result


def text_of(name, spelled_out=False):
    arguments, result, body, _ = PROGRAMS[name]
    if spelled_out and "stablehlo.convolution" in body and "!quant" in body:
        body = over_reals(body)
    names = ", ".join(f"%{letter}: tensor<{kind}>" for letter, kind in zip("ab", arguments))
    plain = stored(result)
    end = f"return %r : tensor<{result}>"
    if plain != result:
        end = (f"%s = stablehlo.bitcast_convert %r : (tensor<{result}>) -> tensor<{plain}>\n"
               f"  return %s : tensor<{plain}>")
    return f"func.func @main({names}) -> tensor<{plain}> {{\n  {body}\n  {end}\n}}\n"


def context():
    made = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    made.append_dialect_registry(registry)
    for dialect in (stablehlo, chlo):
        dialect.register_dialect(made)
    made.load_all_available_dialects()
    stablehlo.register_stablehlo_passes()
    with made:  # passes load the dialect of !quant
        for one in ("func.func(stablehlo-legalize-quant-to-math)", "func.func(stablehlo-legalize-qdq-to-quantized-op)",
                    "stablehlo-legalize-to-vhlo", "func.func(stablehlo-legalize-quantized-op-to-qdq)",
                    "vhlo-legalize-to-stablehlo"):
            PassManager.parse(f"builtin.module({one})").run(ir.Module.parse("module {}").operation)
    return made


def random_input(kind, generator, bound):
    *dims, element = kind.split("x")
    shape = [int(dim) for dim in dims]
    if element == "f32":
        return (generator.standard_normal(shape) * 2).astype("f4")
    if element == "i1":
        return generator.random(shape) < 0.5
    dtype = numpy.dtype({"i8": "i1", "ui8": "u1", "i32": "i4"}[element])
    low, high = (-2, bound) if bound else (max(numpy.iinfo(dtype).min, -1000), min(numpy.iinfo(dtype).max, 1000))
    return generator.integers(low, high, shape, dtype)


def interpret(made, text, inputs):
    with made:
        module = ir.Module.parse(text)
        PassManager.parse("builtin.module(func.func(stablehlo-legalize-quant-to-math,chlo-legalize-to-stablehlo))").run(
            module.operation)
        attributes = []
        for value in inputs:
            if value.dtype == bool or value.dtype.kind == "u":
                element = "i1" if value.dtype == bool else f"ui{value.dtype.itemsize * 8}"
                shape = "".join(f"{size}x" for size in value.shape)
                elements = str(value.tolist()).lower()
                attributes.append(ir.Attribute.parse(f"dense<{elements}> : tensor<{shape}{element}>"))
            elif value.dtype.kind == "i":
                attributes.append(ir.DenseElementsAttr.get(
                    value, type=ir.IntegerType.get_signless(value.dtype.itemsize * 8)))
            else:
                attributes.append(ir.DenseElementsAttr.get(value))
        return numpy.array(stablehlo.eval_module(module, attributes)[0])


def convert_and_run(qtx, text, inputs, folder, arithmetic):
    path = pathlib.Path(folder, "p.mlir")
    path.write_text(text)
    subprocess.run([qtx, "convert", path, "-o", f"{folder}/m.onnx", "-q"], check=True, capture_output=True, text=True)
    command = [qtx, "run", f"{folder}/m.onnx", "-q", "--arithmetic", arithmetic, "--output-dir", folder]
    for letter, value in zip("ab", inputs):
        numpy.save(f"{folder}/in_{letter}", value)
        command += ["--input", f"{letter}={folder}/in_{letter}.npy"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return numpy.load(next(path for path in pathlib.Path(folder).glob("*.npy") if not path.name.startswith("in_")))


def difference(actual, expected, quantized):
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    a, b = actual.astype("f8"), expected.astype("f8")
    if quantized:
        off = numpy.abs(a - b)
        return "" if off.max(initial=0) <= 1 else f"up to {off.max()}"
    floats = expected.dtype.kind == "f"
    close = numpy.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True) if floats else numpy.array_equal(a, b)
    return "" if close else f"{a.ravel()[:6]} expected {b.ravel()[:6]}"


def main():
    qtx = sys.argv[1]
    names = sys.argv[2:] or list(PROGRAMS)
    made = context()
    failed, by_one = 0, 0
    for name in names:
        generator = numpy.random.default_rng(len(name))
        arguments, result, _, bound = PROGRAMS[name]
        inputs = [random_input(kind, generator, bound) for kind in arguments]
        with tempfile.TemporaryDirectory() as folder:
            try:
                expected = interpret(made, text_of(name, spelled_out=True), inputs)
            except Exception as error:  # noqa: BLE001
                print(f"{name}: the interpreter: {str(error)[:300]}")
                failed += 1
                continue
            try:
                actual = convert_and_run(qtx, text_of(name), inputs, folder, "float32")
            except subprocess.CalledProcessError as error:
                print(f"{name}: {error.stderr.strip()[-300:]}")
                failed += 1
                continue
        wrong = difference(actual, expected, "!quant" in result)
        by_one += "!quant" in result and not wrong and not numpy.array_equal(actual, expected)
        failed += bool(wrong)
        if wrong:
            print(f"{name}: {wrong}")
    print(f"{len(names)} programs, {failed} differ; of the quantized ones {by_one} by 1 somewhere")


if __name__ == "__main__":
    main()
