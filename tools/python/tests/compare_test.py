"""qtx.compare: a callable with a known fault, and ONNX Runtime."""

import numpy as np
import pytest

import models
import qtx

INPUTS = {"a": np.int8([2, -2, 1, -1]), "b": np.int8([3, -3, 0, 0])}


# As in interpreter_test, t is 5 1 3 3 stored, and y is 7 -7 0 0. The session has 6 in place of 5, which is 2 more in y.
def test_the_worst_comes_first_and_the_origin_is_named(tmp_path):
    def session(inputs):
        assert set(inputs) == {"a", "b"}
        return {"t": np.int8([6, 1, 3, 3]), "y": np.float32([9, -7, 0, 0])}
    comparison = qtx.compare(models.chain(), INPUTS, session, arithmetic="exact")
    assert [(layer.value, layer.largest, layer.differing, layer.at) for layer in comparison] == [
        ("y", 2, 1, (0,)), ("t", 1, 1, (0,))]
    assert comparison.first.value == "t" and (comparison.first.got, comparison.first.expected) == (6, 5)
    assert str(comparison).startswith("2 of 2 values differ from the reference in exact; the first is t")
    comparison.html(tmp_path / "c.html")
    assert "<td>LSB</td>" in (tmp_path / "c.html").read_text()


def test_what_a_session_lacks_is_missing():
    comparison = qtx.compare(models.chain(), INPUTS, lambda inputs: {"y": np.int8([7, -7, 0, 0])}, arithmetic="exact")
    assert comparison.missing == ["t"] and comparison.first is None and len(comparison) == 1


def test_floats_differ_relative_to_the_largest():
    x = np.array([[-1, 2, 4]], np.float32)
    layer, = qtx.compare(models.relu(), {"x": x}, lambda inputs: {"y": np.float32([[0, 2, 5]])})
    assert (layer.largest, layer.unit, layer.at) == (0.25, "relative", (0, 2))
    layer, = qtx.compare(models.relu(), {"x": x}, lambda inputs: {"y": np.float32([[np.nan, 2, 4]])})
    assert layer.largest == float("inf")


def test_wrong_sessions_are_named():
    with pytest.raises(TypeError, match="session: found int"):
        qtx.compare(models.chain(), INPUTS, 5)
    with pytest.raises(TypeError, match="session: gave list"):
        qtx.compare(models.chain(), INPUTS, lambda inputs: [])
    with pytest.raises(ValueError, match=r"value 'y': found shape \[2\], expected \[4\]"):
        qtx.compare(models.chain(), INPUTS, lambda inputs: {"y": np.int8([1, 2])})
    with pytest.raises(ZeroDivisionError):
        qtx.compare(models.chain(), INPUTS, lambda inputs: 1 // 0)


# A session whose own output is another than that of a session with every value: as one with a fused kernel that is wrong.
def test_outputs_are_those_of_the_session_itself():
    ort = pytest.importorskip("onnxruntime")
    lowered = qtx.lower(models.chain()).to_bytes()

    class Fused(ort.InferenceSession):
        def run(self, output_names, input_feed, run_options=None):
            results = super().run(output_names, input_feed, run_options)
            return [result + 1 for result in results] if len(results) == 1 else results
    comparison = qtx.compare(models.chain(), INPUTS, Fused(lowered, providers=["CPUExecutionProvider"]))
    assert [(layer.value, layer.largest) for layer in comparison] == [("y", 1), ("t", 0)]
    stored = ort.InferenceSession(qtx.lower(models.chain(), io="stored").to_bytes(), providers=["CPUExecutionProvider"])
    assert qtx.compare(models.chain(), INPUTS, stored).first is None


def test_onnx_runtime_has_every_value():
    ort = pytest.importorskip("onnxruntime")
    model = qtx.load(models.chain())
    session = ort.InferenceSession(qtx.lower(model).to_bytes(), providers=["CPUExecutionProvider"])
    for inputs in (INPUTS, {name: array.astype(np.float32) for name, array in INPUTS.items()},
                   {name: qtx.Tensor(array, scale=1.0) for name, array in INPUTS.items()}):
        comparison = qtx.compare(model, inputs, session)
        assert {layer.value for layer in comparison} == {"t", "y"} and not comparison.missing
        assert comparison.first is None, str(comparison)
