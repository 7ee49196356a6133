#!/usr/bin/env python3
"""Holds the sums, GPTQ and coordinate descent of Conv to numpy, as compare.py does for MatMul and Gemm.

    conv.py QTX [SEED]        needs numpy and onnx

Random Conv layers of one to three spatial axes with groups (depthwise too), strides, dilations, pads and auto_pad, dead
channels and outliers: calibrated in one run and in 5 shards, whose files must be equal. The patches are cut out of the
padded input tap by tap; the sums must be those of Python's integers, the weights those of compare.py's GPTQ, group by
group. The errors are of inputs that calibration has not seen."""
import itertools
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

from compare import BITS, call, gptq, type_of
from descent import hold

KINDS = ['int4', 'uint4:asymmetric', 'int8', 'int4:per-tensor']
#        spatial sizes, kernel, group, channels in and out, attributes
CASES = [((9, 8), (3, 3), 1, 4, 6, {'pads': [1, 1, 1, 1]}),
         ((12, 11), (3, 2), 2, 6, 8, {'strides': [2, 3], 'pads': [0, 2, 1, 0]}),
         ((10, 10), (3, 3), 5, 5, 10, {'dilations': [2, 1], 'auto_pad': 'SAME_UPPER', 'strides': [2, 2]}),
         ((10, 9), (2, 4), 1, 3, 5, {'auto_pad': 'SAME_LOWER'}),
         ((31,), (5,), 1, 6, 7, {'strides': [2], 'pads': [2, 1]}),
         ((8, 8), (1, 1), 1, 16, 8, {}),
         ((7, 7), (3, 3), 7, 7, 7, {'auto_pad': 'VALID'}),
         ((5, 6, 4), (2, 3, 2), 2, 4, 4, {'pads': [1, 0, 1, 0, 1, 0], 'strides': [1, 2, 1]})]


