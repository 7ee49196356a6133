#!/usr/bin/env python3
"""Makes the zoo: make.py FOLDER [GLOB]: every network of nets.py, as each exporter and quantizer of PyPI writes it.

FOLDER gets NET/EXPORT.onnx of float networks, NET/EXPORT.QUANTIZER.onnx of quantized ones, and NET/samples/K.npz, inputs by their names: the
first for comparing, the others for calibrating. Weights, inputs and so files are the same in each run of the same packages. What a producer
itself does not make is told and counted; GLOB is of NET/EXPORT.QUANTIZER.
"""
import argparse
import contextlib
import copy
import fnmatch
import io
import logging
import pathlib
import warnings

import numpy as np
import onnx
import torch
import torch.nn.utils.parametrize

import nets

warnings.filterwarnings("ignore")
SAMPLES = 4
EXPORTS = {"script13": (False, 13), "script17": (False, 17), "dynamo18": (True, 18), "dynamo21": (True, 21), "dynamo23": (True, 23)}


def export(module, inputs, path, name):
    dynamo, opset = EXPORTS[name]
    options = {"external_data": False, "verbose": False} if dynamo else {}
    with torch.no_grad():
        torch.onnx.export(module, tuple(inputs.values()), str(path), input_names=list(inputs), dynamo=dynamo, opset_version=opset, **options)


def draw(inputs, k):
    """The k-th sample: reals anew, tokens anew, masks as they are."""
    generator = torch.Generator().manual_seed(k)
    drawn = {}
    for name, tensor in inputs.items():
        if tensor.is_floating_point():
            tensor = torch.randn(tensor.shape, generator=generator)
        elif name == "ids":
            tensor = torch.randint(1, 99, tensor.shape, generator=generator)
        drawn[name] = tensor.numpy()
    return drawn


class Reader:
    """What ONNX Runtime's calibration reads."""

    def __init__(self, samples, names):
        self.samples = iter([{name: sample[name] for name in names if name in sample} for sample in samples])

    def get_next(self):
        return next(self.samples, None)


def runtime_static(form, activation, weight, per_channel=True):
    def make(source, target, samples):
        from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
        from onnxruntime.quantization.shape_inference import quant_pre_process
        ready = target.with_suffix(".ready")
        quant_pre_process(str(source), str(ready), skip_symbolic_shape=True)
        names = [value.name for value in onnx.load(source).graph.input]
        quantize_static(str(ready), str(target), Reader(samples[1:], names), quant_format=QuantFormat[form], per_channel=per_channel,
                        activation_type=QuantType[activation], weight_type=QuantType[weight])
        ready.unlink()
    return make


def runtime_dynamic(source, target, samples):
    from onnxruntime.quantization import QuantType, quantize_dynamic
    quantize_dynamic(str(source), str(target), weight_type=QuantType.QUInt8)


def runtime_blocks(form, symmetric):
    def make(source, target, samples):
        from onnxruntime.quantization import QuantFormat
        from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer
        config = DefaultWeightOnlyQuantConfig(block_size=16, is_symmetric=symmetric, quant_format=QuantFormat[form])
        quantizer = MatMulNBitsQuantizer(onnx.load(source), block_size=16, is_symmetric=symmetric, algo_config=config)
        quantizer.process()
        onnx.save(quantizer.model.model, target)
    return make


QUANTIZERS = {
    "qdq_u8s8": runtime_static("QDQ", "QUInt8", "QInt8"),
    "qdq_s8s8": runtime_static("QDQ", "QInt8", "QInt8"),
    "qdq_s16s8": runtime_static("QDQ", "QInt16", "QInt8"),
    "qdq_u8u8": runtime_static("QDQ", "QUInt8", "QUInt8", per_channel=False),
    "qoperator_u8s8": runtime_static("QOperator", "QUInt8", "QInt8"),
    "qoperator_s8s8": runtime_static("QOperator", "QInt8", "QInt8", per_channel=False),
    "dynamic": runtime_dynamic,
    "matmul4": runtime_blocks("QOperator", False),
    "matmul4_symmetric": runtime_blocks("QOperator", True),
    "blocks4_qdq": runtime_blocks("QDQ", True),
}


class FakeQuantizedWeight(torch.nn.Module):
    """8 bits, symmetric, a scale for each channel."""

    def __init__(self, weight):
        super().__init__()
        scale = weight.abs().amax(dim=tuple(range(1, weight.dim()))).clamp(min=1e-6) / 127
        self.register_buffer("scale", scale)
        self.register_buffer("zero", torch.zeros_like(scale, dtype=torch.int32))

    def forward(self, weight):
        return torch.fake_quantize_per_channel_affine(weight, self.scale, self.zero, 0, -128, 127)


