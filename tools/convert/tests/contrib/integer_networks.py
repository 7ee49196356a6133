#!/usr/bin/env python3
"""integer_networks.py QTX FOLDER...: integer networks against the data that lie beside them.

Each FOLDER is one of Deeploy's tests: network.onnx, inputs.npz, outputs.npz. The model is converted, checked and run
in exact and float32; where onnxruntime is installed, its lowered form runs there, too. Prints a row for each: how many
results differ in each. Needs numpy and onnx. Status 1 where a network that converts gives other results in exact.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


def call(*command):
    run = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip().splitlines()[-1])


def data_of(folder, model):
    """The inputs by name, in their declared shapes, and the results in order, each as it lies in memory."""
    constants = {i.name for i in model.graph.initializer}
    given, expected = numpy.load(folder / "inputs.npz"), numpy.load(folder / "outputs.npz")
    inputs = {}
    for value, key in zip((i for i in model.graph.input if i.name not in constants), given.files):
        tensor = value.type.tensor_type
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        inputs[value.name] = given[key].astype(kind).reshape([d.dim_value or 1 for d in tensor.shape.dim])
    return inputs, [expected[key].ravel() for key in expected.files]


def differing(results, expected):
    return sum(int((numpy.asarray(r, float).ravel() != e).sum()) for r, e in zip(results, expected, strict=True))


def results_of(program, extended, folder, inputs, outputs, arithmetic):
    arguments = []
    for i, (name, values) in enumerate(inputs.items()):
        numpy.save(folder / f"in{i}.npy", values)
        arguments += ["--input", f"{name}={folder}/in{i}.npy"]
    call(program, "run", extended, *arguments, "--arithmetic", arithmetic, "--output-dir", folder / arithmetic, "-q")
    files = sorted((folder / arithmetic).glob("*.npy"))
    if len(files) != outputs:
        raise RuntimeError(f"{len(files)} results, expected {outputs}")
    return [numpy.load(file) for file in files]


def row(program, folder, scratch):
    inputs, expected = data_of(folder, onnx.load(folder / "network.onnx"))
    extended = scratch / "extended.onnx"
    call(program, "convert", folder / "network.onnx", "-o", extended, "-q")
    call(program, "check", extended)
    found = {a: differing(results_of(program, extended, scratch, inputs, len(expected), a), expected)
             for a in ("exact", "float32")}
    if onnxruntime:
        call(program, "lower", extended, "-o", scratch / "lowered.onnx", "-q")
        onnxruntime.set_default_logger_severity(3)
        session = onnxruntime.InferenceSession(scratch / "lowered.onnx", providers=["CPUExecutionProvider"])
        found["ONNX Runtime"] = differing(session.run(None, inputs), expected)
    return found, sum(e.size for e in expected)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    wrong = 0
    for folder in map(pathlib.Path, sys.argv[2:]):
        with tempfile.TemporaryDirectory() as name:
            try:
                found, count = row(sys.argv[1], folder, pathlib.Path(name))
            except RuntimeError as error:
                print(f"{folder.name}: {error}")
                continue
        wrong += found["exact"] != 0
        print(f"{folder.name}: of {count} differ " + ", ".join(f"{v} in {k}" for k, v in found.items()))
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
