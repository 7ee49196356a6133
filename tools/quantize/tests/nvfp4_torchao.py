#!/usr/bin/env python3
"""Compares `qtx quantize --weights nvfp4` with torchao's nvfp4_quantize on the same weights.

    nvfp4_torchao.py QTX         needs numpy, onnx, torch and torchao

Prints how many scales differ, and how many codes below equal scales."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale


def nibbles(packed):
    return np.stack([packed & 15, packed >> 4], -1)


def ours(qtx, w, folder):
    size, columns = w.shape
    graph = helper.make_graph(
        [helper.make_node('MatMul', ['x', 'w'], ['y'])], 'g', [helper.make_tensor_value_info('x', 1, [1, size])],
        [helper.make_tensor_value_info('y', 1, [1, columns])], [numpy_helper.from_array(w, 'w')])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 8
    onnx.save(model, folder / 'net.onnx')
    subprocess.run([qtx, 'quantize', folder / 'net.onnx', '-o', folder / 'q.onnx', '--activations', 'float', '--weights', 'nvfp4', '-q'], check=True)
    stored = {i.name: np.frombuffer(i.raw_data, np.uint8) for i in onnx.load(folder / 'q.onnx').graph.initializer}
    return stored['w_scale'].reshape(size // 16, columns), nibbles(stored['w']).reshape(size, columns)


def theirs(w):
    size, columns = w.shape
    turned = torch.from_numpy(np.ascontiguousarray(w.T))
    scales, packed = nvfp4_quantize(turned, 16, per_tensor_amax_to_scale(turned.abs().max()))
    return scales.view(torch.uint8).numpy().reshape(columns, size // 16).T, nibbles(packed.numpy()).reshape(columns, size).T


def main():
    rng = np.random.default_rng(5)
    total = np.zeros(4, int)
    for case in range(12):
        size, columns, spread = 64 * (1 + case % 4), 24, [0.5, 1, 2, 4, 0, 3][case % 6]
        w = (rng.standard_normal((size, columns)) * np.exp(spread * rng.standard_normal((size, columns)))).astype(np.float32)
        w *= {6: np.float32(1e-30), 8: np.float32(2**-145)}.get(case, np.float32(1))
        if case == 7:
            w[:16] = 0
        with tempfile.TemporaryDirectory() as folder:
            scales, codes = ours(sys.argv[1], w, pathlib.Path(folder))
        other_scales, other_codes = theirs(w)
        same = np.repeat(scales == other_scales, 16, 0)
        # -0 and 0 are one value.
        differ = same & (np.where(codes == 8, 0, codes) != np.where(other_codes == 8, 0, other_codes))
        total += [scales.size, (scales != other_scales).sum(), same.sum(), differ.sum()]
    print('{} scales, {} differ; {} codes below equal ones, {} differ'.format(*total))


if __name__ == '__main__':
    main()
