"""Weights of the quantizers' own packages through `qtx convert` and back, by hand:

    python3 packages_test.py QTX [--seed N] [--cases N] [--sources FOLDER]

Each case is a file of safetensors with a weight of one scheme. `qtx convert` reads it; the reals of the weight, as a
reader in Python decodes them (extended_model.py) and as `qtx run` computes them, are rounded once to the type of the
package's own dequantization and compared with its result; `qtx convert --to safetensors` must give the file's bytes.

Needs numpy, torch (CPU), safetensors, compressed-tensors, transformers, bitsandbytes and torchao from PyPI; FOLDER holds
auto_gptq_src/ (the wheel of auto-gptq 0.7.1, unpacked) and autoawq-0.2.9/, of which two files are loaded.
"""
import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import types

import numpy
import torch
from safetensors.torch import save_file

from extended_model import Model, casts


def load_file(name, path):
    """A module of a package whose other parts are not imported."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Case:
    def __init__(self, name, tensors, weight, expected, config=None, step=None, metadata=None):
        self.name, self.tensors, self.weight, self.config = name, tensors, weight, config
        self.expected = expected  # the package's result, a tensor of its output type
        self.step = step  # how the package rounds on the way: a function of the exact reals
        self.metadata = metadata or {'format': 'pt'}
        self.twice = 0  # reals that the package, which rounds more than once, gives another value


def random_scales(generator, shape, dtype):
    """Ordinary ones, subnormal ones, great ones, 0 and negative ones."""
    scale = torch.rand(shape, generator=generator) * 0.02 + 1e-4
    kinds = torch.randint(0, 16, shape, generator=generator)
    scale = torch.where(kinds == 0, torch.tensor(6e-8), scale)
    scale = torch.where(kinds == 1, torch.tensor(2.0**-14), scale)
    scale = torch.where(kinds == 2, torch.tensor(200.0), scale)
    scale = torch.where(kinds == 3, torch.tensor(0.0), scale)
    scale = torch.where(kinds == 4, -scale, scale)
    return scale.to(dtype)


def pack_words(codes, bits, axis):
    """Codes as a dense string of bits in words of 32, along `axis` (numpy, by definition of the format)."""
    codes = numpy.moveaxis(codes.astype(numpy.uint64), axis, -1)
    width = codes.shape[-1] * bits
    flat = (codes[..., None] >> numpy.arange(bits, dtype=numpy.uint64) & 1).reshape(codes.shape[:-1] + (width,))
    flat = numpy.pad(flat, [(0, 0)] * (flat.ndim - 1) + [(0, -width % 32)])
    words = numpy.packbits(flat.astype(numpy.uint8), axis=-1, bitorder='little').view('<i4')
    return torch.from_numpy(numpy.ascontiguousarray(numpy.moveaxis(words, -1, axis)))


class Gptq:
    def __init__(self, sources):
        for name in ('auto_gptq', 'auto_gptq.nn_modules'):
            sys.modules.setdefault(name, types.ModuleType(name))
        path = pathlib.Path(sources, 'auto_gptq_src/auto_gptq/nn_modules/qlinear/qlinear_cuda.py')
        package = types.ModuleType('q')
        package.__path__ = [str(path.parent)]
        sys.modules['q'] = package
        self.module = load_file('q.qlinear_cuda', path)

    def cases(self, generator, rng):
        for bits in (2, 3, 4, 8):
            for symmetric in (True, False):
                for version in (1, 2):
                    for group in (32, -1):
                        yield self.case(generator, rng, bits, symmetric, group, version)
                    yield self.case(generator, rng, bits, symmetric, 32, version, act_order=True)

    def case(self, generator, rng, bits, symmetric, group, version, act_order=False):
        rows, columns = 96, 64
        size = rows if group == -1 else group
        groups = rows // size
        middle, most = 1 << bits - 1, (1 << bits) - 1
        codes = rng.integers(0, most + 1, (rows, columns))
        # A zero point of version 1 is one less in the file: 1 to 2^bits, but 256 has no type.
        low, high = (1, most + 1 if bits < 8 else most) if version == 1 else (0, most)
        zeros = numpy.full((groups, columns), middle) if symmetric else rng.integers(low, high + 1, (groups, columns))
        scales = random_scales(generator, (groups, columns), torch.float16)
        g_idx = torch.arange(rows, dtype=torch.int32) // size
        if act_order:
            g_idx = g_idx[torch.from_numpy(rng.permutation(rows))]
        tensors = {'m.qweight': pack_words(codes, bits, 0), 'm.qzeros': pack_words(zeros - (version == 1), bits, 1),
                   'm.scales': scales, 'm.g_idx': g_idx}
        config = {'quantization_config': {'quant_method': 'gptq', 'bits': bits, 'group_size': group,
                                          'sym': symmetric, 'desc_act': act_order,
                                          'checkpoint_format': 'gptq' if version == 1 else 'gptq_v2'}}
        return Case(f'gptq {bits} bits {"sym" if symmetric else "asym"} group {group} v{version}'
                    f'{" act-order" if act_order else ""}', tensors, 'm.weight',
                    self.dequantize(tensors, bits, version), config)

    def dequantize(self, tensors, bits, version):
        """QuantLinear multiplies the identity. It knows version 1; of version 2, scale * -1 is added back."""
        layer = types.SimpleNamespace(
            bits=bits, qweight=tensors['m.qweight'], qzeros=tensors['m.qzeros'], scales=tensors['m.scales'],
            g_idx=tensors['m.g_idx'], bias=None, autogptq_cuda_available=False, kernel_switch_threshold=128)
        rows, layer.outfeatures = len(tensors['m.g_idx']), tensors['m.scales'].shape[1]
        if bits == 3:
            layer.wf = torch.tensor([[0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0],
                                     [0, 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31],
                                     [0, 2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 0]], dtype=torch.int32).reshape(1, 3, 12)
        else:
            layer.wf = torch.arange(0, 32, bits, dtype=torch.int32).unsqueeze(0)
        if version == 1:
            eye = torch.eye(rows, dtype=torch.float16)
            return self.module.QuantLinear.forward(layer, eye)
        # Version 2 in the words of version 1: scales of binary64, from which one scale is taken back.
        layer.scales = layer.scales.double()
        result = self.module.QuantLinear.forward(layer, torch.eye(rows, dtype=torch.float64))
        return (result + layer.scales[layer.g_idx.long()]).half()


class Awq:
    def __init__(self, sources):
        self.module = load_file('packing_utils', pathlib.Path(sources, 'autoawq-0.2.9/awq/utils/packing_utils.py'))

    def cases(self, generator, rng):
        for group in (32, 64):
            for symmetric in (True, False):
                rows, columns = 128, 48
                words = lambda shape: torch.from_numpy(rng.integers(-2**31, 2**31, shape).astype(numpy.int32))
                zeros = words((rows // group, columns // 8))
                if symmetric:
                    zeros = torch.full_like(zeros, -0x77777778)  # 0x88888888
                tensors = {'m.qweight': words((rows, columns // 8)), 'm.qzeros': zeros,
                           'm.scales': random_scales(generator, (rows // group, columns), torch.float16)}
                expected = self.module.dequantize_gemm(tensors['m.qweight'], tensors['m.qzeros'], tensors['m.scales'],
                                                       4, group)
                config = {'quantization_config': {'quant_method': 'awq', 'bits': 4, 'group_size': group,
                                                  'zero_point': True, 'version': 'gemm'}}
                yield Case(f'awq group {group} {"sym" if symmetric else "asym"}', tensors, 'm.weight', expected, config)


class Compressed:
    def __init__(self):
        from compressed_tensors.compressors import BaseCompressor
        from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
        self.base, self.args, self.scheme = BaseCompressor, QuantizationArgs, QuantizationScheme

    def case(self, name, form, tensors, step=None, **args):
        scheme = self.scheme(targets=['Linear'], weights=self.args(**args), format=form)
        compressor = self.base.get_value_from_registry(form)
        expected = compressor.decompress(dict(tensors), scheme)['weight']
        config = {'quantization_config': {'quant_method': 'compressed-tensors', 'format': form, 'config_groups': {
            'group_0': {'targets': ['Linear'], 'weights': json.loads(scheme.weights.model_dump_json())}}}}
        return Case(f'{form} {name}', {f'm.{k}': v.contiguous() for k, v in tensors.items()}, 'm.weight', expected,
                    config, step)

    def cases(self, generator, rng):
        yield from self.packed_integers(generator, rng)
        yield from self.elements(generator, rng)
        yield from self.floats(generator, rng)

    def packed_integers(self, generator, rng):
        for bits in range(2, 9):
            for symmetric in (True, False):
                for rows, width, group in ((32, 96, 32), (24, 70, None), (40, 256, 64)):
                    low, high = -(1 << bits - 1), (1 << bits - 1)
                    codes = rng.integers(low, high, (rows, width))
                    groups = width // group if group else 1
                    scale = random_scales(generator, (rows, groups), torch.bfloat16)
                    tensors = {'weight_packed': pack_words(codes - low, bits, 1), 'weight_scale': scale,
                               'weight_shape': torch.tensor([rows, width])}
                    if not symmetric:
                        zeros = rng.integers(low, high, (rows, groups))
                        tensors['weight_zero_point'] = pack_words(zeros - low, bits, 0)
                    yield self.case(f'{bits} bits {"sym" if symmetric else "asym"} {rows}x{width} group {group}',
                                    'pack-quantized', tensors, num_bits=bits, type='int',
                                    symmetric=symmetric, strategy='group' if group else 'channel', group_size=group)

    def elements(self, generator, rng):
        weight = torch.from_numpy(rng.integers(-128, 128, (24, 64)).astype(numpy.int8))
        scale = random_scales(generator, (24, 1), torch.float32)
        yield self.case('channel', 'int-quantized', {'weight': weight, 'weight_scale': scale}, num_bits=8, type='int',
                        symmetric=True, strategy='channel')
        zero = torch.from_numpy(rng.integers(-128, 128, (24, 2)).astype(numpy.int8))
        yield self.case('group asym', 'int-quantized', {
            'weight': weight, 'weight_scale': random_scales(generator, (24, 2), torch.bfloat16),
            'weight_zero_point': zero}, num_bits=8, type='int', symmetric=False,
                        strategy='group', group_size=32)
        bytes_ = rng.integers(0, 256, (24, 64)).astype(numpy.uint8)
        bytes_[(bytes_ & 127) == 127] ^= 1  # no NaN
        weight = torch.from_numpy(bytes_).view(torch.float8_e4m3fn)
        yield self.case('tensor', 'float-quantized', {'weight': weight, 'weight_scale': torch.tensor([0.0137])},
                        num_bits=8, type='float', symmetric=True, strategy='tensor')
        yield self.case('channel', 'float-quantized', {
            'weight': weight, 'weight_scale': random_scales(generator, (24, 1), torch.float32)}, num_bits=8,
                        type='float', symmetric=True, strategy='channel')
        yield self.case('block', 'float-quantized', {
            'weight': weight, 'weight_scale': random_scales(generator, (3, 3), torch.float32)}, num_bits=8,
                        type='float', symmetric=True, strategy='block', block_structure=[10, 24])
        exponents = torch.from_numpy(rng.integers(90, 160, (24, 2)).astype(numpy.uint8))
        yield self.case('exponents', 'mxfp8-quantized', {'weight': weight, 'weight_scale': exponents}, num_bits=8,
                        type='float', symmetric=True, strategy='group', group_size=32, scale_dtype=torch.uint8)

    def floats(self, generator, rng):
        for i in range(12):
            codes = torch.from_numpy(rng.integers(0, 256, (16, 64)).astype(numpy.uint8))
            scale = rng.integers(0, 127, (16, 8)).astype(numpy.uint8)
            tensors = {'weight_packed': codes, 'weight_scale': torch.from_numpy(scale).view(torch.float8_e4m3fn),
                       'weight_global_scale': torch.tensor([2688 / (0.01 + rng.random())], dtype=torch.float32)}
            yield self.case(f'divisor {i}', 'nvfp4-pack-quantized', tensors, step=twice_to_bfloat16, num_bits=4,
                            type='float', symmetric=True, strategy='tensor_group', group_size=16)
        exponents = torch.from_numpy(rng.integers(1, 254, (16, 4)).astype(numpy.uint8))
        yield self.case('exponents', 'mxfp4-pack-quantized', {'weight_packed': codes, 'weight_scale': exponents},
                        num_bits=4, type='float', symmetric=True, strategy='group', group_size=32,
                        scale_dtype=torch.uint8)


def twice_to_bfloat16(model, name, exact):
    """The package multiplies in binary32, and rounds that to bfloat16."""
    return exact.astype(numpy.float32).astype(float)


class BitsAndBytes:
    def __init__(self):
        import bitsandbytes.functional
        self.functional = bitsandbytes.functional

    def cases(self, generator, rng):
        for kind in ('nf4', 'fp4'):
            for nested in (False, True):
                for shape, block in (((48, 128), 64), ((8, 96), 32), ((64, 32), 64), ((6, 64), 256)):
                    x = torch.randn(shape, generator=generator) * torch.exp(torch.randn(shape, generator=generator))
                    codes, state = self.functional.quantize_4bit(x, blocksize=block, quant_type=kind,
                                                                 compress_statistics=nested)
                    codes = torch.from_numpy(rng.integers(0, 256, tuple(codes.shape)).astype(numpy.uint8))
                    expected = self.functional.dequantize_4bit(codes, state)
                    tensors = {'m.weight': codes}
                    tensors.update({f'm.weight.{k}': v for k, v in state.as_dict(packed=True).items()})
                    yield Case(f'bitsandbytes {kind}{" nested" if nested else ""} {shape} block {block}', tensors,
                               'm.weight', expected)
        weight = torch.from_numpy(rng.integers(-127, 128, (24, 64)).astype(numpy.int8))
        rows = random_scales(generator, (24,), torch.float32)
        expected = torch.ops.bitsandbytes.int8_vectorwise_dequant(weight, rows)
        # The package rounds weight * row to binary32, then times fl(1 / 127).
        inverse = numpy.float32(7.874015718698502e-3)
        steps = weight.numpy().astype(numpy.float32) * rows.numpy()[:, None] * inverse
        yield Case('bitsandbytes int8', {'m.weight': weight, 'm.SCB': rows}, 'm.weight', expected,
                   step=lambda model, name, exact: steps.astype(float))


def deepseek(generator, rng):
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    bytes_ = rng.integers(0, 256, (256, 384)).astype(numpy.uint8)
    bytes_[(bytes_ & 127) == 127] ^= 1
    weight = torch.from_numpy(bytes_).view(torch.float8_e4m3fn)
    scale = random_scales(generator, (2, 3), torch.float32)
    yield Case('fp8 blocks', {'m.weight': weight, 'm.weight_scale_inv': scale}, 'm.weight',
               Fp8Dequantize(None)._dequantize_one(weight, scale),
               {'quantization_config': {'quant_method': 'fp8', 'weight_block_size': [128, 128]}})


def experts(generator, rng):
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    blocks = torch.from_numpy(rng.integers(0, 256, (2, 24, 3, 16)).astype(numpy.uint8))
    scales = torch.from_numpy(rng.integers(60, 200, (2, 24, 3)).astype(numpy.uint8))
    expected = convert_moe_packed_tensors(blocks, scales)
    yield Case('mxfp4 experts', {'m.gate_up_proj_blocks': blocks, 'm.gate_up_proj_scales': scales},
               'm.gate_up_proj', expected.transpose(1, 2),
               {'quantization_config': {'quant_method': 'mxfp4'}})


def torchao(generator, rng):
    """Tensors of torchao as its flatten_tensor_state_dict gives them to safetensors."""
    import torchao.quantization as q
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
    configs = {
        'int8': q.Int8WeightOnlyConfig(version=2),
        'float8': q.Float8WeightOnlyConfig(version=2),
        'intx 4 bits group 32': q.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=q.granularity.PerGroup(32)),
        'intx 3 bits asym': q.IntxWeightOnlyConfig(weight_dtype=torch.int3, granularity=q.granularity.PerGroup(32),
                                                   mapping_type=q.MappingType.ASYMMETRIC),
    }
    for name, config in configs.items():
        layer = torch.nn.Sequential(torch.nn.Linear(96, 40, dtype=torch.bfloat16))
        with torch.no_grad():
            layer[0].weight.copy_(torch.randn(40, 96, generator=generator))
        q.quantize_(layer, config)
        tensors, metadata = flatten_tensor_state_dict({'m.weight': layer[0].weight})
        yield Case(f'torchao {name}', tensors, 'm.weight', layer[0].weight.dequantize().detach(), metadata=metadata)


def qtx(*arguments):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def rounded(reals, like):
    """Binary64 to the type of `like`, once."""
    if like.dtype == torch.float32:
        return reals.astype(numpy.float32).astype(float)
    if like.dtype == torch.float16:
        with numpy.errstate(over='ignore'):
            return reals.astype(numpy.float16).astype(float)
    # bfloat16, ties to even, of the binary64 itself.
    mantissa, exponent = numpy.frexp(reals)
    step = numpy.ldexp(1.0, numpy.maximum(exponent - 8, -133))
    nearest = numpy.rint(reals / step) * step
    return numpy.where(abs(nearest) > float.fromhex('0x1.fep127'), numpy.copysign(numpy.inf, nearest), nearest)


def run(case, program, folder):
    """The faults of a case, by what failed."""
    path = folder / 'model.safetensors'
    save_file({k: v.contiguous() for k, v in case.tensors.items()}, path, metadata=case.metadata)
    (folder / 'config.json').unlink(missing_ok=True)
    if case.config:
        (folder / 'config.json').write_text(json.dumps(case.config, default=str))
    status, said = qtx(program, 'convert', path, '-o', folder / 'model.onnx', '-q', '--ledger')
    if status:
        return [f'convert: {said.strip()}']
    model = Model(folder / 'model.onnx')
    if case.weight not in model:
        return [f'no weight: {said.strip()[:300]}']
    faults = []
    exact = model.reals(case.weight)
    expected = case.expected.float().numpy().astype(float).reshape(exact.shape)
    once = rounded(exact, case.expected)
    found = once if case.step is None else rounded(case.step(model, case.weight, exact), case.expected)
    case.twice = int((once != found).sum())
    wrong = ~((found == expected) | (numpy.isnan(found) & numpy.isnan(expected)))
    if wrong.any():
        at = tuple(numpy.argwhere(wrong)[0])
        faults.append(f'{wrong.sum()} of {wrong.size} reals differ, first {at}: {found[at]}, package {expected[at]}')
    (folder / 'cast.onnx').write_bytes(casts(model, [case.weight]))
    status, said = qtx(program, 'run', folder / 'cast.onnx', '--output-dir', folder / 'out', '-q')
    results = sorted(folder.glob('out/*.npy'))
    if status or not results:
        faults.append(f'run: {said.strip()[:300]}')
    else:
        with numpy.errstate(over='ignore'):
            differ = (numpy.load(results[0]) != exact.astype(numpy.float32)).sum()
        if differ:
            faults.append(f'qtx run: {differ} reals differ')
    status, said = qtx(program, 'convert', '--to', 'safetensors', folder / 'model.onnx', '-o',
                       folder / 'back.safetensors', '-q')
    if status or (folder / 'back.safetensors').read_bytes() != path.read_bytes():
        faults.append(f'not the same bytes back: {said.strip()[:300]}')
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('qtx')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--cases', type=int, default=1, help='rounds of all cases')
    parser.add_argument('--sources', default='.')
    parser.add_argument('--only', default='')
    options = parser.parse_args()
    failed = count = values = twice = 0
    sources = [Gptq(options.sources), Awq(options.sources), Compressed(), BitsAndBytes(),
               types.SimpleNamespace(cases=deepseek), types.SimpleNamespace(cases=experts),
               types.SimpleNamespace(cases=torchao)]
    for turn in range(options.cases):
        generator = torch.Generator().manual_seed(options.seed + turn)
        rng = numpy.random.default_rng(options.seed + turn)
        for source in sources:
            for case in source.cases(generator, rng):
                if options.only not in case.name:
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    faults = run(case, options.qtx, pathlib.Path(folder))
                count += 1
                values += case.expected.numel()
                twice += case.twice
                failed += bool(faults)
                for fault in faults:
                    print(f'{case.name}: {fault}')
    print(f'{values} values, of which the package rounds {twice} otherwise, by rounding more than once')
    print(f'{count - failed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
