#!/usr/bin/env python3
"""Holds `qtx quantize --method gptq` to algorithm 1 of arXiv:2210.17323, computed by numpy.

    compare.py QTX [SEED]        needs numpy and onnx

Random MatMul and Gemm layers with correlated inputs, dead columns and outliers: calibrated in one run and in 8
shards, whose files must be equal; then quantized. Three things are held: the sums against integers of Python, the
codes against numpy's (as the paper has them: the inverse of the damped Hessian, its upper Cholesky factor, one row
after the other, or, for --act-order, by the diagonal of the Hessian and with the scales of blocks as they were; scales
by this folder's README), and the error ||XW - XQ|| on inputs that calibration has not seen against that of rounding to
nearest. Codes may differ where numpy's value lies within 1e-6 of a tie; the rows after
such a one are not compared. Of coordinate descent what it promises is held (descent.py)."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

from descent import hold

BITS = 23
KINDS = ['int4:block=32', 'uint4:asymmetric:block=16', 'int4', 'int8', 'uint8:asymmetric', 'int8:per-tensor', 'int2:block=16']


def call(qtx, *arguments):
    done = subprocess.run([qtx, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stderr)


def inputs_of(rng, rows, size, mix, case):
    x = rng.standard_normal((rows, size)) @ mix
    if case % 3 == 1:
        x[:, 5] = 0
    if case % 3 == 2:
        x[:, 7] *= 50
    return x.astype(np.float32)


def model_of(w, transposed, path):
    node = helper.make_node('Gemm', ['x', 'w'], ['y'], transB=1) if transposed else helper.make_node('MatMul', ['x', 'w'], ['y'])
    size, columns = w.shape
    graph = helper.make_graph(
        [node], 'g', [helper.make_tensor_value_info('x', 1, ['N', size])],
        [helper.make_tensor_value_info('y', 1, ['N', columns])], [numpy_helper.from_array(np.ascontiguousarray(w.T) if transposed else w, 'w')])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 8
    onnx.save(model, path)


def sums_of(path):
    words = numpy_helper.to_array({i.name: i for i in onnx.load(path).graph.initializer}['x'])
    exponent, size = map(int, words[0])
    return exponent, size, [(int(high) << 64) + (int(low) & (1 << 64) - 1) for low, high in words[1:]]


def expected_sums(x):
    exponent = int(np.frexp(np.abs(x).max())[1]) - BITS
    n = np.rint(np.ldexp(x.astype(np.float64), -exponent)).astype(np.int64).astype(object)
    full = n.T @ n
    return exponent, x.shape[1], [full[i, j] for i in range(len(full)) for j in range(i, len(full))]


def type_of(kind):
    name = kind.split(':')[0]
    bits = int(name.lstrip('uint'))
    unsigned = name[0] == 'u'
    low, high = (0, 2**bits - 1) if unsigned else (1 - 2**(bits - 1), 2**(bits - 1) - 1)
    block = next((int(word[6:]) for word in kind.split(':') if word.startswith('block=')), None)
    return low, high, unsigned, block, 'per-tensor' in kind


def up(value):
    """Rounded up to binary32, of exact enough quotients."""
    near = np.float32(value)
    return near if np.float64(near) >= value else np.nextafter(near, np.float32(np.inf))


def parameters(values, low, high, unsigned):
    least, most = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    if unsigned:
        scale = np.float64(up((most - least) / (high - low))) if most > least else 1.0
        return scale, int(np.clip(np.rint(low - least / scale), low, high))
    scale = max(most / high, least / low)
    return (np.float64(up(scale)) if scale > 0 else 1.0), 0


def gptq(w, hessian, kind, all_weights=None, originals=None, act_order=False):
    """The stored reals, how far each value was from a tie, and the turn of each row. `all_weights`: those of all groups, where one
    scale serves all; `originals`: whose scales are taken without blocks, by default w."""
    low, high, unsigned, block, whole = type_of(kind)
    size, columns = w.shape
    w = w.astype(np.float64).copy()
    originals = w if originals is None else originals
    whole = (w if all_weights is None else all_weights) if whole else None
    h = hessian.copy()
    order = np.argsort(-np.diag(h), kind='stable') if act_order else np.arange(size)
    static = [[parameters(w[k:k + block, c].astype(np.float32), low, high, unsigned) for c in range(columns)] for k in range(0, size, block)] if block else []
    h += 0.01 * (np.mean(np.diag(h)) or 1) * np.eye(size)
    u = np.linalg.cholesky(np.linalg.inv(h[np.ix_(order, order)])).T
    codes, scales, offsets, ties = (np.zeros((size, columns)) for _ in range(4))
    one = [parameters(originals[:, c] if whole is None else whole, low, high, unsigned) for c in range(columns)]
    for turn, k in enumerate(order):
        if block and act_order:
            one = static[k // block]
        elif block and k % block == 0:
            one = [parameters(w[k:k + block, c].astype(np.float32), low, high, unsigned) for c in range(columns)]
        scale, offset = np.array([p[0] for p in one]), np.array([p[1] for p in one])
        at = w[k] / scale
        codes[k] = np.clip(np.rint(at) + offset, low, high)
        scales[k], offsets[k] = scale, offset
        ties[k] = np.abs(np.abs(at - np.floor(at)) - 0.5)
        error = (w[k] - scale * (codes[k] - offset)) / u[turn, turn]
        w[order[turn + 1:]] -= np.outer(u[turn, turn + 1:], error)
    return scales * (codes - offsets), ties, np.argsort(order)


def stored(qtx, model, folder):
    """Codes, scales and zero points of w, whose shapes go together: the lowered form, read by numpy."""
    call(qtx, 'lower', model, '-o', folder / 'lowered.onnx', '--opset', '25')
    graph = onnx.load(folder / 'lowered.onnx').graph
    constants = {i.name: i for i in graph.initializer}
    node = next(n for n in graph.node if n.op_type == 'DequantizeLinear' and n.input[0] in constants)
    attributes = {a.name: a.i for a in node.attribute}
    code, scale = (numpy_helper.to_array(constants[name]).astype(np.float64) for name in node.input[:2])
    zero = numpy_helper.to_array(constants[node.input[2]]).astype(np.float64) if len(node.input) > 2 else np.zeros_like(scale)
    axis, block = attributes.get('axis', 1), attributes.get('block_size', 0)
    if block:
        scale, zero = (np.repeat(v, block, axis).take(range(code.shape[axis]), axis) for v in (scale, zero))
    elif scale.ndim == 1:
        shape = [-1 if i == axis else 1 for i in range(2)]
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    return code, scale, zero


def reals(parts):
    return parts[1] * (parts[0] - parts[2])


def agree(ours, expected, place):
    """How many weights differ, which must come after a tie."""
    theirs, ties, turns = expected
    close = np.argwhere(ties < 1e-6)
    differ = np.argwhere(~np.isclose(ours, theirs, rtol=1e-6, atol=1e-9))
    free = [d for d in differ if not any(c[1] == d[1] and turns[c[0]] <= turns[d[0]] for c in close)]
    assert not free, (place, free[:3], ours[tuple(free[0])], theirs[tuple(free[0])])
    return len(differ)


def run(qtx, rng, case, folder):
    size, columns = [(48, 20), (64, 33), (96, 16)][case % 3]
    w = rng.standard_normal((size, columns)).astype(np.float32)
    transposed = case % 2 == 1
    mix = rng.standard_normal((size, size)) * np.linspace(0.02, 1, size)[:, None]
    x, held = inputs_of(rng, 40 * 8, size, mix, case), inputs_of(rng, 500, size, mix, case)
    data = folder / 'data'
    data.mkdir()
    for i in range(8):
        np.save(data / f's{i}.npy', x[40 * i:40 * i + 40])
    model_of(w, transposed, folder / 'net.onnx')
    shape = ['--data', data, '--shape', f'?,{size}', '-q']
    call(qtx, 'calibrate', folder / 'net.onnx', *shape, '-o', folder / 'measured.onnx')
    call(qtx, 'calibrate', folder / 'measured.onnx', *shape, '-o', folder / 'again.onnx', '--gram', folder / 'gram.onnx')
    parts = []
    for i in range(8):
        parts.append(folder / f'part{i}.onnx')
        call(qtx, 'calibrate', folder / 'measured.onnx', *shape, '--shard', f'{i + 1}/8', '-o', folder / 'rest.onnx', '--gram', parts[-1])
    rng.shuffle(parts)
    call(qtx, 'calibrate', '--merge', *parts, '-o', folder / 'merged.onnx', '-q')
    assert (folder / 'merged.onnx').read_bytes() == (folder / 'gram.onnx').read_bytes(), 'shards give other bytes'
    sums = sums_of(folder / 'gram.onnx')
    assert sums == expected_sums(x), 'sums differ'
    hessian = np.zeros((size, size))
    hessian[np.triu_indices(size)] = [float(s) for s in sums[2]]
    hessian = (hessian + np.triu(hessian, 1).T) * 4.0**sums[0]
    row, spared = [], 0
    for kind in KINDS:
        common = [folder / 'measured.onnx', '--activations', 'float', '--weights', kind, '-q']
        call(qtx, 'quantize', *common, '-o', folder / 'near.onnx')
        call(qtx, 'quantize', *common, '-o', folder / 'gptq.onnx', '--method', 'gptq', '--gram', folder / 'gram.onnx')
        call(qtx, 'quantize', *common, '-o', folder / 'order.onnx', '--method', 'gptq', '--gram', folder / 'gram.onnx', '--act-order')
        call(qtx, 'quantize', *common, '-o', folder / 'descent.onnx', '--method', 'coordinate-descent', '--gram', folder / 'gram.onnx')
        near, ours, ordered, down = (stored(qtx, folder / f'{name}.onnx', folder) for name in ('near', 'gptq', 'order', 'descent'))
        near, ours, ordered, *parts = (v.T if transposed else v for v in (reals(near), reals(ours), reals(ordered), *down))
        hold(w.astype(np.float64), hessian, parts, (near, ours), type_of(kind)[:2])
        spared += agree(ours, gptq(w, hessian, kind), (case, kind)) + agree(ordered, gptq(w, hessian, kind, act_order=True), (case, kind, 'act-order'))
        errors = [np.linalg.norm(held @ (w - q)) for q in (near, ours, ordered, reals(parts))]
        assert max(errors[1:3]) < errors[0], (case, kind, errors)
        row.append(f'{kind} ' + ', '.join(f'{e / errors[0]:.2f}' for e in errors[1:]))
    print(f'case {case}: 2 x {len(KINDS)} x {w.size} weights agree but for {spared} after a tie; error of GPTQ, of that with --act-order and of '
          'coordinate descent over that of rounding to nearest: ' + ', '.join(row))
    return 2 * len(KINDS) * w.size


def main():
    qtx, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = np.random.default_rng(seed)
    total = 0
    for case in range(6):
        with tempfile.TemporaryDirectory() as folder:
            total += run(qtx, rng, case, pathlib.Path(folder))
    print(f'{total} weights agree')


if __name__ == '__main__':
    main()
