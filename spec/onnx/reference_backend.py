#!/usr/bin/env python3
"""ONNX's own reference implementation as a backend of `qtx validate`, on stdin and stdout.

Models are lowered as for ONNX Runtime, whose backend this is but for what evaluates them:
    qtx validate --backend 'cmd:python spec/onnx/reference_backend.py' --arithmetic float32
"""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

sys.dont_write_bytecode = True
PATH = pathlib.Path(__file__).resolve().parent.parent.parent / "backends/onnxruntime/backend.py"
spec = importlib.util.spec_from_file_location("backend", PATH)
backend = importlib.util.module_from_spec(spec)
spec.loader.exec_module(backend)

import onnx  # after the above, which says what is missing
from onnx.reference import ReferenceEvaluator


OLDEST = 19  # opset of the oldest DequantizeLinear that onnx.reference 1.23 has


def lower(model, qtx):
    """As that of the backend, to an opset that onnx.reference has."""
    opset = next(i.version for i in onnx.ModelProto.FromString(model).opset_import if i.domain in ("", "ai.onnx"))
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "in.onnx"), pathlib.Path(folder, "out.onnx")
        source.write_bytes(model)
        done = subprocess.run([qtx, "lower", source, "-o", target, "--opset", str(max(OLDEST, opset))],
                              capture_output=True, text=True)
        if done.returncode:
            broken = re.search(r"\[\w+\.[CS]\d+\]", done.stderr)
            raise backend.Refusal(backend.INVALID if broken else backend.UNSUPPORTED, "qtx lower", done.stderr)
        return onnx.ModelProto.FromString(target.read_bytes())


class Slot:
    def __init__(self, name, declared):
        self.name = name
        code = declared.tensor_type.elem_type
        self.type = onnx.TensorProto.DataType.Name(code).lower() if code else ""


class Session:
    """The part of an InferenceSession that the backend uses."""

    def __init__(self, model):
        self.evaluator = ReferenceEvaluator(model)

    def get_inputs(self):
        return [Slot(name, declared) for name, declared in zip(self.evaluator.input_names,
                                                               self.evaluator.input_types)]

    def run(self, names, feeds):
        return self.evaluator.run(names, feeds)


class Evaluated(backend.Prepared):
    @staticmethod
    def open(model, options):
        try:
            return Session(model)
        except Exception as error:  # its classes have no common base
            raise backend.Refusal(backend.UNSUPPORTED, "onnx.reference", str(error)) from None

    def run(self, tensors):
        for value in self.outputs:
            code = value.type.tensor_type.elem_type
            if (code - 1000 if code in backend.QUANTIZED else code) not in backend.NUMPY:
                raise backend.Refusal(backend.UNSUPPORTED, f"output '{value.name}'", f"of element type {code}")
        try:
            return self.session.run(None, self.feeds(tensors))
        except backend.Refusal:
            raise
        except Exception as error:  # its classes have no common base
            raise backend.Refusal(backend.UNSUPPORTED, "onnx.reference", str(error)) from None

    def measure(self, tensors, repetitions):
        raise backend.Refusal(backend.UNSUPPORTED, "onnx.reference", "is not timed")


class Server(backend.Server):
    def describe(self, _, response):
        response.describe.name = "onnx.reference"
        response.describe.version = onnx.__version__
        response.describe.arithmetics.append("float32")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of NumPy, about the casts in question
    backend.Prepared, backend.Server, backend.lower = Evaluated, Server, lower
    backend.main()
