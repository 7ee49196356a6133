#!/usr/bin/env python3
"""networks.py QTX: whole networks, in how many outputs arithmetics and libraries differ from the exact result.

QTX is the program `qtx`. For each int8 network of the suite, over all inputs that the suite has for it: how many of the
outputs differ, and by how many units at most. Libraries depend on the processor, so the table is measured and not compared
by a test. Status 77: no NumPy.
"""
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import qtx
import tables

MODELS = pathlib.Path(__file__).resolve().parent.parent.parent / "conformance/cases/models"
SYSTEMS = {"float32": ["--arithmetic", "float32"], "tflite": ["--arithmetic", "tflite"],
           "tflite-double": ["--arithmetic", "tflite-double"],
           "XNNPACK": ["--arithmetic", "float32", "--backend", "xnnpack"],
           "oneDNN, VNNI": ["--arithmetic", "float32", "--backend", "onednn"],
           "oneDNN, AVX2": ["--arithmetic", "float32", "--backend", "onednn:isa=avx2"]}


def outputs(program, model, data, arguments):
    """The stored outputs, or None where the backend declines the model."""
    with tempfile.TemporaryDirectory() as folder:
        run = qtx.attempt(program, "run", model, "--input", data, *arguments, "--output-dir", folder)
        if run.returncode:
            return None
        return np.concatenate([np.load(path).astype(np.int64).ravel()
                               for path in sorted(pathlib.Path(folder).glob("*.npy"))])


def cell(program, model, inputs, exact, arguments):
    got = [outputs(program, model, data, arguments) for data in inputs]
    if any(values is None for values in got):
        return "declined"
    difference = np.abs(np.concatenate(got) - exact)
    count = int((difference != 0).sum())
    return f"{count}, by up to {difference.max()}" if count else "0"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program, rows = sys.argv[1], []
    for model in sorted(MODELS.glob("*/model.onnx")):
        inputs = sorted(model.parent.glob("*/input_0.npy"))
        reference = [outputs(program, model, data, ["--arithmetic", "exact"]) for data in inputs]
        if any(values is None for values in reference):
            sys.exit(f"{model}: qtx run: the reference fails")
        exact = np.concatenate(reference)
        rows.append([model.parent.name, f"{len(inputs)}, {exact.size:,}",
                     *(cell(program, model, inputs, exact, arguments) for arguments in SYSTEMS.values())])
    print(tables.table(["network", "inputs, outputs", *SYSTEMS], rows), end="")


if __name__ == "__main__":
    main()
