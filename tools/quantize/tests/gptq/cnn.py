#!/usr/bin/env python3
"""Trains small convolutional networks on handwritten digits and prints what eight and four bits cost them: accuracy and
NLL on digits that neither training nor calibration has seen, and SQNR of the logits.

    cnn.py QTX [SEEDS]      needs numpy, torch, onnx, onnxscript, onnxruntime, scikit-learn and brevitas (with accelerate)

The data are scikit-learn's digits, 8 x 8: 1,000 to train, of which 256 calibrate, 797 held out; each seed splits and
trains anew. The network has Conv with BatchNormalization and Relu, depthwise and grouped ones, a residual Add, two kinds
of pooling and a Gemm. Weights of Brevitas have the grid of `int4` (a scale for each output, -7 to 7) as well."""
import argparse
import functools
import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnxruntime
import torch
from sklearn.datasets import load_digits
from torch import nn

SEEN = 256


class Net(nn.Module):
    """Pairs of Conv and BatchNorm2d, or folded: Conv alone."""

    def __init__(self):
        super().__init__()
        shapes = [(1, 32, 3, 1, 1), (32, 32, 3, 1, 32), (32, 64, 1, 1, 1), (64, 64, 3, 1, 1), (64, 64, 3, 1, 1), (64, 96, 3, 2, 4), (96, 96, 3, 1, 96)]
        self.convs = nn.ModuleList(nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False) for i, o, k, s, g in shapes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(shape[1]) for shape in shapes)
        self.relu, self.pool, self.linear = nn.ReLU(), nn.MaxPool2d(2), nn.Linear(96, 10)

    def layer(self, i, x):
        return self.norms[i](self.convs[i](x))

    def forward(self, x):
        for i in range(3):
            x = self.relu(self.layer(i, x))
        x = self.relu(self.layer(4, self.relu(self.layer(3, x))) + x)
        x = self.pool(x)
        x = self.relu(self.layer(6, self.relu(self.layer(5, x))))
        return self.linear(x.mean((2, 3)))


def folded(net):
    """A copy whose Conv have the BatchNormalization in them."""
    copy = Net().eval()
    copy.load_state_dict(net.state_dict())
    copy.convs = nn.ModuleList(nn.utils.fusion.fuse_conv_bn_eval(c, n) for c, n in zip(copy.convs, copy.norms))
    copy.norms = nn.ModuleList(nn.Identity() for _ in copy.norms)
    return copy


def data(seed):
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    x = (digits.images[order, None] / 16).astype(np.float32)
    return x, digits.target[order].astype(np.int64)


