#!/usr/bin/env python3
"""Holds `qtx quantize --awq` to section 3.2 of arXiv:2306.00978, computed by numpy.

    awq.py QTX [SEED]        needs numpy and onnx

A LayerNormalization that two MatMul read, and a MatMul and a Relu before a third, with channels of unlike magnitude and
biases: calibrated in one run and in 8 shards, which must give the same model. numpy searches the factors on the same
sums, rounds the scaled weights to nearest, and all that is stored must be equal but next to ties; so must the constants
that are divided."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

from compare import call, parameters, type_of

KINDS = ['int4:block=32', 'uint4:asymmetric:block=16', 'int4', 'int8']
SIZE, WIDTH = 64, 48


def network(rng, path):
    def value(shape):
        return rng.standard_normal(shape).astype(np.float32)
    weights = {'g': np.exp(value(SIZE)), 'b': value(SIZE), 'q': value((SIZE, 24)), 'k': value((SIZE, WIDTH)), 'c': value(WIDTH),
               'd': value((WIDTH, 16))}
    weights['k'] *= np.exp(value(WIDTH)).astype(np.float32)
    nodes = [helper.make_node('LayerNormalization', ['x', 'g', 'b'], ['n']), helper.make_node('MatMul', ['n', 'q'], ['y']),
             helper.make_node('MatMul', ['n', 'k'], ['m']), helper.make_node('Add', ['m', 'c'], ['s']), helper.make_node('Relu', ['s'], ['r']),
             helper.make_node('MatMul', ['r', 'd'], ['z'])]
    graph = helper.make_graph(nodes, 'g', [helper.make_tensor_value_info('x', 1, ['N', SIZE])],
                              [helper.make_tensor_value_info('y', 1, ['N', 24]), helper.make_tensor_value_info('z', 1, ['N', 16])],
                              [numpy_helper.from_array(v, k) for k, v in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 8
    onnx.save(model, path)
    return weights


def hessian(path, name):
    words = numpy_helper.to_array({i.name: i for i in onnx.load(path).graph.initializer}[name])
    exponent, size = map(int, words[0])
    full = np.zeros((size, size))
    full[np.triu_indices(size)] = [float((int(high) << 64) + (int(low) & (1 << 64) - 1)) for low, high in words[1:]]
    return (full + np.triu(full, 1).T) * 4.0**exponent


def nearest(w, kind):
    """The stored reals, and how far each weight was from a tie."""
    low, high, unsigned, block, _ = type_of(kind)
    reals, ties = np.zeros(w.shape), np.zeros(w.shape)
    for k in range(0, len(w), block or len(w)):
        for c in range(w.shape[1]):
            part = slice(k, k + (block or len(w)))
            scale, offset = parameters(w[part, c], low, high, unsigned)
            at = w[part, c].astype(np.float64) / scale
            reals[part, c] = scale * (np.clip(np.rint(at) + offset, low, high) - offset)
            ties[part, c] = np.abs(np.abs(at - np.floor(at)) - 0.5)
    return reals, ties


def relative(w, kind):
    block = type_of(kind)[3] or len(w)
    return np.concatenate([np.abs(w[k:k + block]) / np.abs(w[k:k + block]).max(0) for k in range(0, len(w), block)]).sum(1)


def search(products, h, kind):
    x = np.sqrt(np.diag(h))
    w = sum(relative(p.astype(np.float64), kind) for p in products)
    x, w = (np.maximum(v / v.max(), 2.0**-14) for v in (x, w))
    found = []
    for by_weights in (False, True):
        for step in range(0, 20 if by_weights else 21):
            s = x**(step / 20) / (w**(1 - step / 20) if by_weights else 1)
            s = (s / np.sqrt(s.max() * s.min())).astype(np.float32)
            error = 0
            for p in products:
                left = nearest(p * s[:, None], kind)[0] / s[:, None].astype(np.float64) - p
                error += np.sum(left * (h @ left))
            found.append((error, s))
    least = min(found, key=lambda f: f[0])
    return least[1], least[0] / found[0][0]


def constants_of(qtx, folder, name):
    """All FLOAT constants by name, and the reals of the stored weights."""
    call(qtx, 'lower', folder / name, '-o', folder / 'lowered.onnx', '--opset', '25', '-q')
    graph = onnx.load(folder / 'lowered.onnx').graph
    constants = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    for node in graph.node:
        if node.op_type != 'DequantizeLinear' or node.input[0] not in constants:
            continue
        code, scale = (constants[i].astype(np.float64) for i in node.input[:2])
        zero = constants[node.input[2]].astype(np.float64) if len(node.input) > 2 else np.zeros_like(scale)
        block = {a.name: a.i for a in node.attribute}.get('block_size', 0)
        if block:
            scale, zero = (np.repeat(v, block, 0)[:len(code)] for v in (scale, zero))
        constants[node.output[0]] = constants[node.input[0]] = scale * (code - zero)
    return constants


def agree(w, stored, kind, place):
    theirs, ties = nearest(w, kind)
    differ = ~np.isclose(stored, theirs, rtol=1e-6, atol=1e-9)
    assert not np.any(differ & (ties > 1e-5)), (place, np.argwhere(differ)[:3])
    return w.size


def main():
    qtx, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng, total = np.random.default_rng(seed), 0
    for case in range(4):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            real = network(rng, folder / 'net.onnx')
            (folder / 'data').mkdir()
            mix = rng.standard_normal((SIZE, SIZE)) * np.exp(rng.standard_normal(SIZE))
            for i in range(8):
                np.save(folder / 'data' / f'{i}.npy', (rng.standard_normal((40, SIZE)) @ mix).astype(np.float32))
            shape = ['--data', folder / 'data', '--shape', f'?,{SIZE}', '-q']
            call(qtx, 'calibrate', folder / 'net.onnx', *shape, '-o', folder / 'measured.onnx')
            parts = [folder / f'part{i}.onnx' for i in range(8)]
            for i, part in enumerate(parts):
                call(qtx, 'calibrate', folder / 'measured.onnx', *shape, '--shard', f'{i + 1}/8', '-o', folder / 'rest.onnx', '--gram', part)
            call(qtx, 'calibrate', '--merge', *parts, '-o', folder / 'merged.onnx', '-q')
            call(qtx, 'calibrate', folder / 'measured.onnx', *shape, '-o', folder / 'rest.onnx', '--gram', folder / 'gram.onnx')
            text = []
            for kind in KINDS:
                for sums in ('gram', 'merged'):
                    call(qtx, 'quantize', folder / 'measured.onnx', '--activations', 'float', '--weights', kind, '--awq', 'fold', '--gram',
                         folder / f'{sums}.onnx', '-o', folder / f'{sums}_q.onnx', '-q')
                assert (folder / 'gram_q.onnx').read_bytes() == (folder / 'merged_q.onnx').read_bytes(), 'shards give other bytes'
                ours = constants_of(qtx, folder, 'gram_q.onnx')
                s, left = search([real['q'], real['k']], hessian(folder / 'gram.onnx', 'n'), kind)
                t, after = search([real['d']], hessian(folder / 'gram.onnx', 'r'), kind)
                for key, expected in (('g', real['g'] / s), ('b', real['b'] / s), ('c', real['c'] / t)):
                    assert np.allclose(ours[key], expected, rtol=1e-6), (case, kind, key)
                total += agree(real['q'] * s[:, None], ours['q'], kind, (case, kind, 'q'))
                total += agree(real['k'] * s[:, None] / t, ours['k'], kind, (case, kind, 'k'))
                total += agree(real['d'] * t[:, None], ours['d'], kind, (case, kind, 'd'))
                text.append(f'{kind} {left**0.5:.2f}, {after**0.5:.2f}')
            print(f'case {case}: error over that of rounding to nearest, of each value: ' + '; '.join(text), flush=True)
    print(f'{total} weights agree')


if __name__ == '__main__':
    main()