def pads_of(sizes, kernel, attributes):
    """(begin, end) of each axis."""
    rank = len(sizes)
    mode = attributes.get('auto_pad', 'NOTSET')
    if not mode.startswith('SAME'):
        pads = attributes.get('pads', [0] * 2 * rank)
        return list(zip(pads[:rank], pads[rank:]))
    pads = []
    for size, k, stride, dilation in zip(sizes, kernel, attributes.get('strides', [1] * rank), attributes.get('dilations', [1] * rank)):
        total = max(0, (-(-size // stride) - 1) * stride + (k - 1) * dilation + 1 - size)
        small, large = total // 2, total - total // 2
        pads.append((small, large) if mode == 'SAME_UPPER' else (large, small))
    return pads


def patches(x, kernel, group, attributes):
    """[group, rows, channels of a group * taps]"""
    rank = len(kernel)
    strides, dilations = attributes.get('strides', [1] * rank), attributes.get('dilations', [1] * rank)
    padded = np.pad(x, [(0, 0), (0, 0), *pads_of(x.shape[2:], kernel, attributes)])
    outputs = [(size - (k - 1) * d - 1) // s + 1 for size, k, d, s in zip(padded.shape[2:], kernel, dilations, strides)]
    taps = []
    for tap in itertools.product(*map(range, kernel)):
        cut = tuple(slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in zip(tap, dilations, outputs, strides))
        taps.append(padded[(slice(None), slice(None), *cut)].reshape(*x.shape[:2], -1))
    all_taps = np.stack(taps, 2)  # [N, C, taps, positions]
    by_group = all_taps.reshape(x.shape[0], group, -1, all_taps.shape[-1])
    return by_group.transpose(1, 0, 3, 2).reshape(group, -1, by_group.shape[2])


def expected_sums(x, rows):
    exponent = int(np.frexp(np.abs(x).max())[1]) - BITS
    n = np.rint(np.ldexp(rows.astype(np.float64), -exponent)).astype(np.int64).astype(object)
    full = [own.T @ own for own in n]
    return exponent, rows.shape[2], [own[i, j] for own in full for i in range(len(own)) for j in range(i, len(own))]


def model_of(w, group, attributes, sizes, path):
    node = helper.make_node('Conv', ['x', 'w', 'b'], ['y'], group=group, **attributes)
    bias = numpy_helper.from_array(np.zeros(w.shape[0], np.float32), 'b')
    graph = helper.make_graph(
        [node], 'g', [helper.make_tensor_value_info('x', 1, ['N', w.shape[1] * group, *sizes])],
        [helper.make_tensor_value_info('y', 1, None)], [numpy_helper.from_array(w, 'w'), bias])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 8
    onnx.save(model, path)


def sums_of(path):
    only, = onnx.load(path).graph.initializer
    assert only.name.startswith('x/patches kernel '), only.name
    words = numpy_helper.to_array(only)
    return int(words[0][0]), int(words[0][1]), [(int(high) << 64) + (int(low) & (1 << 64) - 1) for low, high in words[1:]]


def stored(qtx, model, folder):
    """Codes, scales and zero points of w, whose shapes go together."""
    call(qtx, 'lower', model, '-o', folder / 'lowered.onnx', '--opset', '25')
    graph = onnx.load(folder / 'lowered.onnx').graph
    constants = {i.name: i for i in graph.initializer}
    node = next(n for n in graph.node if n.op_type == 'DequantizeLinear' and n.input[0] in constants and len(constants[n.input[0]].dims) > 2)
    code, scale = (numpy_helper.to_array(constants[name]).astype(np.float64) for name in node.input[:2])
    zero = numpy_helper.to_array(constants[node.input[2]]).astype(np.float64) if len(node.input) > 2 else np.zeros_like(scale)
    shape = [-1] + [1] * (code.ndim - 1) if scale.ndim else []
    return code, scale.reshape(shape), zero.reshape(shape)


def reals(parts):
    return parts[1] * (parts[0] - parts[2])


def hessians_of(sums, group):
    size = sums[1]
    hessians = np.zeros((group, size, size))
    at = np.triu_indices(size)
    for g in range(group):
        hessians[g][at] = [float(s) for s in sums[2][g * len(at[0]):(g + 1) * len(at[0])]]
        hessians[g] = (hessians[g] + np.triu(hessians[g], 1).T) * 4.0**sums[0]
    return hessians


def hold_descent(w, hessians, parts, others, kind):
    low, high = type_of(kind)[:2]
    outputs = w.shape[0] // len(hessians)
    for g, h in enumerate(hessians):
        flat = [np.broadcast_to(v, w.shape)[g * outputs:(g + 1) * outputs].reshape(outputs, -1).T for v in (w.astype(np.float64), *parts, *others)]
        hold(flat[0], h, flat[1:4], flat[4:], (low, high))


def by_numpy(w, hessians, kind):
    """GPTQ of each group, and how far from a tie each weight was. One scale of all: found before groups are split."""
    result, ties = np.zeros(w.shape), np.ones(w.shape)
    flat = w.reshape(w.shape[0], -1).T.astype(np.float64)
    outputs = w.shape[0] // len(hessians)
    for g in range(len(hessians)):
        own = slice(g * outputs, (g + 1) * outputs)
        whole = flat if kind.endswith('per-tensor') else None
        q, t, _ = gptq(flat[:, own], hessians[g], kind, whole)
        result[own], ties[own] = q.T.reshape(w[own].shape), t.T.reshape(w[own].shape)
    return result, ties


def free_differences(ours, theirs, ties):
    """Weights that differ though no weight before them in their filter was near a tie."""
    ours, theirs, ties = (v.reshape(v.shape[0], -1) for v in (ours, theirs, ties))
    differ = ~np.isclose(ours, theirs, rtol=1e-6, atol=1e-9)
    spared = np.cumsum(ties < 1e-6, 1) > 0
    return int(np.sum(differ & ~spared)), int(np.sum(differ & spared))


def run(qtx, rng, case, folder):
    sizes, kernel, group, channels, outputs, attributes = case
    w = rng.standard_normal((outputs, channels // group, *kernel)).astype(np.float32)
    mix = rng.standard_normal((channels, channels))
    outlier = rng.choice([0, 1, 30])

    def inputs(count):
        x = rng.standard_normal((count, channels, *sizes))
        x = np.einsum('nc...,cd->nd...', np.cumsum(x, -1), mix)  # neighbours and channels are correlated
        x[:, 0] *= outlier
        return x.astype(np.float32)

    x, held = inputs(20), inputs(30)
    (folder / 'data').mkdir()
    for i in range(10):
        np.save(folder / 'data' / f's{i}.npy', x[2 * i:2 * i + 2])
    model_of(w, group, attributes, sizes, folder / 'net.onnx')
    shape = ['--data', folder / 'data', '--shape', f'?,{channels},' + ','.join(map(str, sizes)), '-q']
    call(qtx, 'calibrate', folder / 'net.onnx', *shape, '-o', folder / 'measured.onnx')
    call(qtx, 'calibrate', folder / 'measured.onnx', *shape, '-o', folder / 'again.onnx', '--gram', folder / 'gram.onnx')
    parts = []
    for i in range(5):
        parts.append(folder / f'part{i}.onnx')
        call(qtx, 'calibrate', folder / 'measured.onnx', *shape, '--shard', f'{i + 1}/5', '-o', folder / 'rest.onnx', '--gram', parts[-1])
    rng.shuffle(parts)
    call(qtx, 'calibrate', '--merge', *parts, '-o', folder / 'merged.onnx', '-q')
    assert (folder / 'merged.onnx').read_bytes() == (folder / 'gram.onnx').read_bytes(), 'shards give other bytes'
    rows, sums = patches(x, kernel, group, attributes), sums_of(folder / 'gram.onnx')
    assert sums == expected_sums(x, rows), (case, 'sums differ')
    unseen, text = patches(held, kernel, group, attributes), []
    for kind in KINDS:
        common = [folder / 'measured.onnx', '--activations', 'float', '--weights', kind, '-q']
        call(qtx, 'quantize', *common, '-o', folder / 'near.onnx')
        call(qtx, 'quantize', *common, '-o', folder / 'gptq.onnx', '--method', 'gptq', '--gram', folder / 'gram.onnx')
        call(qtx, 'quantize', *common, '-o', folder / 'descent.onnx', '--method', 'coordinate-descent', '--gram', folder / 'gram.onnx')
        near, ours = (reals(stored(qtx, folder / f'{name}.onnx', folder)) for name in ('near', 'gptq'))
        parts = stored(qtx, folder / 'descent.onnx', folder)
        hessians = hessians_of(sums, group)
        hold_descent(w, hessians, parts, (near, ours), kind)
        theirs, ties = by_numpy(w, hessians, kind)
        free, spared = free_differences(ours, theirs, ties)
        assert free == 0, (case, kind, free)
        errors = [np.linalg.norm(np.einsum('grk,gok->gro', unseen, (w - q).reshape(group, outputs // group, -1))) for q in (near, ours, reals(parts))]
        assert errors[1] <= 1.5 * errors[0], (case, kind, errors)  # inputs of another 30 samples: no promise
        text.append(f'{kind} {errors[1] / errors[0]:.2f}, {errors[2] / errors[0]:.2f}' + (f' ({spared} after a tie)' if spared else ''))
    print(f'{len(kernel)}-D {case[1:]}: {len(sums[2])} sums and {len(KINDS)} x {w.size} weights agree; error of GPTQ and of coordinate descent over that of nearest: ' + ', '.join(text), flush=True)
    return len(sums[2]), len(KINDS) * w.size


def main():
    qtx, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = np.random.default_rng(seed)
    totals = np.zeros(2, int)
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            totals += run(qtx, rng, case, pathlib.Path(folder))
    print(f'{totals[0]} sums and {totals[1]} weights agree')


if __name__ == '__main__':
    main()
