"""qtx.from_kernels: functions of operands as a backend. The numbers are those of interpreter_test: 5 -5 1 -1, halved to even."""

import numpy as np
import pytest

import models
import qtx

INPUTS = {"a": qtx.Tensor(np.int8([[2, -2], [1, -1]]), scale=1.0), "b": qtx.Tensor(np.int8([[3, -3], [0, 0]]), scale=1.0)}


def add(a, b, *, y):
    reals = a.real() + b.real()
    return np.clip(np.rint(reals / y.scale) + y.offset, y.quant_min, y.quant_max).astype(np.int8)


def test_a_kernel_has_operands_and_the_declared_output():
    run = qtx.from_kernels({"Add": add})(models.add())
    assert run(INPUTS)["y"].stored.tolist() == [[5, 1], [3, 3]]


# t is 5 1 3 3 with scale 2 and offset 3, so 4 -4 0 0; plus b 7 -7 0 0.
def test_a_result_is_the_operand_of_the_next_kernel():
    run = qtx.from_kernels({"Add": add})(models.chain())
    y = run({name: qtx.Tensor(tensor.stored.ravel(), scale=1.0) for name, tensor in INPUTS.items()})["y"]
    assert y.stored.tolist() == [7, -7, 0, 0]


def test_a_kernel_is_held_to_the_suite():
    backend = qtx.from_kernels({"Add": add}, types="INT8Q", name="mine", arithmetics="exact")
    report = qtx.validate(backend, filter="add/tie_with_odd_offset")
    assert report.conforms and report.rows[0]["name"] == "mine"
    assert qtx.validate(backend, filter="add/shapes").counts == {"pass": 1}  # refused, with its clause
    assert qtx.validate(backend, filter="add/types_differ").counts == {"unsupported": 1}


def test_what_a_kernel_does_not_take_is_declined():
    def leaky(x, *, y, alpha):
        return x, y, alpha
    for kernels, types, model, text in (
            ({}, None, models.add(), "no kernel of Add"),
            ({"Add": add}, ["UINT8Q"], models.add(), "INT8Q, expected UINT8Q"),
            ({"Add": lambda a, *, y: a}, None, models.add(), "Add: the kernel's signature: too many positional arguments"),
            ({"Relu": leaky}, None, models.relu(), "Relu: the kernel's signature: missing a required argument: 'alpha'"),
            ({"Relu": leaky}, ["INT8Q"], models.relu(), "FLOAT, expected INT8Q")):
        with pytest.raises(qtx.Unsupported, match=text):
            qtx.from_kernels(kernels, types=types)(model)


def test_attributes_are_keywords_and_absent_inputs_none():
    seen = []

    def clip(*inputs, y, **attributes):
        seen.append(([None if value is None else value.shape for value in inputs], y.type, attributes))
        return inputs[0]
    model = models.model([models.node("Clip", ["x", "", "most"], ["y"])], [models.value("x", models.FLOAT, [3])],
                         [models.value("y", models.FLOAT, [3])], (),
                         [models.initializer("most", models.FLOAT, [], np.float32(1).tobytes())], extended=False)
    assert qtx.from_kernels({"Clip": clip})(model)({"x": np.float32([1, 2, 3])})["y"].tolist() == [1, 2, 3]
    assert seen == [([(3,), None, ()], "FLOAT", {})]


def test_wrong_results_are_faults_of_the_protocol():
    for result, text in ((lambda a, b, *, y: (a, b), "found 2 results, expected 1"), (lambda a, b, *, y: [1], "found list")):
        failed = qtx.validate(qtx.from_kernels({"Add": result}), filter="add/tie_with_odd_offset", diagnose=False).cases
        assert failed[0]["outcome"] == "protocol_error" and text in failed[0]["diagnosis"]
