"""The interpreter and tensors: values derived by hand."""

import threading

import numpy as np
import pytest

import models
import qtx

A = np.array([[2, -2], [1, -1]], np.int8)
B = np.array([[3, -3], [0, 0]], np.int8)


# Sums 5 -5 1 -1; halved 2.5 -2.5 0.5 -0.5; to even 2 -2 0 0; plus 3.
def test_stored_values_round_to_even_before_the_offset():
    y = qtx.Interpreter(models.add()).run({"a": A, "b": B})["y"]
    assert isinstance(y, qtx.Tensor)
    assert y.stored.dtype == np.int8 and y.stored.tolist() == [[5, 1], [3, 3]]
    assert (y.type, y.shape, y.scale, y.offset, y.axis) == ("INT8Q", (2, 2), 2.0, 3, None)
    assert y.real().tolist() == [[4.0, -4.0], [0.0, 0.0]]
    assert np.asarray(y).tolist() == [[5, 1], [3, 3]] and np.asarray(y, np.float32).dtype == np.float32


def test_arrays_of_any_strides_are_taken():
    run = qtx.Interpreter(models.add()).run
    wide = np.zeros((4, 6), np.int8)
    wide[::2, ::3] = A
    for a in (np.asfortranarray(A), wide[::2, ::3], A.T.copy().T, A[::-1][::-1]):
        assert run({"a": a, "b": B})["y"].stored.tolist() == [[5, 1], [3, 3]]
    read_only = A.copy()
    read_only.flags.writeable = False
    assert run({"a": read_only, "b": B})["y"].stored.tolist() == [[5, 1], [3, 3]]


# 2.5 is stored as 2 by scale 1 (to even), and 3 + 2 = 5 as above.
def test_reals_are_quantized_by_the_inputs_parameters():
    a = np.array([[2.5, -2.4], [1, -1]], np.float32)
    assert qtx.Interpreter(models.add()).run({"a": a, "b": B})["y"].stored.tolist() == [[5, 1], [3, 3]]


def test_tensors_are_inputs_with_parameters_that_fit():
    run = qtx.Interpreter(models.add()).run
    assert run({"a": qtx.Tensor(A, scale=1.0), "b": B})["y"].stored.tolist() == [[5, 1], [3, 3]]
    with pytest.raises(qtx.Error, match=r"input\[0\] 'a': quantization: differs from the declared parameters"):
        run({"a": qtx.Tensor(A, scale=0.5), "b": B})


def test_intermediates_come_in_order():
    values = qtx.Interpreter(models.chain()).run({"a": np.int8([2, -2, 1, -1]), "b": np.int8([3, -3, 0, 0])},
                                                 intermediates=True)
    assert list(values) == ["t", "y"]
    assert values["t"].stored.tolist() == [5, 1, 3, 3]
    assert values["y"].stored.tolist() == [4 + 3, -4 - 3, 0, 0]


def test_plain_types_are_arrays():
    y = qtx.Interpreter(models.relu()).run({"x": np.array([[-1, 0, 2]], ">f4")})["y"]
    assert isinstance(y, np.ndarray) and y.dtype == np.float32 and y.tolist() == [[0, 0, 2]]
    empty = qtx.Interpreter(models.relu()).run({"x": np.zeros((0, 3), np.float32)})["y"]
    assert empty.shape == (0, 3)


def test_an_array_keeps_its_tensor_alive():
    stored = qtx.Interpreter(models.add()).run({"a": A, "b": B})["y"].stored
    junk = [bytes(64) for _ in range(1000)]
    assert stored.tolist() == [[5, 1], [3, 3]] and len(junk) == 1000


def test_wrong_inputs_are_named():
    run = qtx.Interpreter(models.add()).run
    with pytest.raises(TypeError, match=r"inputs: found \['a'\], expected \['a', 'b'\]"):
        run({"a": A})
    with pytest.raises(TypeError, match="inputs: found list, expected a dict"):
        run([A, B])
    with pytest.raises(TypeError, match=r"input 'a': found an array of int64, expected int8 or float32 \(reals\)"):
        run({"a": A.astype(np.int64), "b": B})
    with pytest.raises(TypeError, match="input 'a': found list, expected a numpy array"):
        run({"a": A.tolist(), "b": B})
    with pytest.raises(qtx.Error, match=r"input\[0\] 'a': found shape \[2,1\], declared \[2,2\]"):
        run({"a": A[:, :1], "b": B})


def test_arithmetics_are_known_by_name():
    assert {"exact", "float32", "tflite"} <= set(qtx.arithmetics())
    with pytest.raises(qtx.Error, match="exact"):
        qtx.Interpreter(models.add(), "roman")
    with pytest.raises(qtx.Error, match="no node of this name"):
        qtx.Interpreter(models.add(), node_arithmetics={"other": "float32"})
    qtx.Interpreter(models.add(), node_arithmetics={"sum": "float32"})
    with pytest.raises(TypeError, match="arithmetic: found int"):
        qtx.Interpreter(models.add(), 5)


