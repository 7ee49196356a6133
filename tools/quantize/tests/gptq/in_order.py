#!/usr/bin/env python3
"""Holds `qtx quantize --method gptq --data` to numpy: each layer is rounded for the inputs that the layers before leave.

    in_order.py QTX [SEED]        needs numpy and onnx

Networks of three layers, MatMul or Gemm with Relu between. Of the second and third numpy computes the inputs X behind the
weights that are stored, and Y of the real network, both rounded to the grid, then W' of (X^T X + d) W' = (X^T Y + d) W, which
algorithm 1 rounds (compare.py). Of coordinate descent what it promises for these X and W' is held (descent.py). The outputs'
error on held-out inputs is printed as a share of what the sums of real inputs leave (--gram)."""
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

from compare import BITS, call, gptq, type_of
from descent import damped, hold

KINDS = ['int4:block=32', 'int4', 'uint4:asymmetric:block=16', 'int8']
SIZES = [48, 64, 40, 12]


def save(weights, path):
    nodes, value = [], 'x'
    for i in range(3):
        nodes.append(helper.make_node('MatMul', [value, f'w{i}'], [f'h{i}'], name=f'n{i}'))
        value = f'h{i}'
        if i < 2:
            nodes.append(helper.make_node('Relu', [value], [f'r{i}']))
            value = f'r{i}'
    graph = helper.make_graph(nodes, 'g', [helper.make_tensor_value_info('x', 1, ['N', SIZES[0]])],
                              [helper.make_tensor_value_info('h2', 1, ['N', SIZES[-1]])], [numpy_helper.from_array(w, f'w{i}') for i, w in enumerate(weights)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 8
    onnx.save(model, path)


def stored(qtx, model, folder):
    """(code, scale, zero) of each w, in numpy's shapes: the lowered form."""
    call(qtx, 'lower', model, '-o', folder / 'lowered.onnx', '--opset', '25')
    graph = onnx.load(folder / 'lowered.onnx').graph
    constants = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    found = []
    for node in graph.node:
        if node.op_type != 'DequantizeLinear' or node.input[0] not in constants:
            continue
        attributes = {a.name: a.i for a in node.attribute}
        code, scale = (constants[name].astype(np.float64) for name in node.input[:2])
        zero = constants[node.input[2]].astype(np.float64) if len(node.input) > 2 else np.zeros_like(scale)
        axis, block = attributes.get('axis', 1), attributes.get('block_size', 0)
        if block:
            scale, zero = (np.repeat(v, block, axis).take(range(code.shape[axis]), axis) for v in (scale, zero))
        elif scale.ndim == 1:
            scale, zero = (v.reshape([-1 if i == axis else 1 for i in range(2)]) for v in (scale, zero))
        found.append((code, scale, zero))
    return found


def inputs(x, weights, layer):
    """What layer reads, in binary64 and rounded to binary32 after each layer."""
    for w in weights[:layer]:
        x = np.maximum((x.astype(np.float64) @ w.astype(np.float64)).astype(np.float32), 0)
    return x


def on_grid(x, most):
    step = np.ldexp(1.0, int(np.frexp(most)[1]) - BITS + 1)
    return np.rint(x.astype(np.float64) / step) * step


def run(qtx, rng, folder):
    weights = [rng.standard_normal((a, b)).astype(np.float32) / np.float32(np.sqrt(a)) for a, b in zip(SIZES, SIZES[1:])]
    mix = rng.standard_normal((SIZES[0], SIZES[0])) * np.linspace(0.02, 1, SIZES[0])[:, None]
    x, test = ((rng.standard_normal((rows, SIZES[0])) @ mix).astype(np.float32) for rows in (320, 500))
    (folder / 'data').mkdir()
    for i in range(8):
        np.save(folder / 'data' / f's{i}.npy', x[40 * i:40 * i + 40])
    save(weights, folder / 'net.onnx')
    data = ['--data', folder / 'data', '--shape', f'?,{SIZES[0]}', '-q']
    call(qtx, 'calibrate', folder / 'net.onnx', *data, '-o', folder / 'measured.onnx')
    call(qtx, 'calibrate', folder / 'measured.onnx', *data, '-o', folder / 'again.onnx', '--gram', folder / 'gram.onnx')
    lines, count = [], 0
    for kind in KINDS:
        common = [folder / 'measured.onnx', '--activations', 'float', '--weights', kind]
        errors = {}
        for method, by in (('gptq', data), ('coordinate-descent', data), ('gptq', ['--gram', folder / 'gram.onnx', '-q'])):
            call(qtx, 'quantize', *common, '-o', folder / 'q.onnx', '--method', method, *by)
            parts = stored(qtx, folder / 'q.onnx', folder)
            ours = [p[1] * (p[0] - p[2]) for p in parts]
            real, left = (inputs(test, w, 2).astype(np.float64) @ w[2] for w in (weights, ours))
            errors[method, len(by)] = np.linalg.norm(real - left)
            if '--gram' in by:
                continue
            for layer in range(3):
                y = inputs(x, weights, layer)
                most = np.abs(y).max()
                changed, y = on_grid(inputs(x, [np.float32(w) for w in ours], layer), most), on_grid(y, most)
                h = changed.T @ changed
                extra = damped(h) - h
                w = weights[layer].astype(np.float64)
                target = np.linalg.solve(h + extra, (changed.T @ y + extra) @ w)
                if method == 'gptq':
                    theirs, ties, _ = gptq(target, h, kind, originals=w)
                    close = np.argwhere(ties < 1e-5)
                    differ = np.argwhere(~np.isclose(ours[layer], theirs, rtol=1e-5, atol=1e-7))
                    free = [d for d in differ if not any(c[1] == d[1] and c[0] <= d[0] for c in close)]
                    assert not free, (kind, layer, len(free), free[:3])
                    count += w.size
                else:
                    hold(target, h, parts[layer], (), type_of(kind)[:2])
        gptq_, descent, sums = errors.values()
        lines.append(f'{kind} {gptq_ / sums:.2f}, {descent / sums:.2f}')
    print('error of GPTQ and of coordinate descent with --data over that of GPTQ with --gram: ' + '; '.join(lines))
    return count


def main():
    qtx, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = np.random.default_rng(seed)
    total = 0
    for _ in range(4):
        with tempfile.TemporaryDirectory() as folder:
            total += run(qtx, rng, pathlib.Path(folder))
    print(f'{total} weights agree')


if __name__ == '__main__':
    main()
