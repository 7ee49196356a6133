#!/usr/bin/env python3
"""Trains a small language model of bytes and prints what four bits cost it: NLL on text that neither training nor
calibration has seen, and SQNR of the logits.

    language.py QTX [STEPS]      needs numpy, torch, onnx and onnxruntime; minutes on one core

The text is the documentation in Python's own library (its modules' doc strings). The network: 16 bytes of context,
an embedding of 32, three MatMul of 512 x 384, 384 x 384 and 384 x 256 with biases and Relu. Quantized by QTX to
nearest, by GPTQ and by coordinate descent, by ONNX Runtime's MatMulNBits quantizer to nearest and by its HQQ; all run in ONNX Runtime."""
import ast
import logging
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper, numpy_helper

CONTEXT, WIDTH, HIDDEN = 16, 32, 384


def text():
    parts = []
    for path in sorted(pathlib.Path(sysconfig.get_paths()['stdlib']).glob('*.py')):
        try:
            tree = ast.parse(path.read_text(encoding='utf-8'))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                parts.append(ast.get_docstring(node) or '')
    return np.frombuffer('\n'.join(p for p in parts if p).encode(), np.uint8)


def windows(data, starts):
    return data[starts[:, None] + np.arange(CONTEXT + 1)].astype(np.int64)


def train(data, steps):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    rng = np.random.default_rng(1)
    net = torch.nn.Sequential(
        torch.nn.Embedding(256, WIDTH), torch.nn.Flatten(), torch.nn.Linear(CONTEXT * WIDTH, HIDDEN), torch.nn.ReLU(),
        torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 256))
    optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, steps)
    for _ in range(steps):
        rows = torch.from_numpy(windows(data, rng.integers(0, len(data) - CONTEXT - 1, 256)))
        loss = torch.nn.functional.cross_entropy(net(rows[:, :-1]), rows[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return net


def export(net, path):
    weights, nodes, value = [], [], 'embedded'
    weights.append(numpy_helper.from_array(net[0].weight.detach().numpy(), 'table'))
    weights.append(numpy_helper.from_array(np.array([-1, CONTEXT * WIDTH]), 'flat'))
    nodes.append(helper.make_node('Gather', ['table', 'x'], ['rows']))
    nodes.append(helper.make_node('Reshape', ['rows', 'flat'], [value]))
    linear = [layer for layer in net if isinstance(layer, torch.nn.Linear)]
    for i, layer in enumerate(linear):
        weights.append(numpy_helper.from_array(np.ascontiguousarray(layer.weight.detach().numpy().T), f'w{i}'))
        weights.append(numpy_helper.from_array(layer.bias.detach().numpy(), f'b{i}'))
        nodes.append(helper.make_node('MatMul', [value, f'w{i}'], [f'p{i}'], name=f'product{i}'))
        last = i + 1 == len(linear)
        nodes.append(helper.make_node('Add', [f'p{i}', f'b{i}'], ['y' if last else f's{i}']))
        if not last:
            nodes.append(helper.make_node('Relu', [f's{i}'], [f'r{i}']))
            value = f'r{i}'
    graph = helper.make_graph(nodes, 'bytes', [helper.make_tensor_value_info('x', 7, ['N', CONTEXT])],
                              [helper.make_tensor_value_info('y', 1, ['N', 256])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 21)])
    model.ir_version = 10
    onnx.save(model, path)


def call(qtx, *arguments):
    done = subprocess.run([qtx, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stderr)


def by_qtx(qtx, folder, kind, *more):
    call(qtx, 'quantize', folder / 'measured.onnx', '-o', folder / 'q.onnx', '--activations', 'float', '--weights', kind, '-q', *more)
    call(qtx, 'lower', folder / 'q.onnx', '-o', folder / 'l.onnx', '--opset', '21', '-q')
    return folder / 'l.onnx'


def by_onnxruntime(folder, block, hqq):
    from onnxruntime.quantization import matmul_nbits_quantizer as nbits
    config = (nbits.HQQWeightOnlyQuantConfig(block_size=block, bits=4) if hqq else
              nbits.DefaultWeightOnlyQuantConfig(block_size=block, is_symmetric=True))
    quantizer = nbits.MatMulNBitsQuantizer(onnx.load(folder / 'net.onnx'), block_size=block, is_symmetric=True, algo_config=config)
    quantizer.process()
    quantizer.model.save_model_to_file(str(folder / 'o.onnx'))
    return folder / 'o.onnx'


def logits(path, rows):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=['CPUExecutionProvider']).run(None, {'x': rows})[0].astype(np.float64)


def main():
    logging.disable(logging.INFO)
    qtx, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 6000
    data = text()
    learn, rest = data[:len(data) * 9 // 10], data[len(data) * 9 // 10:]
    rng = np.random.default_rng(2)
    held = windows(rest, rng.integers(0, len(rest) - CONTEXT - 1, 20000))
    seen = windows(learn, rng.integers(0, len(learn) - CONTEXT - 1, 4096))[:, :-1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        export(train(learn, steps), folder / 'net.onnx')
        (folder / 'data').mkdir()
        for i in range(16):
            np.save(folder / 'data' / f'{i:02}.npy', seen[256 * i:256 * i + 256])
        arguments = ['--data', folder / 'data', '--shape', f'?,{CONTEXT}', '-q']
        call(qtx, 'calibrate', folder / 'net.onnx', *arguments, '-o', folder / 'measured.onnx')
        call(qtx, 'calibrate', folder / 'measured.onnx', *arguments, '-o', folder / 'again.onnx', '--gram', folder / 'gram.onnx')
        real = logits(folder / 'net.onnx', held[:, :-1])

        def row(what, path):
            y = logits(path, held[:, :-1])
            most = y.max(1, keepdims=True)
            nll = np.mean(np.log(np.exp(y - most).sum(1)) + most[:, 0] - y[np.arange(len(y)), held[:, -1]])
            noise = np.sum((y - real)**2)
            sqnr = f'{10 * np.log10(np.sum(real**2) / noise):.2f}' if noise else '-'
            print(f'| {what} | {nll:.4f} | {sqnr} |', flush=True)

        print(f'{len(data)} bytes of text, {steps} steps\n\n| weights | NLL, nats a byte | SQNR, dB |\n|---|---|---|')
        row('FLOAT', folder / 'net.onnx')
        sums = ['--gram', folder / 'gram.onnx']
        for kind in ['int4:block=32', 'uint4:asymmetric:block=32', 'int4', 'int8']:
            row(f'qtx, {kind}, to nearest', by_qtx(qtx, folder, kind))
            for what, method in (('GPTQ', 'gptq'), ('coordinate descent', 'coordinate-descent')):
                row(f'qtx, {kind}, {what}', by_qtx(qtx, folder, kind, '--method', method, *sums))
                row(f'qtx, {kind}, {what} in order', by_qtx(qtx, folder, kind, '--method', method, *arguments[:-1]))
        row('qtx, int4:block=32, `--weight-range mse`', by_qtx(qtx, folder, 'int4:block=32', '--weight-range', 'mse'))
        row('ONNX Runtime, MatMulNBits, blocks of 32, to nearest', by_onnxruntime(folder, 32, False))
        row('ONNX Runtime, MatMulNBits, blocks of 32, HQQ', by_onnxruntime(folder, 32, True))


if __name__ == '__main__':
    main()
