"""Writes models as StableHLO programs, and holds these to jaxlib and to the model.

Usage: networks.py QTX [--elements N] MODEL ...        (by hand; needs jaxlib, numpy)

For each model: jaxlib parses and verifies the program; what `qtx convert` reads back gives the same outputs on random
inputs, in `exact` and `float32`; so does StableHLO's interpreter, where it takes the types, and the inputs have at most
N elements (4,096). Differences are in LSB of quantized outputs, else relative to the greatest result.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy
from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

import interpreter

ALLOWED = [word for loss in ("documentation", "origin", "scheme", "statistics", "parameters")
           for word in ("--allow", loss)]
NUMPY = {"f32": "f4", "f64": "f8", "i8": "i1", "ui8": "u1", "u8": "u1", "i16": "i2", "i32": "i4", "i64": "i8",
         "i1": "?", "f16": "f2", "bf16": ml_dtypes.bfloat16, "ui64": "u8", "u16": "u2", "ui32": "u4", "ui16": "u2"}


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])


def arguments(made, text):
    """Name, shape and stored type of each argument of @main."""
    with made:
        module = ir.Module.parse(text)
        module.operation.verify()
        function = next(op for op in module.body.operations)
        types = [ir.RankedTensorType(one) for one in function.type.inputs]
        names = [str(value.location).split('"')[1] for value in function.arguments]
        found = []
        for name, one in zip(names, types):
            element = str(one.element_type)
            if element.startswith("!quant.uniform<"):
                element = element.split("<")[1].split(":")[0]
            found.append((name, [1 if one.is_dynamic_dim(i) else one.shape[i] for i in range(one.rank)], element))
        return found


def random_value(shape, element, generator):
    if element in ("f16", "bf16", "f32", "f64"):
        return generator.standard_normal(shape).astype(NUMPY[element])
    if element == "i1":
        return generator.random(shape) < 0.5
    dtype = numpy.dtype(NUMPY[element])
    if dtype.itemsize > 2:
        return generator.integers(0, 4, shape, dtype)
    return generator.integers(numpy.iinfo(dtype).min, numpy.iinfo(dtype).max + 1, shape, dtype)


def run(qtx, model, arithmetic, inputs, folder, order):
    pathlib.Path(folder).mkdir(exist_ok=True)
    command = [qtx, "run", model, "-q", "--arithmetic", arithmetic, "--output-dir", folder]
    command += ["--json", f"{folder}/o.json"]
    for number, (name, value) in enumerate(inputs):
        numpy.save(f"{folder}/in_{number}", value)
        command += ["--input", f"{name}={folder}/in_{number}.npy"]
    call(*command)
    written = json.loads(pathlib.Path(folder, "o.json").read_text())
    order.append([one["name"] for one in written["outputs"]])
    return [numpy.load(f"{folder}/{pathlib.Path(one['file']).name}") for one in written["outputs"]]


def difference(actual, expected):
    worst = 0.0
    for a, b in zip(actual, expected, strict=True):
        if a.size != b.size:
            return "shape"
        a, b = a.ravel().astype("f8"), b.ravel().astype("f8")
        scale = 1 if expected[0].dtype.kind in "iub" else max(numpy.abs(b).max(initial=0), 1e-30)
        worst = max(worst, numpy.abs(a - b).max(initial=0) / scale)
    return worst


def interpreted(made, text, values, limit):
    if sum(value.size for value in values) > limit:
        return None
    with made:  # jaxlib's legalization of quantized operators has none of parameters along an axis in [N,C,H,W]
        module = ir.Module.parse(text)
        PassManager.parse("builtin.module(func.func(stablehlo-legalize-quantized-op-to-qdq))").run(module.operation)
        text = str(module)
    try:
        return [numpy.asarray(interpreter.interpret(made, text, values))]
    except Exception as error:  # noqa: BLE001
        return str(error).split("\n")[1 if "\n" in str(error) else 0][:90]


def check(made, qtx, path, limit):
    generator = numpy.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        call(qtx, "convert", path, "-o", f"{folder}/m.onnx", "-q")
        call(qtx, "convert", f"{folder}/m.onnx", "--to", "stablehlo", "-o", f"{folder}/m.mlir", "-q", *ALLOWED)
        text = pathlib.Path(folder, "m.mlir").read_text()
        found = arguments(made, text)
        inputs = [(name, random_value(shape, element, generator)) for name, shape, element in found]
        # The interpreter has the stored integers of quantized values in types without sign.
        bare = [value.view(f"i{value.itemsize}") if element[0] == "u" and element[1] != "i" else value
                for (_, value), (_, _, element) in zip(inputs, found)]
        call(qtx, "convert", f"{folder}/m.mlir", "-o", f"{folder}/b.onnx", "-q")
        row = ["verified"]
        for arithmetic in ("exact", "float32"):
            names = []
            expected = run(qtx, f"{folder}/m.onnx", arithmetic, inputs, f"{folder}/a", names)
            actual = run(qtx, f"{folder}/b.onnx", arithmetic, inputs, f"{folder}/b", names)
            row.append(f"{arithmetic} {difference(actual, expected)}" + ("" if names[0] == names[1] else " renamed"))
        found = interpreted(made, text, bare, limit)
        if isinstance(found, list):
            found = f"{difference([found[0].view(expected[0].dtype)], expected[:1])}"
        return row + [f"interpreter {found}"]


def main():
    qtx, *models = sys.argv[1:]
    limit = 4096
    if models[0] == "--elements":
        limit, models = int(models[1]), models[2:]
    made = interpreter.context()
    for model in models:
        try:
            row = check(made, qtx, model, limit)
        except (RuntimeError, KeyError, subprocess.TimeoutExpired, ir.MLIRError) as error:
            row = ["refused: " + str(error).split('.onnx: ')[-1][:160].replace('\n', ' ')]
        print(f"{'/'.join(pathlib.Path(model).parts[-2:])[:48]:48} " + " | ".join(row), flush=True)


if __name__ == "__main__":
    main()
