"""Nothing that a caller passes ends the interpreter: broken models, wrong arrays, names that mean harm."""

import random

import numpy as np
import pytest

import models
import qtx


def attempt(work):
    """Runs `work`, which may raise what Python code raises."""
    try:
        return work()
    except (qtx.Error, TypeError, ValueError, MemoryError, OverflowError):
        return None


def use(model):
    """Everything that a model is good for."""
    loaded = qtx.load(model)
    for show in (repr, qtx.Model._repr_html_, qtx.Model.to_bytes, lambda m: m.values):
        show(loaded)
    for function in (lambda m: m.nodes, lambda m: m.initializers, qtx.check, qtx.infer, qtx.lower, qtx.lift,
                     lambda m: qtx.lower(m, io="stored"), lambda m: qtx.diff(m, m), lambda m: qtx.convert(m, "tflite")):
        attempt(lambda: function(loaded))  # pylint: disable=cell-var-from-loop
    inputs = {}
    for declared in loaded.inputs:
        shape = [size if isinstance(size, int) and 0 <= size < 5 else 1 for size in declared.shape or ()]
        inputs[declared.name] = np.zeros(shape, np.int8 if declared.type == "INT8Q" else np.float32)
    attempt(lambda: qtx.Interpreter(loaded).run(inputs, intermediates=True))
    attempt(lambda: qtx.Interpreter(loaded, "tflite"))


@pytest.mark.parametrize("whole", [models.add(), models.chain(), models.relu()])
def test_changed_bytes(whole):
    chance = random.Random(7)
    for _ in range(150):
        broken = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            broken[chance.randrange(len(broken))] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])
        attempt(lambda: use(bytes(broken)))  # pylint: disable=cell-var-from-loop
    for size in range(0, len(whole), 7):
        attempt(lambda: use(whole[:size]))  # pylint: disable=cell-var-from-loop


def test_arrays_of_every_dtype_and_rank():
    run = qtx.Interpreter(models.add()).run
    b = np.zeros((2, 2), np.int8)
    dtypes = [*np.typecodes["All"], "S3", "V4", ">f4", ">i8", "M8[s]"]
    for dtype in dtypes:
        for shape in ((), (0,), (2, 2), (1,) * 20, (2**20, 0)):
            attempt(lambda: run({"a": np.zeros(shape, dtype), "b": b}))  # pylint: disable=cell-var-from-loop
            attempt(lambda: qtx.Tensor(np.zeros(shape, dtype), scale=1))  # pylint: disable=cell-var-from-loop
    for value in (None, "a", 5, object(), [1], {}, memoryview(b"ab"), np.int8, np.ma.array(b), run):
        attempt(lambda: run({"a": value, "b": b}))  # pylint: disable=cell-var-from-loop


def test_sizes_beyond_memory():
    for dims in ([2**62, 2**62], [2**40], [-1, 2], [2**33], [0, 2**62]):
        huge = models.model([models.node("Relu", ["x"], ["y"])], [models.value("x", models.FLOAT, dims)],
                            [models.value("y", models.FLOAT, dims)], extended=False)
        attempt(lambda: use(huge))  # pylint: disable=cell-var-from-loop
    one = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (2**20, 2**20, 2**20), (0, 0, 0))
    with pytest.raises((qtx.Error, MemoryError, ValueError)):
        qtx.Tensor(one, scale=1)
    for parameters in ({"axis": 2**62}, {"axis": -2**62}, {"axis": [0, 0]}, {"axis": 0, "block_shape": 0},
                       {"axis": 0, "block_shape": 2**62}, {"scale": np.nan}, {"scale": []}, {"offset": []}):
        attempt(lambda: qtx.Tensor(np.zeros((2, 2), np.int8), **{"scale": 1.0, **parameters}))  # pylint: disable=cell-var-from-loop


def test_names_that_mean_harm(tmp_path):
    for name in ("", "\0", "a\0b", "\n", "../../x", "é" * 300, "%s%n", "<script>", "\x1b[2J"):
        for raw in (name.encode(), name.encode() + b"\xff\xfe"):
            model = models.model([models.node("Relu", [raw], ["y"])], [models.value(raw, models.FLOAT, [1])],
                                 [models.value("y", models.FLOAT, [1])], extended=False)
            attempt(lambda: use(model))  # pylint: disable=cell-var-from-loop
        attempt(lambda: qtx.convert(models.add(), name))  # pylint: disable=cell-var-from-loop
        attempt(lambda: qtx.validate(name, filter="add/tie*"))  # pylint: disable=cell-var-from-loop
        attempt(lambda: qtx.Interpreter(models.add(), name))  # pylint: disable=cell-var-from-loop
    for path in ("a\0b", "\udcff", ""):
        with pytest.raises((ValueError, qtx.Error)):
            qtx.load(path)
        with pytest.raises((ValueError, qtx.Error)):
            qtx.load(models.add()).save(path)
    with pytest.raises((qtx.Error, IsADirectoryError)):
        qtx.load(tmp_path)


def test_bytes_that_are_no_utf8_are_shown():
    model = qtx.load(models.model([models.node("Relu", [b"\xff"], ["y"])], [models.value(b"\xff", models.FLOAT, [1])],
                                  [models.value("y", models.FLOAT, [1])], extended=False))
    assert model.inputs[0].name == "\\xff"
    assert qtx.Interpreter(model).run({"\\xff": np.float32([2])})["y"].tolist() == [2]


def test_objects_that_were_not_made():
    for kind in (qtx.Tensor, qtx.Model):
        empty = object.__new__(kind)
        with pytest.raises(AttributeError):
            repr(empty)
        with pytest.raises((AttributeError, TypeError)):
            qtx.check(empty)
    with pytest.raises(TypeError):
        qtx.Model()
    for name in ("Tensor", "Value", "Model", "Source", "Session", "Suite", "Report", "BackendSource"):
        with pytest.raises(TypeError):
            repr(object.__new__(getattr(qtx._core, name)).kind)


def test_a_backend_that_ends_its_process_is_not_run_here():
    with pytest.raises(qtx.Error) as raised:
        qtx.validate("faulty:crash_on_empty_sum", filter="add/tie*")
    assert raised.value.code == "unsupported"
