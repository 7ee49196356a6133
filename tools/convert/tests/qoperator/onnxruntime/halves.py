"""Holds `--to qoperator` of FLOAT16 and BFLOAT16 reals to stock ONNX: halves.py QTX [FILTER]

Each case is one operator between Q/DQ pairs of a type of reals, opset and storage. What it becomes must pass ONNX's full
check, load in ONNX Runtime, give its results of the Q/DQ form within a stored unit or one of the last bits (its kernels on
integers sum otherwise), and come back as the same extended form.
"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from common import in_runtime, qtx, session

REALS = {"FLOAT": TensorProto.FLOAT, "FLOAT16": TensorProto.FLOAT16, "BFLOAT16": TensorProto.BFLOAT16}
RNG = np.random.default_rng(47)


class Maker:
    """A graph of Q/DQ pairs on reals of one type."""

    def __init__(self, real, storage, opset):
        self.real, self.storage, self.opset = REALS[real], storage, opset
        self.nodes, self.stored, self.inputs, self.given = [], [], [], {}

    def scale(self, value, name):
        self.stored.append(helper.make_tensor(name, self.real, np.shape(value), np.ravel(value).tolist()))
        return name

    def parameters(self, name, scale, zero=None):
        kind = self.storage
        zero = (3 if kind == TensorProto.INT8 else 130) if zero is None else zero
        self.scale(scale, name + "_scale")
        zeros = np.full(np.shape(scale), zero)
        self.stored.append(helper.make_tensor(name + "_zero", kind, np.shape(scale), np.ravel(zeros).tolist()))
        return [name + "_scale", name + "_zero"]

    def quantized(self, name, dims, scale=0.0625):
        """A graph input of reals, quantized and back."""
        self.inputs.append(helper.make_tensor_value_info(name, self.real, dims))
        self.given[name] = (RNG.standard_normal(dims) * 3).astype(np.float16 if self.real == TensorProto.FLOAT16 else np.float32)
        p = self.parameters(name, scale)
        self.nodes.append(helper.make_node("QuantizeLinear", [name] + p, [name + "_q"]))
        self.nodes.append(helper.make_node("DequantizeLinear", [name + "_q"] + p, [name + "_r"]))
        return name + "_r"

    def weight(self, name, dims, per_axis=False, axis=0):
        scale = RNG.random(dims[axis]) * 0.125 + 0.03125 if per_axis else 0.0625
        p = self.parameters(name, np.asarray(scale, np.float16).astype(np.float32), 0 if self.storage == TensorProto.INT8 else 128)
        low = -127 if self.storage == TensorProto.INT8 else 0
        codes = RNG.integers(low, low + 255, dims)
        self.stored.append(helper.make_tensor(name + "_q", self.storage, dims, codes.ravel().tolist()))
        self.nodes.append(helper.make_node("DequantizeLinear", [name + "_q"] + p, [name], axis=axis))
        return name

    def bias(self, name, dims, scale):
        self.scale(scale, name + "_scale")
        codes = RNG.integers(-200, 200, dims)
        self.stored.append(helper.make_tensor(name + "_q", TensorProto.INT32, dims, codes.ravel().tolist()))
        self.nodes.append(helper.make_node("DequantizeLinear", [name + "_q", name + "_scale"], [name]))
        return name

    def done(self, op, inputs, scale=0.25, after=True, **attributes):
        self.nodes.append(helper.make_node(op, inputs, ["y_r" if after else "y"], name="the_node", **attributes))
        if after:
            p = self.parameters("y", scale)
            self.nodes.append(helper.make_node("QuantizeLinear", ["y_r"] + p, ["y_q"]))
            self.nodes.append(helper.make_node("DequantizeLinear", ["y_q"] + p, ["y"]))
        kind = attributes.get("to", self.real)
        graph = helper.make_graph(self.nodes, "g", self.inputs, [helper.make_tensor_value_info("y", kind, None)], self.stored)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)
        return onnx.shape_inference.infer_shapes(model), self.given


def constant(m, name, value, kind):
    m.stored.append(helper.make_tensor(name, kind, np.shape(value), np.ravel(value).tolist()))
    return name


CASES = {
    "Conv": lambda m: m.done("Conv", [m.quantized("x", [1, 4, 6, 6]), m.weight("w", [5, 4, 3, 3])]),
    "Conv_axis": lambda m: m.done("Conv", [m.quantized("x", [1, 4, 6, 6]), m.weight("w", [5, 4, 3, 3], True)]),
    "Conv_bias": lambda m: m.done("Conv", [m.quantized("x", [1, 4, 6, 6]), m.weight("w", [5, 4, 3, 3]),
                                           m.bias("b", [5], 0.00390625)]),
    "Conv_real": lambda m: m.done("Conv", [m.quantized("x", [1, 4, 6, 6]), m.weight("w", [5, 4, 3, 3])], after=False),
    "MatMul": lambda m: m.done("MatMul", [m.quantized("x", [3, 16]), m.weight("w", [16, 5])]),
    "MatMul_axis": lambda m: m.done("MatMul", [m.quantized("x", [3, 16]), m.weight("w", [16, 5], True, 1)]),
    "MatMul_two": lambda m: m.done("MatMul", [m.quantized("x", [3, 16]), m.quantized("w", [16, 5])]),
    "MatMul_real": lambda m: m.done("MatMul", [m.quantized("x", [3, 16]), m.weight("w", [16, 5])], after=False),
    "Gemm": lambda m: m.done("Gemm", [m.quantized("x", [3, 16]), m.weight("w", [16, 5])]),
    "Gemm_bias": lambda m: m.done("Gemm", [m.quantized("x", [3, 16]), m.weight("w", [5, 16]), m.bias("b", [5], 0.00390625)],
                                  transB=1),
    "Add": lambda m: m.done("Add", [m.quantized("x", [2, 7]), m.quantized("z", [2, 7], 0.03125)]),
    "Mul": lambda m: m.done("Mul", [m.quantized("x", [2, 7]), m.quantized("z", [2, 7], 0.03125)]),
    "Sub": lambda m: m.done("Sub", [m.quantized("x", [2, 7]), m.quantized("z", [2, 7], 0.03125)]),
    "Concat": lambda m: m.done("Concat", [m.quantized("x", [2, 7]), m.quantized("z", [2, 7], 0.03125)], axis=1),
    "AveragePool": lambda m: m.done("AveragePool", [m.quantized("x", [1, 2, 6, 6])], kernel_shape=[2, 3]),
    "GlobalAveragePool": lambda m: m.done("GlobalAveragePool", [m.quantized("x", [1, 2, 6, 6])]),
    "MaxPool": lambda m: m.done("MaxPool", [m.quantized("x", [1, 2, 6, 6])], kernel_shape=[2, 3]),
    "LeakyRelu": lambda m: m.done("LeakyRelu", [m.quantized("x", [2, 7])], alpha=0.1),
    "Relu": lambda m: m.done("Relu", [m.quantized("x", [2, 7])]),
    "Sigmoid": lambda m: m.done("Sigmoid", [m.quantized("x", [2, 7])], 0.00390625),
    "Softmax": lambda m: m.done("Softmax", [m.quantized("x", [2, 7])], 0.00390625, axis=-1),
    "Where": lambda m: m.done("Where", [constant(m, "c", [[True, False] * 3 + [True]] * 2, TensorProto.BOOL),
                                        m.quantized("x", [2, 7]), m.quantized("z", [2, 7], 0.03125)]),
    "ReduceMean": lambda m: m.done("ReduceMean", [m.quantized("x", [2, 7]), constant(m, "axes", [1], TensorProto.INT64)]),
    "Transpose": lambda m: m.done("Transpose", [m.quantized("x", [2, 7])], 0.0625, perm=[1, 0]),
    "Transpose_other": lambda m: m.done("Transpose", [m.quantized("x", [2, 7])], perm=[1, 0]),
    "Reshape": lambda m: m.done("Reshape", [m.quantized("x", [2, 7]), constant(m, "s", [14], TensorProto.INT64)], 0.0625),
    "Cast_FLOAT": lambda m: m.done("Cast", [m.quantized("x", [2, 7])], after=False, to=TensorProto.FLOAT),
    "Cast_FLOAT16": lambda m: m.done("Cast", [m.quantized("x", [2, 7])], after=False, to=TensorProto.FLOAT16),
}


def hold(program, model, given, folder):
    stock, extended, written, again = (os.path.join(folder, name + ".onnx") for name in ("stock", "ext", "q", "again"))
    onnx.save(model, stock)
    qtx(program, "convert", stock, "-o", extended)
    try:
        qtx(program, "convert", extended, "-o", written, "--to", "qoperator")
    except RuntimeError as error:
        if "graph.C7" not in str(error) or os.path.exists(written):
            raise
        return "refused: ONNX has the operator for this type in newer opsets"
    made = onnx.load(written)
    # ONNX has no schemas of com.microsoft: its full check is of the others alone.
    foreign = any(node.domain for node in made.graph.node)
    onnx.checker.check_model(made, full_check=not foreign)
    qtx(program, "convert", written, "-o", again)
    qtx(program, "diff", extended, again)
    found = " ".join(sorted({node.op_type for node in made.graph.node} - {"QuantizeLinear", "DequantizeLinear"}))
    try:
        session(stock)
    except Exception:  # pylint: disable=broad-except
        return found + ", not run: ONNX Runtime has no kernel for the Q/DQ form either"
    expected, result = in_runtime(stock, given)["y"], in_runtime(written, given)["y"]
    far = np.abs(expected.astype(np.float64) - result.astype(np.float64))
    scale = [onnx.numpy_helper.to_array(t) for t in model.graph.initializer if t.name == "y_scale"]
    bound = float(scale[0]) if scale else 2.0 ** -9 * float(np.abs(expected).max())
    assert expected.dtype == result.dtype and far.max() <= bound, f"{found}: results differ by {far.max():.2e}"
    return f"{found}, {np.count_nonzero(far)} of {far.size} differ"


def main():
    program, wanted = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    failed = total = 0
    for name, make in CASES.items():
        for real in REALS:
            for opset in (19, 21, 23):
                for storage, label in ((TensorProto.INT8, "INT8"), (TensorProto.UINT8, "UINT8")):
                    case = f"{name} {real} {opset} {label}"
                    if wanted not in case:
                        continue
                    total += 1
                    with tempfile.TemporaryDirectory() as folder:
                        try:
                            print(f"{case}: {hold(program, *make(Maker(real, storage, opset)), folder)}")
                        except Exception as error:  # pylint: disable=broad-except
                            failed += 1
                            print(f"{case}: FAILED {str(error)[:300]}")
    print(f"{total - failed} of {total}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
