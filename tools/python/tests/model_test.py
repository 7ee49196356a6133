"""Models: loading, checking, converting, lowering, comparing, writing."""

import io
import pathlib
import pickle

import numpy as np
import pytest

import models
import qtx


def test_load_takes_paths_bytes_and_models(tmp_path):
    path = tmp_path / "add.onnx"
    path.write_bytes(models.add())
    for given in (path, str(path), models.add(), bytearray(models.add()), memoryview(models.add())):
        model = qtx.load(given)
        assert model.kind == "qtx"
        assert [(v.name, v.type, v.shape) for v in model.inputs] == [("a", "INT8Q", (2, 2)), ("b", "INT8Q", (2, 2))]
        assert [v.name for v in model.outputs] == ["y"]
    assert qtx.load(model) is model


def test_load_takes_a_model_proto():
    onnx = pytest.importorskip("onnx")
    proto = onnx.ModelProto.FromString(models.relu())
    model = qtx.load(proto)
    assert model.kind == "onnx" and model.opset == 17
    assert model.inputs[0].shape == ("N", 3)


def test_load_names_what_it_takes():
    for wrong in (None, 5, {}, io.BytesIO(b""), [b"x"]):
        with pytest.raises(TypeError, match="expected a path, bytes, an onnx.ModelProto or a qtx.Model"):
            qtx.load(wrong)


def test_errors_have_place_message_and_code(tmp_path):
    with pytest.raises(qtx.Error) as raised:
        qtx.load(tmp_path / "none.onnx")
    assert raised.value.code == "unreadable" and raised.value.where == str(tmp_path / "none.onnx")
    assert str(raised.value) == f"{raised.value.where}: {raised.value.message}"
    with pytest.raises(ValueError, match="none of the kinds"):
        qtx.load(b"nothing")
    with pytest.raises(qtx.Error, match="expected one of tflite"):
        qtx.load(models.add(), kind="word")


def test_a_value_has_its_parameters_and_range():
    y, = qtx.load(models.add()).outputs
    assert (y.scale, y.offset, y.axis, y.block_shape) == (2.0, 3, None, None)
    assert (y.quant_min, y.quant_max) == (-128, 127) and "scale" in y.text
    x, = qtx.load(models.relu()).inputs
    assert (x.scale, x.offset, x.quant_min, x.quant_max) == (None, None, None, None)
    columns = models.quantization([0.5, 2.0], [3, -1], [1])
    per_axis = models.model([models.node("Relu", ["x"], ["y"])], [models.value("x", models.INT8Q, [3, 2], columns)],
                            [models.value("y", models.INT8Q, [3, 2], columns)])
    x, = qtx.load(per_axis).inputs
    assert x.axis == 1 and x.scale.tolist() == [0.5, 2.0] and x.offset.tolist() == [3, -1]


def test_nodes_attributes_and_initializers():
    def attribute(name, kind, *parts):
        return b"".join([models.message(1, name), models.number(20, kind), *parts])
    tensor = models.initializer("", models.FLOAT, [2], np.float32([1, 2]).tobytes())
    node = models.node("Any", ["x", "", "w"], ["y"], attribute("f", 1, b"\x15" + np.float32(0.5).tobytes()),
                       attribute("i", 2, models.number(3, -7)), attribute("s", 3, models.message(4, "SAME")),
                       attribute("t", 4, models.message(5, tensor)), attribute("n", 7, models.number(8, 1), models.number(8, 2)),
                       attribute("g", 5, models.message(6, b"")), name="one")
    model = qtx.load(models.model(
        [node], [models.value("x", models.FLOAT, [2])], [models.value("y", models.FLOAT, [2])],
        [models.value("w", models.INT8Q, [2], models.quantization([0.5], [1]))],
        [models.initializer("w", models.INT8, [2], b"\x05\xfb"), models.initializer("v", models.INT64, [1], bytes(8))]))
    found, = model.nodes
    assert (found.op_type, found.domain, found.name, found.inputs, found.outputs) == ("Any", "", "one", ("x", "", "w"), ("y",))
    assert found.attributes.pop("t").tolist() == [1.0, 2.0]
    assert found.attributes == {"f": 0.5, "i": -7, "s": "SAME", "n": [1, 2], "g": None}
    w, v = model.initializers["w"], model.initializers["v"]
    assert (w.stored.tolist(), w.scale, w.offset) == ([5, -5], 0.5, 1) and v.tolist() == [0] and v.dtype == np.int64
    assert model.values == []  # w is a constant


# add.C: inputs and outputs must be broadcastable, which [2,2] and [3] are not.
def test_check_gives_clause_place_and_message():
    assert qtx.check(models.add()) == []
    one = models.quantization([1.0])
    broken = models.model([models.node("Add", ["a", "b"], ["y"])],
                          [models.value("a", models.INT8Q, [2, 2], one), models.value("b", models.INT8Q, [3], one)],
                          [models.value("y", models.INT8Q, [2, 2], one)])
    findings = qtx.check(broken)
    assert findings and findings[0].clause.startswith("add.C") and "node[0]" in findings[0].place
    with pytest.raises(qtx.Error) as raised:
        qtx.Interpreter(broken)
    assert raised.value.clause == findings[0].clause