def test_a_profile_gives_each_node_an_arithmetic():
    assert "litert-xnnpack" in qtx.profiles()
    # XNNPACK adds in integers and rounds half up: 0.5 is 1, where `exact` has 0 (xnnpack.S4).
    tie = {"a": np.array([[1, 0], [0, 0]], np.int8), "b": np.zeros((2, 2), np.int8)}
    exact, deployed = qtx.Interpreter(models.add()), qtx.Interpreter(models.add(), profile="litert-xnnpack")
    by_hand = qtx.Interpreter(models.add(), node_arithmetics={"sum": "xnnpack"})
    assert deployed.unmodelled == [] and deployed.profile == "litert-xnnpack"
    assert deployed.run(tie)["y"].stored.tolist() == by_hand.run(tie)["y"].stored.tolist() == [[4, 3], [3, 3]]
    own = qtx.Interpreter(models.add(), node_arithmetics={"sum": "exact"}, profile="litert-xnnpack")
    assert own.run(tie)["y"].stored.tolist() == exact.run(tie)["y"].stored.tolist() == [[3, 3], [3, 3]]
    with pytest.raises(qtx.Error, match="found 'roman', expected one of litert-reference"):
        qtx.Interpreter(models.add(), profile="roman")


def test_threads_share_an_interpreter():
    interpreter = qtx.Interpreter(models.add())
    wrong = []

    def work():
        for _ in range(50):
            if interpreter.run({"a": A, "b": B}, intermediates=True)["y"].stored.tolist() != [[5, 1], [3, 3]]:
                wrong.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# real = scale * (stored - offset): row 0 has scale 0.5 and offset 1, row 1 scale 4 and offset -2.
def test_parameters_along_an_axis():
    tensor = qtx.Tensor(np.array([[1, 3], [0, 1]], np.uint8), scale=[0.5, 4], offset=[1, -2], axis=0)
    assert tensor.type == "UINT8Q" and tensor.axis == 0
    assert tensor.real().tolist() == [[0.0, 1.0], [8.0, 12.0]]
    assert tensor.scale.tolist() == [0.5, 4.0] and tensor.offset.tolist() == [1, -2]
    assert repr(tensor) == "qtx.Tensor([[1, 3], [0, 1]], UINT8Q[2, 2], scale=[0.5 4. ], offset=[ 1 -2], axis=0)"
    assert len(repr(qtx.Tensor(np.zeros(10**6, np.int8), scale=0.1))) < 100


def test_blocks_share_parameters():
    tensor = qtx.Tensor(np.array([1, 1, 1, 1], np.int8), scale=[1, 2], axis=[0], block_shape=[2])
    assert tensor.block_shape == (2,) and tensor.real().tolist() == [1, 1, 2, 2]


def test_small_types_in_raw_form_and_of_ml_dtypes():
    tensor = qtx.Tensor(np.array([-8, 7, -1], np.int8), scale=0.5, type="INT4Q")
    assert tensor.real().tolist() == [-4, 3.5, -0.5]
    assert tensor.stored.astype(np.int8).tolist() == [-8, 7, -1]
    with pytest.raises(qtx.Error, match="found 8, no value of INT4"):
        qtx.Tensor(np.array([8], np.int8), scale=1, type="INT4Q")
    bits = qtx.Tensor(np.array([-1, 1, 1], np.int8), scale=2, type="BIPOLAR1Q")
    assert bits.real().tolist() == [-2, 2, 2] and bits.stored.tolist() == [-1, 1, 1]
    # float8 e4m3fn: 0x38 is 1.0, 0x7E is 448 (OCP MX v1.0, table 1).
    eighths = qtx.Tensor(np.array([0x38, 0x7E], np.uint8), scale=2, type="FLOAT8E4M3FNQ")
    assert eighths.real().tolist() == [2, 896]
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert tensor.stored.dtype == ml_dtypes.int4 and eighths.stored.dtype == ml_dtypes.float8_e4m3fn
    again = qtx.Tensor(np.array([-8, 7], ml_dtypes.int4), scale=1)
    assert again.type == "INT4Q" and again.real().tolist() == [-8, 7]
    x = np.array([[-1, 0.5, 2]], ml_dtypes.bfloat16)
    interpreter = qtx.Interpreter(models.relu(models.BFLOAT16))
    for given in (x, x.view(np.uint16)):
        y = interpreter.run({"x": given})["y"]
        assert y.dtype == ml_dtypes.bfloat16 and y.astype(float).tolist() == [[0, 0.5, 2]]


def test_wrong_parameters_are_refused():
    with pytest.raises(qtx.Error):
        qtx.Tensor(A, scale=[1, 2])
    with pytest.raises(qtx.Error):
        qtx.Tensor(A, scale=[1, 2, 3], axis=0)
    with pytest.raises(TypeError, match="offset: found float64, expected numbers of int32"):
        qtx.Tensor(A, scale=1, offset=0.5)
    with pytest.raises(ValueError, match="offset: found a number beyond int32"):
        qtx.Tensor(A, scale=1, offset=2**40)
    with pytest.raises(TypeError, match="stored: found an array of float64"):
        qtx.Tensor(np.zeros(2), scale=1, type="INT8Q")
    with pytest.raises(TypeError, match="scale: found"):
        qtx.Tensor(A, scale="1")
