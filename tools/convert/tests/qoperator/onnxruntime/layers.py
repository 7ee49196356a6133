#!/usr/bin/env python3
"""How far ONNX Runtime is from exact at each layer of a model: layers.py QTX MODEL.onnx SAMPLE.npz [--levels 0,1,2,3,4]

The result of each MatMulNBits, and each output, of the whole model: ONNX Runtime with each accuracy_level against the reference in `exact`, in which
earlier layers are exact, too. Prints of each value its greatest distance, as a share of the greatest value, and its SQNR in dB.
Needs numpy, onnx and onnxruntime.
"""
import argparse
import math
import pathlib
import re
import sys
import tempfile
import zipfile

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from common import in_runtime, qtx


def measured(path):
    """The model with the results of its products as outputs, and their names."""
    model = onnx.load(path)
    names = [node.output[0] for node in model.graph.node if node.op_type == "MatMulNBits"]
    known = {value.name for value in model.graph.output}
    types = {value.name: value for value in model.graph.value_info}
    for name in names:
        if name not in known:
            model.graph.output.append(types.get(name, onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)))
            if name in types:
                model.graph.value_info.remove(types[name])
    return model, names + sorted(known - set(names))


def at_level(model, level):
    for node in model.graph.node:
        if node.op_type == "MatMulNBits":
            kept = [attribute for attribute in node.attribute if attribute.name != "accuracy_level"]
            del node.attribute[:]
            node.attribute.extend(kept + [onnx.helper.make_attribute("accuracy_level", level)])
    return model


def exact(program, model, sample, folder):
    onnx.save(model, folder / "stock.onnx")
    qtx(program, "convert", folder / "stock.onnx", "-o", folder / "extended.onnx")
    np.savez(folder / "in.npz", **sample)
    qtx(program, "run", folder / "extended.onnx", "--input", folder / "in.npz", "--output-dir", folder)

    def read(i, name):  # as `qtx run` names the files
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
        return np.load(folder / (f"{plain}.npy" if plain == name else f"{plain}#{i}.npy"))
    return {value.name: read(i, value.name) for i, value in enumerate(model.graph.output)}


def far(found, true):
    found, true = found.astype(np.float64), true.astype(np.float64)
    noise = float(np.mean((found - true) ** 2))
    sqnr = 10 * math.log10(float(np.mean(true**2)) / noise) if noise else math.inf
    return float(np.max(np.abs(found - true)) / max(np.max(np.abs(true)), 1e-30)), sqnr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qtx")
    parser.add_argument("model")
    parser.add_argument("sample")
    parser.add_argument("--levels", default="0,1,2,3,4")
    options = parser.parse_args()
    try:
        model, names = measured(options.model)
    except (OSError, DecodeError) as error:
        return f"{options.model}: {error}"
    inputs = {value.name for value in model.graph.input}
    try:
        sample = {name: array for name, array in np.load(options.sample).items() if name in inputs}
    except (OSError, EOFError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        return f"{options.sample}: {error}; expected the inputs as an npz"
    if inputs - set(sample):
        return f"{options.sample}: expected {', '.join(sorted(inputs - set(sample)))}"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            true = exact(options.qtx, model, sample, folder)
        except (OSError, RuntimeError) as error:
            return f"{options.model}: {error}"
        levels = [int(level) for level in options.levels.split(",")]
        found = {}
        for level in levels:
            onnx.save(at_level(model, level), folder / "level.onnx")
            found[level] = in_runtime(str(folder / "level.onnx"), sample)
        print("| value | " + " | ".join(f"level {level}" for level in levels) + " |\n|---|" + "---|" * len(levels))
        for name in names:
            print(f"| {name} | " + " | ".join("{:.1e}, {:.0f} dB".format(*far(found[level][name], true[name])) for level in levels) + " |")


if __name__ == "__main__":
    sys.exit(main())
