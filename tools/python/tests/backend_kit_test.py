"""Backends as classes: the forms of models they are given, what they decline, and a process that speaks the protocol."""

import pathlib
import struct
import sys

import numpy as np
import pytest

import models
import qtx
from qtx.backend_kit import Backend, callable_of

CASES = str(pathlib.Path(qtx._core.SOURCE_FOLDER) / "conformance/cases/ops/add")
TIES = "add/tie_with_odd_offset*"


class Toy(Backend):
    """The reference, given the stock form."""

    name, version = "toy", "1"

    def prepare(self, model):
        self.given = qtx.Interpreter(model, "float32")

    def run(self, inputs):
        return list(self.given.run(inputs).values())


def outcomes(backend, filter=TIES):
    """The outcomes and diagnoses of the cases of Add."""
    report = qtx.validate(backend, filter=filter, suite=CASES, diagnose=False)
    return {case["outcome"] for case in report.cases}, [case["diagnosis"] for case in report.cases]


def test_a_class_given_stock_onnx_conforms():
    seen = []

    class Seeing(Toy):
        def prepare(self, model):
            seen.append(qtx.load(model))
            super().prepare(model)
    report = qtx.validate(callable_of(Seeing), filter="add/*", suite=CASES)
    assert report.conforms and report.counts["pass"] > 20
    assert report.rows[0]["name"] == "toy" and report.rows[0]["version"] == "1"
    assert all(model.kind != "qtx" for model in seen)
    # A quantized input is its stored integers, and QuantizeLinear of it is gone.
    assert any(value.type == "INT8" for value in seen[0].inputs)


def test_forms():
    seen = {}

    class Form(Toy):
        def prepare(self, model):
            seen[self.takes] = bytes(model)
            raise qtx.Unsupported("seen")
    for form in ("onnx", "tflite", "qtx"):
        Form.takes = form
        with pytest.raises(qtx.Unsupported, match="seen"):
            callable_of(Form)(models.add())
    assert seen["tflite"][4:8] == b"TFL3"  # the file identifier of TFLite
    assert qtx.load(seen["qtx"]).kind == "qtx" and qtx.load(seen["onnx"]).kind == "qdq"
    Form.takes = "paddle"
    with pytest.raises(ValueError, match="takes: found 'paddle', expected one of onnx, tflite, qtx"):
        callable_of(Form)


# A TFLite file has no place for quant_min -100 (sint64: 199), without which its answers would be others.
def test_tflite_declines_what_it_cannot_express():
    class Lite(Toy):
        takes = "tflite"
    one = models.quantization([1.0])
    narrow = models.message(1001, models.message(1, struct.pack("<f", 1.0)), models.number(7, 199))
    model = models.model([models.node("Add", ["a", "b"], ["y"], name="sum")],
                         [models.value("a", models.INT8Q, [2], one), models.value("b", models.INT8Q, [2], one)],
                         [models.value("y", models.INT8Q, [2], narrow)])
    with pytest.raises(qtx.Unsupported, match=r"\[-100, 127\]"):
        callable_of(Lite)(model)


# What several operators of TFLite compute says nothing of the one that it lacks.
def test_tflite_declines_what_other_operators_compute():
    class Lite(Toy):
        takes = "tflite"
    model = models.model([models.node("HardSigmoid", ["x"], ["y"], name="gate")],
                         [models.value("x", models.FLOAT, [2])], [models.value("y", models.FLOAT, [2])])
    with pytest.raises(qtx.Unsupported, match="HardSigmoid, which TFLite lacks"):
        callable_of(Lite)(model)


def test_declines():
    class NoAdd(Toy):
        operators = {"QuantizeLinear", "DequantizeLinear"}
    assert outcomes(callable_of(NoAdd))[1][0].endswith("toy has no Add")

    class Loses(Toy):
        def run(self, inputs):
            raise RuntimeError("no kernel")
    found, diagnoses = outcomes(callable_of(Loses))
    assert found == {"unsupported"} and "RuntimeError: no kernel" in diagnoses[0]

    class Faulty(Toy):
        def run(self, inputs):
            raise KeyError("a slip of the adapter")
    found, diagnoses = outcomes(callable_of(Faulty))
    assert found == {"fail"} and "KeyError: 'a slip of the adapter' (backend_kit_test.py:" in diagnoses[0]

    class Short(Toy):
        def run(self, inputs):
            return []
    found, diagnoses = outcomes(callable_of(Short))
    assert found == {"protocol_error"} and "found 0 outputs, expected 1" in diagnoses[0]


SERVED = '''
import os, subprocess, sys
from qtx.backend_kit import Backend, serve
import qtx

class Chatty(Backend):
    name, arithmetics = "chatty", ["exact", "float32"]

    def __init__(self, options):
        super().__init__(options)
        self.device = f"OMP_NUM_THREADS {os.environ['OMP_NUM_THREADS']}"

    def prepare(self, model):
        print("prepared")
        os.write(1, b"by the descriptor")
        subprocess.run(["sh", "-c", "echo a child; cat"], check=True)  # which reads no request
        self.interpreter = qtx.Interpreter(model, "float32")

    def run(self, inputs):
        return list(self.interpreter.run(inputs).values())

if __name__ == "__main__":
    serve(Chatty)
'''


# With what `validate` asks of every process after the cases: malformed requests, inputs that do not fit, repetitions.
def test_a_process_keeps_the_protocol_whatever_its_system_prints(tmp_path, monkeypatch):
    program = tmp_path / "chatty.py"
    program.write_text(SERVED)
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(qtx.__file__).parent.parent))
    report = qtx.validate(f"cmd:{sys.executable} {program} --threads 3 --arithmetic float32", filter=TIES, suite=CASES)
    row, = report.rows
    assert report.conforms, str(report)
    assert (row["name"], row["arithmetic"], row["device"]) == ("chatty", "float32", "OMP_NUM_THREADS 3")
    assert not row["findings"]


# As `qtx spec new backend my-npu` writes it (tools/spec/tests/create_test.cc): it runs at once.
def test_the_template_passes(tmp_path, monkeypatch):
    template = pathlib.Path(qtx._core.SOURCE_FOLDER) / "spec/templates/backend.py"
    text = template.read_text(encoding="utf-8").replace("@TITLE@", "My npu").replace("@CLASS@", "MyNpu").replace("@NAME@", "my-npu")
    program = tmp_path / "backend.py"
    program.write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(qtx.__file__).parent.parent))
    report = qtx.validate(f"cmd:{sys.executable} {program}", filter="add/*", suite=CASES)
    assert report.conforms and report.counts["pass"] > 20 and report.rows[0]["name"] == "my-npu", str(report)


def test_inputs_that_do_not_fit_are_refused():
    model = qtx.load(models.add())._core
    prepared = qtx._backends.Adapter(callable_of(Toy)).prepare(model, "float32")
    declared = model.inputs[0]
    right, wrong = (qtx.Tensor(np.zeros(declared.shape, np.int8), scale)._core for scale in (1.0, 2.0))
    longer = qtx.Tensor(np.zeros([9, *declared.shape], np.int8), 1.0)._core
    others = [right] * (len(model.inputs) - 1)
    for inputs in ([right, *others, right], [wrong, *others], [longer, *others]):
        assert isinstance(prepared.run(inputs), qtx._core.Answer)
        assert isinstance(prepared.measure(inputs, 2), qtx._core.Answer)
    assert len(prepared.run([right, *others])) == 1
    seconds = prepared.measure([right, *others], 2)
    assert len(seconds) == 2 and min(seconds) >= 0
