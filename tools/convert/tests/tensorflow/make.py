#!/usr/bin/env python3
"""Makes the matrix of TFLite models: nets.py by kinds of quantization, with TensorFlow's converter.

make.py FOLDER [NAME...]

Writes FOLDER/NAME.KIND.tflite and says what the converter refuses. Needs tensorflow 2.21, tf-keras and, for `int4` and
`block`, ai-edge-quantizer from PyPI. Weights and calibration data are of a fixed seed.
"""
import argparse
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf
import tf_keras

import nets


def samples(net, count=16):
    random = np.random.default_rng(1)
    for _ in range(count):
        yield [sample(random, net, spec) for spec in net.inputs]


def sample(random, net, spec):
    shape = [size or 2 for size in spec.shape]
    if spec.dtype.is_integer:
        return random.integers(int(net.low), int(net.high) + 1, shape).astype(spec.dtype.as_numpy_dtype)
    return random.uniform(net.low, net.high, shape).astype(np.float32)


def integers(converter, net, edge=None):
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: samples(net)
    if edge is not None and all(spec.dtype == tf.float32 for spec in net.inputs):
        converter.inference_input_type = converter.inference_output_type = edge


def int8(converter, net):
    integers(converter, net, tf.int8)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]


def int8_float_edges(converter, net):
    integers(converter, net)


def uint8(converter, net):
    integers(converter, net, tf.uint8)


def int16x8(converter, net):
    integers(converter, net, tf.int16)
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8, tf.lite.OpsSet.TFLITE_BUILTINS]


def dynamic(converter, net):
    converter.optimizations = [tf.lite.Optimize.DEFAULT]


def float16(converter, net):
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.target_spec.supported_types = [tf.float16]


def float32(converter, net):
    pass


KINDS = {"float32": float32, "float16": float16, "int8": int8, "int8_float_edges": int8_float_edges, "uint8": uint8,
         "int16x8": int16x8, "dynamic": dynamic}
LOW_BITS = {"int4": "CHANNELWISE", "block": "BLOCKWISE_32"}


def convert(net, kind):
    if isinstance(net.function, tf_keras.Model):
        converter = tf.lite.TFLiteConverter.from_keras_model(net.function)
        KINDS[kind](converter, net)
        return converter.convert()
    module = tf.Module()
    module.call = tf.function(net.function, input_signature=net.inputs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([module.call.get_concrete_function()], module)
    KINDS[kind](converter, net)
    return converter.convert()


def low_bits(model, kind):
    """The float model with weights of 4 bits, by channel or in blocks of 32."""
    from ai_edge_quantizer import qtyping, quantizer
    q = quantizer.Quantizer(bytearray(model))
    q.add_dynamic_config(regex=".*", operation_name=qtyping.TFLOperationName.ALL_SUPPORTED, num_bits=4,
                         granularity=getattr(qtyping.QuantGranularity, LOW_BITS[kind]))
    return bytes(q.quantize().quantized_model)


def make(folder, name, kind):
    """Writes a file, or says why there is none."""
    try:
        net = nets.make(name)
        model = low_bits(convert(net, "float32"), kind) if kind in LOW_BITS else convert(net, kind)
    except Exception as error:  # whatever the converter raises is its refusal
        lines = str(error).strip().splitlines()
        print(f"{name}.{kind}: refused: {type(error).__name__}: {lines[0] if lines else ''}"[:200], flush=True)
        return
    (folder / f"{name}.{kind}.tflite").write_bytes(model)
    print(f"{name}.{kind}: {len(model)} bytes", flush=True)


def in_a_process(work, *arguments):
    """The converter ends the process on some nets."""
    child = os.fork()
    if child == 0:
        work(*arguments)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status != 0:
        print(f"{'.'.join(map(str, arguments[1:]))}: the converter ended with status {status}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="nets, random_SEED, or single_SEED; all nets where none is named")
    parser.add_argument("--kinds", nargs="+", choices=[*KINDS, *LOW_BITS], default=[*KINDS, *LOW_BITS])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in (one for name in arguments.names or nets.ALL for one in nets.expanded(name)):
        for kind in arguments.kinds:
            in_a_process(make, arguments.folder, name, kind)
    return 0


if __name__ == "__main__":
    sys.exit(main())