def fake_quantized(module, inputs, path):
    """As training for quantization leaves a network: inputs and weights of its products are fake-quantized."""
    module = copy.deepcopy(module)
    layers = [layer for layer in module.modules() if type(layer) in (torch.nn.Linear, torch.nn.Conv2d)]
    scales = {}
    hooks = [layer.register_forward_pre_hook(lambda layer, given: scales.__setitem__(layer, float(given[0].abs().max()) / 127)) for layer in layers]
    with torch.no_grad():
        module(*inputs.values())
    for hook in hooks:
        hook.remove()
    for layer, scale in scales.items():
        torch.nn.utils.parametrize.register_parametrization(layer, "weight", FakeQuantizedWeight(layer.weight.detach()))
        layer.register_forward_pre_hook(lambda _, given, scale=scale: (torch.fake_quantize_per_tensor_affine(given[0], scale, 0, -128, 127),))
    export(module.eval(), inputs, path, "script17")


def brevitas(form):
    def make(module, inputs, path):
        from brevitas.export import export_onnx_qcdq, export_qonnx
        from brevitas.graph.calibrate import calibration_mode
        from brevitas.graph.quantize import layerwise_quantize
        module = layerwise_quantize(copy.deepcopy(module)).eval()
        with torch.no_grad(), calibration_mode(module):
            module(*inputs.values())
        with torch.no_grad():
            module(*inputs.values())
            write = {"qonnx": export_qonnx, "qcdq": export_onnx_qcdq}[form]
            write(module, args=tuple(inputs.values()), export_path=str(path), input_names=list(inputs), opset_version=17, dynamo=False)
    return make


def pt2e(module, inputs, path):
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86
    with torch.no_grad():
        program = torch.export.export(module, tuple(inputs.values())).module()
        prepared = prepare_pt2e(program, x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config()))
        prepared(*inputs.values())
        export(convert_pt2e(prepared, fold_quantize=False), inputs, path, "dynamo21")


# What quantizes modules of PyTorch itself and exports them.
MODULE_QUANTIZERS = {"fake_quantized": fake_quantized, "brevitas_qonnx": brevitas("qonnx"), "brevitas_qcdq": brevitas("qcdq"), "pt2e": pt2e}
# The exports that ONNX Runtime's quantizers begin with.
QUANTIZED_EXPORTS = ("script17", "dynamo21")


class Zoo:
    def __init__(self, folder, pattern):
        self.folder, self.pattern, self.made, self.failed = folder, pattern, 0, []

    def make(self, name, write):
        """`write(path)` makes FOLDER/NAME.onnx, where the pattern asks for it and it is not there."""
        path = self.folder / f"{name}.onnx"
        if path.exists() or not fnmatch.fnmatch(name, self.pattern):
            return
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                write(path)
            self.made += 1
        except Exception as error:
            for left in path.parent.glob(path.stem + ".*"):
                if left.stem == path.stem:
                    left.unlink()
            self.failed.append(name)
            print(f"{name}: not made: {type(error).__name__}: {str(error).strip().splitlines()[0][:160] if str(error).strip() else ''}", flush=True)

    def make_net(self, net):
        module, inputs = nets.build(net)
        folder = self.folder / net
        (folder / "samples").mkdir(parents=True, exist_ok=True)
        samples = [draw(inputs, k) for k in range(SAMPLES)]
        for k, sample in enumerate(samples):
            np.savez(folder / "samples" / f"{k}.npz", **sample)
        for name in EXPORTS:
            self.make(f"{net}/{name}", lambda path, name=name: export(module, inputs, path, name))
        for source in QUANTIZED_EXPORTS:
            if not (folder / f"{source}.onnx").exists():
                continue
            for name, quantize in QUANTIZERS.items():
                self.make(f"{net}/{source}.{name}", lambda path, q=quantize, s=source: q(folder / f"{s}.onnx", path, samples))
        for name, quantize in MODULE_QUANTIZERS.items():
            self.make(f"{net}/torch.{name}", lambda path, q=quantize: q(module, inputs, path))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("glob", nargs="?", default="*")
    arguments = parser.parse_args()
    chosen = [net for net in nets.NETS if fnmatch.fnmatch(net, arguments.glob.split("/")[0])]
    if not chosen:
        parser.error(f"{arguments.glob}: no network of nets.py: {' '.join(nets.NETS)}")
    logging.disable(logging.ERROR)
    zoo = Zoo(arguments.folder, arguments.glob)
    for net in chosen:
        zoo.make_net(net)
    print(f"{zoo.made} made, {len(zoo.failed)} not made by their producers")


if __name__ == "__main__":
    main()