def test_lower_and_lift_are_inverse():
    model = qtx.load(models.chain())
    lowered = qtx.lower(model)
    assert lowered.kind == "qdq" and [v.type for v in lowered.inputs] == ["FLOAT", "FLOAT"]
    assert qtx.diff(qtx.lift(lowered), model) == []
    assert any(entry.fate == "changed" for entry in lowered.ledger)
    assert qtx.lower(model, opset=21).opset == 21


def test_stored_io_has_integers_in_place_of_reals():
    lowered = qtx.lower(models.add(), io="stored")
    assert [(v.name, v.type, v.shape) for v in lowered.inputs] == [("a/stored", "INT8", (2, 2)), ("b/stored", "INT8", (2, 2))]
    assert [(v.name, v.type) for v in lowered.outputs] == [("y/stored", "INT8")]
    assert qtx.check(lowered) == []
    with pytest.raises(ValueError, match="io: found 'raw'"):
        qtx.lower(models.add(), io="raw")


# The numbers are those of interpreter_test: 5 -5 1 -1, halved to even, plus 3.
def test_stored_io_computes_the_same():
    lowered = qtx.lower(models.add(), io="stored")
    run = qtx.Interpreter(lowered, "float32").run({"a/stored": np.array([[2, -2], [1, -1]], np.int8),
                                                   "b/stored": np.array([[3, -3], [0, 0]], np.int8)})
    assert run["y/stored"].tolist() == [[5, 1], [3, 3]]


def test_infer_adds_what_follows():
    model = models.model([models.node("Relu", ["x"], ["t"]), models.node("Relu", ["t"], ["y"])],
                         [models.value("x", models.FLOAT, [2, 3])], [models.value("y", models.FLOAT, [2, 3])],
                         extended=False)
    assert [(v.name, v.shape) for v in qtx.infer(model).values] == [("t", (2, 3))]


def test_diff_names_place_and_field():
    other = models.add().replace(models.quantization([2.0], [3]), models.quantization([2.0], [4]))
    assert [(d.place, d.field, d.a, d.b) for d in qtx.diff(models.add(), other)] == [("value 'y'", "offset", "[3]", "[4]")]


def test_convert_gives_a_file_of_another_kind(tmp_path):
    file = qtx.convert(models.add(), "tflite")
    assert isinstance(file, bytes) and file.kind == "tflite" and file[4:8] == b"TFL3"
    back = qtx.load(file)
    assert [v.type for v in back.inputs] == ["INT8Q", "INT8Q"]
    file.save(tmp_path / "a.tflite")
    qtx.load(models.add()).save(tmp_path / "b.tflite")
    assert (tmp_path / "a.tflite").read_bytes() == (tmp_path / "b.tflite").read_bytes() == file


def test_convert_names_every_loss_that_is_not_allowed():
    model = f"{qtx.suite_folder()}/models/aww/model.onnx"
    with pytest.raises(qtx.Error) as refused:
        qtx.convert(model, "ort")
    assert refused.value.code == "unsupported" and refused.value.where.startswith(model)
    assert "--allow parameters --allow statistics goes without" in str(refused.value)
    with pytest.raises(qtx.Error) as refused:
        qtx.convert(model, "ort", allow=["parameters"])
    assert "--allow parameters" not in str(refused.value) and "--allow statistics" in str(refused.value)
    assert qtx.convert(model, "ort", allow=["parameters", "statistics"]).kind == "ort"
    with pytest.raises(qtx.Error, match="found 'all', expected some of"):
        qtx.convert(model, "ort", allow="all")


def test_save_writes_the_same_bytes_or_nothing(tmp_path):
    model = qtx.load(models.add())
    model.save(tmp_path / "a.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == model.to_bytes()
    model.save(pathlib.Path(tmp_path / "q.onnx"), kind="qdq")
    assert qtx.load(tmp_path / "q.onnx").kind == "qdq"
    with pytest.raises(qtx.Error, match="found a name for ort, json"):
        model.save(tmp_path / "a.json")
    with pytest.raises(qtx.Error) as raised:
        model.save(tmp_path / "none/a.onnx")
    assert raised.value.code == "io"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.onnx", "q.onnx"]


def test_a_model_is_pickled_and_shown():
    model = qtx.load(models.add())
    assert qtx.diff(pickle.loads(pickle.dumps(model)), model) == []
    assert "'a': INT8Q[2,2]" in repr(model)
    named = models.model([models.node("Relu", ["<b>"], ["y"])], [models.value("<b>", models.FLOAT, [1])],
                         [models.value("y", models.FLOAT, [1])], extended=False)
    assert "&lt;b&gt;" in qtx.load(named)._repr_html_() and "<b>" not in qtx.load(named)._repr_html_()


def test_kinds_say_what_is_read_and_written():
    kinds = {kind.name: kind for kind in qtx.kinds()}
    assert kinds["tflite"].reads and kinds["tflite"].writes and kinds["tflite"].extension == ".tflite"
    assert kinds["paddle"].reads and not kinds["paddle"].writes
