#!/usr/bin/env python3
"""Expected results of the corpus' QONNX models: python3 derive.py CORPUS

Evaluates each model with NumPy, operators as ONNX defines them, quantizers as QONNX does
(qonnx/custom_op/general: intquant.py, bipolar_quant.py). Each operator computes in binary64 and rounds
its result to binary32, as a FLOAT value is, except where a quantizer follows. So the rounding of sums
decides nothing, and arithmetic `exact` must give the same bits. Writes NAME_output.npy beside this
file, images thinned to every 4th row and column.
Needs numpy and onnx.
"""
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))


def pattern(shape, modulus):
    """The input that the test makes too: integers 0 to modulus - 1."""
    count = int(np.prod(shape))
    return (np.arange(count, dtype=np.int64) * 7919 % modulus).astype(np.float64).reshape(shape)


def quant(x, scale, zero, bits, signed=1, narrow=0, rounding_mode=b"ROUND"):
    assert rounding_mode == b"ROUND" and bits > 1
    low = -(2 ** (bits - 1)) + narrow if signed else 0
    high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1 - narrow
    return (np.rint(np.clip(x / scale + zero, low, high)) - zero) * scale


def bipolar(x, scale):
    return np.where(x >= 0, 1.0, -1.0) * scale


def batch_normalization(x, gamma, beta, mean, variance, epsilon=1e-5, momentum=0.9):
    shape = [1, -1] + [1] * (x.ndim - 2)
    gamma, beta, mean, variance = (v.reshape(shape) for v in (gamma, beta, mean, variance))
    # epsilon is a binary32 attribute
    return (x - mean) / np.sqrt(variance + float(np.float32(epsilon))) * gamma + beta


def conv(x, w, b=None, pads=(0, 0, 0, 0), strides=(1, 1), **_):
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    windows = windows[:, :, :: strides[0], :: strides[1]]
    y = np.einsum("nchwij,ocij->nohw", windows, w, optimize=True)
    return y if b is None else y + b.reshape(1, -1, 1, 1)


def depth_to_space(x, blocksize, mode):
    assert mode == b"CRD"
    n, c, h, w = x.shape
    x = x.reshape(n, c // blocksize**2, blocksize, blocksize, h, w).transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(n, c // blocksize**2, h * blocksize, w * blocksize)


OPERATORS = {
    "Add": np.add,
    "BatchNormalization": batch_normalization,
    "BipolarQuant": bipolar,
    "Concat": lambda *xs, axis: np.concatenate(xs, axis),
    "Conv": conv,
    "DepthToSpace": depth_to_space,
    "Div": np.divide,
    "Gather": lambda x, i, axis: np.take(x, i.astype(int), axis),
    "MatMul": np.matmul,
    "Mul": np.multiply,
    "Pow": np.power,
    "Quant": quant,
    "Relu": lambda x: np.maximum(x, 0),
    "Reshape": lambda x, shape: x.reshape(shape.astype(int)),
    "Shape": lambda x: np.array(x.shape, dtype=np.float64),
    "Sub": np.subtract,
    "Transpose": lambda x, perm: x.transpose(perm),
    "Unsqueeze": lambda x, axes: np.expand_dims(x, tuple(axes)),
}


def evaluate(model, x):
    values = {i.name: numpy_helper.to_array(i).astype(np.float64) for i in model.graph.initializer}
    values[next(i.name for i in model.graph.input if i.name not in values)] = x
    quantized = {node.input[0] for node in model.graph.node if "Quant" in node.op_type}
    for node in model.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        inputs = [values[name] for name in node.input]
        y = OPERATORS[node.op_type](*inputs, **attributes)
        values[node.output[0]] = y if node.output[0] in quantized else np.float32(y).astype(np.float64)
    return values[model.graph.output[0].name]


def main(corpus):
    folder = os.path.join(corpus, "qonnx")
    image = onnx.TensorProto()
    with open(os.path.join(folder, "espcn_subpixel_quant", "input_0.pb"), "rb") as file:
        image.ParseFromString(file.read())
    runs = {
        "TFC_1W1A": pattern((1, 1, 28, 28), 256) / 256,
        "TFC_2W2A": pattern((1, 1, 28, 28), 256) / 256,
        "eltwise_chanlast": pattern((1, 3, 64, 64), 256),
        # a corner: the nets take images of any size
        "espcn_subpixel_quant": numpy_helper.to_array(image).astype(np.float64)[:, :, :32, :32],
    }
    for name, x in runs.items():
        model = onnx.load(os.path.join(folder, name, "model.onnx"))
        y = evaluate(model, x).astype(np.float32)
        np.save(os.path.join(HERE, name + "_output.npy"), y[:, :, ::4, ::4] if y.ndim == 4 else y)


main(sys.argv[1])
