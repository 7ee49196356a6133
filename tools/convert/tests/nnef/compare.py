"""Random NNEF graphs, computed by qtx and by Khronos' own interpreter.

    compare.py QTX [SEED COUNT]       (needs PyPI's nnef, nnef-tools, six, numpy and torch)

Each graph is one operator with random shapes and attributes, in reals or quantized by graph.quant.
Reals may differ by 1e-4 of the largest, quantized results by one step, where the interpreter, which
computes in binary32, is beside a tie. What qtx writes of the graph (--to nnef) is
computed by the interpreter as well. Prints each graph that differs more, or that one of both refuses,
and a summary; the status is 1 if a graph differs.
"""
import os
import random
import subprocess
import sys
import tarfile
import tempfile

import nnef
import numpy as np
from nnef_tools.interpreter.pytorch import Interpreter
from nnef_tools.io.nnef.reader import Reader


def reshaped(array, newshape, reshape=np.reshape):
    """nnef-tools 1.0.11 names an argument that numpy 2.4 has no more."""
    return reshape(array, newshape)


np.reshape = reshaped


class Net:
    """The text and binaries of one graph."""

    def __init__(self, rng, quantized):
        self.rng, self.quantized = rng, quantized
        self.lines, self.inputs, self.quant, self.data = [], [], [], {}

    def entry(self, name, span=4.0, channels=None, bits=8):
        signed, symmetric = self.rng.random() < 0.5, False
        if self.rng.random() < 0.3:
            signed, symmetric = True, self.rng.random() < 0.5
        low = (-(2 ** (bits - 1)) + symmetric) if signed else 0
        count = 2 ** bits - 1 - symmetric
        if channels:
            scale = [float(np.float32(span / count * self.rng.uniform(0.5, 1))) for _ in range(channels)]
            zero = 0 if signed else 2 ** (bits - 1)
        else:
            scale = float(np.float32(span / count))
            zero = low + self.rng.randrange(count // 3, 2 * count // 3)
        self.quant.append(f'"{name}": zero_point_linear_quantize(zero_point = {zero}, scale = {scale}, bits = {bits}, '
                          f'signed = {str(signed).lower()}, symmetric = {str(symmetric).lower()});')
        return low, low + count, scale, zero

    def external(self, shape):
        name = f'x{len(self.inputs)}'
        array = self.rng_array(shape)
        if self.quantized:  # the interpreter takes inputs as they are, so they are on the grid
            low, high, scale, zero = self.entry(name)
            array = np.float32(scale) * (np.clip(np.round(array / scale) + zero, low, high) - zero)
        self.inputs.append((name, array.astype(np.float32)))
        self.lines.append(f'{name} = external<scalar>(shape = {list(shape)});')
        return name

    def variable(self, shape, per_channel=False, positive=False):
        name = f'w{len(self.data)}'
        if self.quantized and not positive:
            low, high, _, _ = self.entry(name, 2.0, shape[0] if per_channel else None)
            array = np.array([self.rng.randint(low, high) for _ in range(int(np.prod(shape)))])
            array = array.reshape(shape).astype(np.int8 if low < 0 else np.uint8)
            self.data[name] = (array, True)
        else:
            array = self.rng_array(shape)
            self.data[name] = (np.abs(array) + np.float32(0.1) if positive else array, False)
        self.lines.append(f"{name} = variable<scalar>(shape = {list(shape)}, label = 'l/{name}');")
        return name

    def rng_array(self, shape):
        values = [self.rng.uniform(-2, 2) for _ in range(int(np.prod(shape)))]
        return np.array(values, np.float32).reshape(shape)

    def write(self, folder, outputs):
        os.makedirs(os.path.join(folder, 'l'))
        names = ', '.join(name for name, _ in self.inputs)
        with open(os.path.join(folder, 'graph.nnef'), 'w') as file:
            file.write('version 1.0;\n\ngraph net(' + names + ') -> (' + ', '.join(outputs) + ')\n{\n')
            file.writelines(f'    {line}\n' for line in self.lines)
            file.write('}\n')
        for name, (array, quantized) in self.data.items():
            with open(os.path.join(folder, 'l', name + '.dat'), 'wb') as file:
                nnef.write_tensor(file, array, quantized=quantized)
        if self.quant:
            with open(os.path.join(folder, 'graph.quant'), 'w') as file:
                file.write('\n'.join(self.quant) + '\n')


def window(r, rank, lead):
    """Padding, stride and dilation; `lead`: entries of the axes of batch and channels."""
    pads = [(0, 0)] * lead + [(r.randint(0, 1), r.randint(0, 1)) for _ in range(rank)]
    text = f'padding = {pads}' if r.random() < 0.7 else 'padding = []'
    stride = [1] * lead + [r.randint(1, 3) for _ in range(rank)]
    return text + f', stride = {stride}'


def conv(net, r):
    rank, groups = r.choice([1, 2, 2, 3]), r.choice([1, 1, 2, 0])
    c, o = 4, 8
    x = net.external([r.randint(1, 2), c] + [r.randint(5, 8) for _ in range(rank)])
    w = net.variable([o, c // groups if groups else 1] + [r.randint(1, 3) for _ in range(rank)], r.random() < 0.5)
    bias = net.variable([1, o]) if r.random() < 0.6 else '0.0'
    dilation = f', dilation = {[r.randint(1, 2) for _ in range(rank)]}' if r.random() < 0.5 else ''
    border = r.choice(['constant', 'constant', 'constant', 'replicate'])
    return [f"conv({x}, {w}, {bias}, border = '{border}', {window(r, rank, 0)}{dilation}, groups = {groups})"]


def deconv(net, r):
    rank, groups = r.choice([1, 2, 2]), r.choice([1, 2])
    x = net.external([1, 4] + [r.randint(3, 6) for _ in range(rank)])
    w = net.variable([4, 3] + [r.randint(2, 4) for _ in range(rank)])
    bias = net.variable([1, 3 * groups]) if r.random() < 0.5 else '0.0'
    return [f'deconv({x}, {w}, {bias}, {window(r, rank, 0)}, groups = {groups})']


def pool(net, r):
    rank = r.choice([1, 2, 2, 3])
    x = net.external([1, 3] + [r.randint(4, 8) for _ in range(rank)])
    size = [1, 1] + [r.randint(2, 3) for _ in range(rank)]
    op = r.choice(['max_pool', 'avg_pool', 'box'])
    border = r.choice(['ignore', 'constant'])
    normalize = ', normalize = ' + r.choice(['true', 'false']) if op == 'box' else ''
    return [f"{op}({x}, size = {size}, border = '{border}', {window(r, rank, 2)}{normalize})"]


def binary(net, r):
    shape = [r.randint(1, 4) for _ in range(r.randint(1, 4))]
    x = net.external(shape)
    other = [d if r.random() < 0.6 else 1 for d in shape[:r.randint(1, len(shape))]]
    y = r.choice([str(r.uniform(0.5, 2)), net.external(other)])
    op = r.choice(['add', 'sub', 'mul', 'min', 'max'])
    return [f'{op}({y}, {x})' if r.random() < 0.3 else f'{op}({x}, {y})']


def unary(net, r):
    x = net.external([r.randint(1, 4) for _ in range(r.randint(1, 4))])
    return [r.choice(['relu', 'sigmoid', 'tanh', 'abs', 'neg', 'exp', 'sqr', 'silu', 'softplus', 'floor', 'ceil', 'copy',
                      'sin', 'cos', 'atan', 'sign']) + f'({x})']


def activation(net, r):
    x = net.external([1, 3, 4])
    return [r.choice([f'leaky_relu({x}, alpha = 0.1)', f'elu({x}, alpha = 1.0)', f'clamp({x}, -0.5, 1.0)',
                      f'softmax({x}, axes = [{r.randint(0, 2)}])'])]  # of two axes, it divides by the sum of x


def product(net, r):
    m, k, n = (r.randint(1, 5) for _ in range(3))
    if r.random() < 0.4:
        w = net.variable([n, k], r.random() < 0.5)
        bias = net.variable([1, n]) if r.random() < 0.5 else '0.0'
        return [f'linear({net.external([m, k])}, {w}, {bias})']
    ta, tb = r.random() < 0.5, r.random() < 0.5
    lead = [2] if r.random() < 0.4 else []
    a = net.external(lead + ([k, m] if ta else [m, k]))
    b = net.external(lead + ([n, k] if tb else [k, n]))
    return [f'matmul({a}, {b}, transposeA = {str(ta).lower()}, transposeB = {str(tb).lower()})']


def move(net, r):
    x = net.external([2, 3, 4])
    kind = r.randrange(9)
    if kind == 0:
        return [f'transpose({x}, axes = {r.sample(range(3), 3)})']
    if kind == 1:
        return [f'reshape({x}, shape = {r.choice([[0, -1], [6, 4], [2, 12], [-1]])})']
    if kind == 2:
        return [f'reshape({x}, shape = [12], axis_start = 1, axis_count = 2)']
    if kind == 3:
        return [f'concat([{x}, {net.external([2, 3, 5])}], axis = 2)']
    if kind == 4:
        return [f'slice({x}, axes = [1, 2], begin = [{r.randint(0, 1)}, 1], end = [{r.randint(2, 3)}, 0])']
    if kind == 5:
        return [f'unsqueeze({x}, axes = [{r.randint(0, 3)}])']
    if kind == 6:
        return [f'pad({x}, padding = [(0, 0), (0, 0), (1, 2)], border = "{r.choice(["constant", "replicate", "reflect"])}")']
    if kind == 7:
        return [f'tile({x}, repeats = [1, 2, 2])']
    return [f'stack([{x}, {net.external([2, 3, 4])}], axis = {r.randint(0, 3)})']


def split(net, r):
    return ['split(%s, axis = 1, ratios = [1, 2])' % net.external([2, 6, 3]), 2]


def reduce(net, r):
    x = net.external([2, 3, 4])
    op = r.choice(['sum_reduce', 'mean_reduce', 'max_reduce', 'min_reduce'])
    return [f'{op}({x}, axes = {sorted(r.sample(range(3), r.randint(1, 3)))})']


def normalize(net, r):
    x = net.external([2, 4, 5, 3])
    if r.random() < 0.5:
        parameters = [net.variable([1, 4], positive=True) for _ in range(4)]
        return [f'batch_normalization({x}, {", ".join(parameters)}, epsilon = 0.001)']
    return [r.choice([f'local_response_normalization({x}, size = [1, {r.randint(1, 5)}, 1, 1], alpha = 0.5)',
                      f'l2_normalization({x}, axes = [1], epsilon = 0.001)',
                      f'l1_normalization({x}, axes = [2, 3], bias = 0.5)'])]


def sample(net, r):
    x = net.external([1, 2, 4, 4])
    return [r.choice([f'nearest_upsample({x}, factor = [2, 3])', f'area_downsample({x}, factor = [2, 2])',
                      f"multilinear_upsample({x}, factor = [2, 2], method = 'symmetric', border = 'replicate')",
                      f"multilinear_upsample({x}, factor = [2, 2], method = 'aligned')"])]


TEMPLATES = [conv, conv, deconv, pool, pool, binary, binary, unary, activation, product, move, move, split, reduce,
             normalize, sample]


def compute(qtx, folder, net, out):
    arguments = [qtx, 'run', folder, '--output-dir', out, '-q']
    for name, array in net.inputs:
        np.save(os.path.join(out, name + '.npy'), array)
        arguments += ['--input', f'{name}={os.path.join(out, name + ".npy")}']
    done = subprocess.run(arguments, capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else ''


def one(qtx, seed, counts):
    r = random.Random(seed)
    net = Net(r, r.random() < 0.6)
    text, count = (TEMPLATES[seed % len(TEMPLATES)](net, r) + [1])[:2]
    outputs = [f'y{i}' for i in range(count)]
    left = f'[{", ".join(outputs)}]' if count > 1 else outputs[0]
    net.lines.append(f'{left} = {text};')
    step = 0.0
    if net.quantized and r.random() < 0.8:
        for name in outputs:
            net.entry(name, 8.0)
        step = float(np.float32(8.0 / 254))
    with tempfile.TemporaryDirectory() as top:
        folder = os.path.join(top, 'net')
        net.write(folder, outputs)
        shown = f'seed {seed}: {text} {[a.shape for _, a in net.inputs]}'
        try:
            model = Reader(infer_shapes=True)(folder)
            expected = Interpreter(model_graph(folder))([a for _, a in net.inputs])
        except Exception as error:  # what the interpreter lacks
            counts['refused by nnef-tools'] += 1
            print('     theirs', shown, type(error).__name__, str(error)[:90])
            return
        error = compute(qtx, folder, net, top)
        if error:
            counts['refused by qtx'] += 1
            print('       ours', shown, error[-200:])
            return
        for name in outputs:
            ours = decoded(folder, top, name)
            theirs = np.asarray(expected[name], np.float64)
            if ours.shape != theirs.shape:
                counts['differ'] += 1
                print('      shape', shown, ours.shape, theirs.shape)
                return
            bound = step * 1.001 + 1e-4 * max(1.0, float(np.abs(theirs).max()))
            worst = float(np.abs(ours - theirs).max())
            if step and worst > step / 2:
                counts['one step beside'] += 1
            if not worst <= bound:
                counts['differ'] += 1
                print('     differs', shown, worst)
                return
        counts['agree'] += 1
        written(qtx, folder, net, expected, step, shown, counts)


def written(qtx, folder, net, expected, step, shown, counts):
    """Holds what qtx writes to what the interpreter found for the graph that it read."""
    tar, again = folder + '.tar', folder + '.again'
    done = subprocess.run([qtx, 'convert', folder, '--to', 'nnef', '-o', tar, '-q'], capture_output=True, text=True)
    if done.returncode:
        counts['not written'] += 1
        print('    written', shown, done.stderr.strip()[-160:])
        return
    with tarfile.open(tar) as file:
        file.extractall(again, filter='data')
    for name, (array, quantized) in net.data.items():
        with open(os.path.join(folder, 'l', name + '.dat'), 'rb') as a:
            path = os.path.join(again, 'l', name + '.dat')
            same = os.path.exists(path) and a.read() == open(path, 'rb').read()
            counts['binaries equal' if same else 'binaries differ'] += 1
    found = Interpreter(model_graph(again))([a for _, a in net.inputs])
    for a, b in zip(expected.values(), found.values()):
        worst = float(np.abs(np.asarray(a, np.float64) - b).max()) if a.shape == b.shape else np.inf
        if not worst <= step * 1.001 + 1e-4 * max(1.0, float(np.abs(a).max())):
            counts['differ'] += 1
            print('    written', shown, worst)
            return
    counts['written agree'] += 1


def model_graph(folder):
    graph = nnef.load_graph(folder)
    nnef.infer_shapes(graph)
    return graph


def decoded(folder, out, name):
    """The reals of an output; what only moves elements has its input's type if it has no entry."""
    array = np.load(os.path.join(out, name + '.npy'))
    if not os.path.exists(os.path.join(folder, 'graph.quant')) or array.dtype.kind == 'f':
        return array.astype(np.float64)
    lines = open(os.path.join(folder, 'graph.quant')).read().splitlines()
    line = ([line for line in lines if line.startswith(f'"{name}"')] or lines)[0]
    scale = float(line.split('scale = ')[1].split(',')[0])
    zero = int(line.split('zero_point = ')[1].split(',')[0])
    return (array.astype(np.float64) - zero) * scale


def main():
    qtx = sys.argv[1]
    first, count = (int(a) for a in (sys.argv[2:4] if len(sys.argv) > 3 else (0, 400)))
    counts = {key: 0 for key in ('agree', 'one step beside', 'differ', 'refused by qtx', 'refused by nnef-tools',
                                  'written agree', 'not written', 'binaries equal', 'binaries differ')}
    for seed in range(first, first + count):
        one(qtx, seed, counts)
    print(', '.join(f'{n} {key}' for key, n in counts.items()))
    return 1 if counts['differ'] else 0


if __name__ == '__main__':
    sys.exit(main())