def train(x, y, seed):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    net, steps = Net(), 480
    optimizer = torch.optim.AdamW(net.parameters(), 3e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, steps)
    for _ in range(steps):
        rows = rng.integers(0, len(x), 64)
        moved = np.roll(x[rows], rng.integers(-1, 2, 2), (2, 3)) + rng.normal(0, 0.05, (64, 1, 8, 8)).astype(np.float32)
        loss = nn.functional.cross_entropy(net(torch.from_numpy(moved.astype(np.float32))), torch.from_numpy(y[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return net.eval()


def call(qtx, *arguments):
    done = subprocess.run([qtx, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stderr)


def prepare(qtx, net, x, folder):
    (folder / 'data').mkdir()
    for i in range(0, SEEN, 32):
        np.save(folder / 'data' / f'{i:03}.npy', x[i:i + 32])
    torch.onnx.export(net, (torch.zeros(2, 1, 8, 8),), folder / 'net.onnx', input_names=['x'], dynamo=True, verbose=False,
                      dynamic_shapes=({0: torch.export.Dim('N')},), external_data=False)
    rows = ['--data', folder / 'data', '--shape', '?,1,8,8', '-q']
    call(qtx, 'calibrate', folder / 'net.onnx', *rows, '-o', folder / 'measured.onnx')
    call(qtx, 'calibrate', folder / 'net.onnx', *rows, '--per-axis', '-o', folder / 'channels.onnx')
    call(qtx, 'calibrate', folder / 'measured.onnx', *rows, '-o', folder / 'again.onnx', '--gram', folder / 'gram.onnx')


def by_qtx(qtx, folder, arguments):
    measured = folder / ('channels.onnx' if '--bias-correction' in arguments or '--equalize' in arguments else 'measured.onnx')
    words = [folder / 'data' if word == 'DATA' else folder / 'gram.onnx' if word == 'GRAM' else word for word in arguments.split()]
    shape = ['--shape', '?,1,8,8'] if '--data' in words else []
    call(qtx, 'quantize', measured, '-o', folder / 'q.onnx', '-q', *words, *shape)
    call(qtx, 'lower', folder / 'q.onnx', '-o', folder / 'l.onnx', '--opset', '21', '-q')
    return run(folder / 'l.onnx')


def run(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    options.add_session_config_entry('session.x64quantprecision', '1')
    session = onnxruntime.InferenceSession(str(path), options, providers=['CPUExecutionProvider'])
    return lambda x: session.run(None, {session.get_inputs()[0].name: x})[0]


def by_onnxruntime(folder, x, **options):
    from onnxruntime import quantization as q
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.rows = iter([{'x': x[i:i + 32]} for i in range(0, SEEN, 32)])

        def get_next(self):
            return next(self.rows, None)

    quant_pre_process(str(folder / 'net.onnx'), str(folder / 'pre.onnx'), skip_symbolic_shape=True)
    q.quantize_static(str(folder / 'pre.onnx'), str(folder / 'o.onnx'), Reader(), per_channel=True, activation_type=q.QuantType.QInt8, **options)
    return run(folder / 'o.onnx')


def learn(model, rows):
    """AdaRound, layer by layer, as Brevitas' example for images has it by default, but in binary32 and batches of 32."""
    from brevitas_examples.imagenet_classification.ptq import learned_round_utils as learned
    torch.manual_seed(1)
    config = learned.parse_args_to_dataclass(argparse.Namespace(
        learned_round='hard_sigmoid', learned_round_loss='regularised_mse', learned_round_iters=1000, learned_round_lr=1e-3,
        learned_round_lr_scheduler=None, learned_round_batch_size=32))
    config.training_args.use_amp = False
    learned.LearnedRoundTrainer(config=config).train(
        model=model, model_forward=learned.vision_forward, block_forward=learned.vision_block_forward,
        data_loader=[(batch, torch.zeros(1)) for batch, _ in rows], cache=learned.CacheVision(),
        get_blocks_fn=functools.partial(learned.get_blocks, block_check_fn=learned.is_layer), keep_gpu=True)


def by_brevitas(net, x, method):
    import brevitas.nn as qnn
    from brevitas.graph.gptq import gptq_mode
    from brevitas.graph.quantize import layerwise_quantize
    from brevitas.quant.scaled_int import Int8WeightPerChannelFloat, Int8WeightPerChannelFloatMSE
    weights = {'weight_quant': Int8WeightPerChannelFloatMSE if 'mse' in method else Int8WeightPerChannelFloat, 'weight_bit_width': 4,
               'input_quant': None, 'bias_quant': None, 'return_quant_tensor': False}
    model = layerwise_quantize(folded(net), {nn.Conv2d: (qnn.QuantConv2d, weights), nn.Linear: (qnn.QuantLinear, weights)}).eval()
    rows = [(torch.from_numpy(x[i:i + 32]), None) for i in range(0, SEEN, 32)]
    with torch.no_grad():
        model(rows[0][0])
    if 'gptq' in method:
        with torch.no_grad(), gptq_mode(model, act_order='order' in method, use_quant_activations=False, create_weight_orig=True) as gptq:
            for _ in range(gptq.num_layers):
                for batch, _ in rows:
                    gptq.model(batch)
                gptq.update()
    if 'learned' in method:
        learn(model, rows)

    def logits(x):
        with torch.no_grad():
            return model.eval()(torch.from_numpy(x)).numpy()
    return logits


QTX = ['', '--weights int4', '--weights int4 --weight-range mse', '--weights int4 --bias-correction', '--weights int4 --equalize --bias-correction',
       '--weights int4 --method gptq --gram GRAM', '--weights int4 --weight-range mse --method gptq --gram GRAM',
       '--weights int4 --method gptq --gram GRAM --bias-correction', '--weights int4 --method gptq --data DATA',
       '--weights int4 --method coordinate-descent --gram GRAM', '--weights int4 --method coordinate-descent --gram GRAM --bias-correction',
       '--weights int4 --method coordinate-descent --data DATA']
FLOATS = ['--weights int4', '--weights int4 --weight-range mse', '--weights int4 --method gptq --gram GRAM',
          '--weights int4 --weight-range mse --method gptq --gram GRAM', '--weights int4 --method gptq --data DATA',
          '--weights int4 --method coordinate-descent --gram GRAM', '--weights int4 --method coordinate-descent --data DATA', '--weights uint4:asymmetric',
          '--weights uint4:asymmetric --method gptq --gram GRAM', '--weights uint4:asymmetric --method gptq --data DATA',
          '--weights uint4:asymmetric --method coordinate-descent --gram GRAM', '--weights uint4:asymmetric --method coordinate-descent --data DATA']
BREVITAS = [('to nearest', ''), ('to nearest, range by mse', 'mse'), ('GPTQ', 'gptq'), ('GPTQ, act-order', 'gptq order'), ('GPTQ, range by mse', 'gptq mse'),
            ('learned round (AdaRound)', 'learned')]


def models(qtx, net, x, folder):
    """(row, function that makes it)"""
    from onnxruntime.quantization import QuantType
    yield 'FLOAT', lambda: run(folder / 'net.onnx')
    for arguments in QTX:
        yield f'qtx `{arguments}`'.replace('``', '(defaults)'), lambda a=arguments: by_qtx(qtx, folder, a)
    yield 'ONNX Runtime, int8 weights', lambda: by_onnxruntime(folder, x, weight_type=QuantType.QInt8)
    yield 'ONNX Runtime, int4 weights', lambda: by_onnxruntime(folder, x, weight_type=QuantType.QInt4)
    for arguments in FLOATS:
        yield f'qtx `--activations float {arguments}`', lambda a=arguments: by_qtx(qtx, folder, '--activations float ' + a)
    for what, method in BREVITAS:
        yield f'Brevitas, int4 weights, {what}', lambda m=method: by_brevitas(net, x, m)


def figures(logits, real, y):
    logits, real = logits.astype(np.float64), real.astype(np.float64)
    most = logits.max(1, keepdims=True)
    nll = np.mean(np.log(np.exp(logits - most).sum(1)) + most[:, 0] - logits[np.arange(len(y)), y])
    noise = np.sum((logits - real)**2)
    return 100 * np.mean(logits.argmax(1) == y), nll, 10 * np.log10(np.sum(real**2) / noise) if noise else np.inf


def main():
    logging.disable(logging.WARNING)
    warnings.simplefilter('ignore')
    torch.set_num_threads(1)
    qtx, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    table = {}
    for seed in range(1, seeds + 1):
        x, y = data(seed)
        net = train(x[:1000], y[:1000], seed)
        with tempfile.TemporaryDirectory() as name, torch.no_grad():
            folder = pathlib.Path(name)
            prepare(qtx, net, x, folder)
            real = net(torch.from_numpy(x[1000:])).numpy()
            for what, make in models(qtx, net, x, folder):
                try:
                    with torch.enable_grad():
                        model = make()
                    table.setdefault(what, []).append(figures(model(x[1000:]), real, y[1000:]))
                except Exception as error:  # pylint: disable=broad-except
                    table.setdefault(what, []).append((np.nan, ) * 3)
                    print(f'{what}: {type(error).__name__}: {str(error)[:300]}', file=sys.stderr)
                print(seed, what, table[what][-1], file=sys.stderr, flush=True)
    print(f'{seeds} seeds: mean, and the least and the greatest\n\n| model | accuracy, % | NLL | SQNR, dB |\n|---|---|---|---|')
    for what, rows in table.items():
        cells = [f'{np.mean(v):.{d}f} ({min(v):.{d}f} to {max(v):.{d}f})' for v, d in zip(zip(*rows), (2, 4, 1))]
        print(f'| {what} | ' + ' | '.join(cells) + ' |')


if __name__ == '__main__':
    main()
