"""The suite against Python callables: right ones, wrong ones, and those that raise."""

import functools
import json
import pathlib
import xml.etree.ElementTree

import numpy as np
import pytest

import models
import qtx

ADD = "add/*"
# The cases of one operator, which are read in no time.
CASES = str(pathlib.Path(qtx._core.SOURCE_FOLDER) / "conformance/cases/ops/add")
validate = functools.partial(qtx.validate, suite=CASES)


def exact(model):
    """A backend that is the reference itself, through the callable's interface."""
    interpreter = qtx.Interpreter(model)
    return interpreter.run


def off_by_one(model):
    """As `exact`, but every stored result is one LSB too high, where the type has one."""
    interpreter = qtx.Interpreter(model)

    def run(inputs):
        results = interpreter.run(inputs)
        return {name: np.minimum(result.stored.astype(np.int64) + 1, 127).astype(result.stored.dtype)
                if isinstance(result, qtx.Tensor) and result.stored.dtype == np.int8 else result
                for name, result in results.items()}
    return run


def test_a_right_callable_conforms():
    seen = []
    report = validate(exact, filter=ADD, progress=lambda *result: seen.append(result))
    assert report.conforms and not report.failures
    assert report.counts["pass"] == len(report.cases) == len(seen) > 20
    assert {arithmetic for _, arithmetic, _ in seen} == {"exact"}
    assert report.rows[0]["name"] == "exact" and "exact" in str(report)


def test_a_wrong_callable_fails_with_a_diagnosis():
    report = validate(off_by_one, filter="add/tie*")
    assert not report.conforms and report.failures
    assert "+1 LSB" in report.failures[0]["diagnosis"]


def test_exceptions_are_answers():
    def prepare(model):
        def run(inputs):
            raise answers[0]
        if isinstance(answers[0], MemoryError):
            raise answers[0]
        return run
    for fault, outcome, text in (
            (qtx.Unsupported("no Add here", where="node[0]"), "unsupported", "node[0]: no Add here"),
            (qtx.Unsupported(), "unsupported", "prepare: declined"),
            (qtx.Error("too wide", "x", "add.C1"), "fail", "refused: x: too wide [add.C1]"),
            (RuntimeError("of my own"), "fail", "RuntimeError: of my own (conformance_test.py:"),
            (MemoryError("none left"), "fail", "MemoryError: none left")):
        answers = [fault]
        results = validate(prepare, filter="add/tie_with_odd_offset*", diagnose=False).cases
        assert results and {case["outcome"] for case in results} == {outcome}
        assert all(text in case["diagnosis"] for case in results)


def test_answers_of_wrong_kinds_are_faults_of_the_protocol():
    for prepare, text in ((lambda model: 5, "prepare gave int, expected a callable"),
                          (lambda model: lambda inputs: [1], "run gave list, expected a dict"),
                          (lambda model: lambda inputs: {}, "run gave [], expected ['y'] too"),
                          (lambda model: lambda inputs: {"y": [1, 2]}, "output 'y': found list"),
                          (lambda model: lambda inputs: {"y": np.array(["a"])}, "output 'y': found an array of <U1")):
        results = validate(prepare, filter="add/tie_with_odd_offset*", diagnose=False).cases
        assert {case["outcome"] for case in results} == {"protocol_error"}
        assert text in results[0]["diagnosis"]


def test_another_type_or_shape_fails():
    for y, text in ((np.zeros(4, np.float64), "DOUBLE"), (np.zeros((1, 1, 1), np.int8), "dims [1,1,1]")):
        results = validate(lambda model: lambda inputs: {"y": y}, filter="add/tie_with_odd_offset*",  # pylint: disable=cell-var-from-loop
                               diagnose=False).cases
        assert results[0]["outcome"] == "fail" and text in results[0]["diagnosis"]


def test_interrupts_come_through():
    def prepare(model):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        validate(prepare, filter=ADD)

    def stop(*_):
        raise ZeroDivisionError("of the caller")
    with pytest.raises(ZeroDivisionError, match="of the caller"):
        validate(exact, filter=ADD, progress=stop)


def test_a_model_that_breaks_a_rule_must_be_refused_with_its_clause():
    careless = validate(lambda model: lambda inputs: {}, filter=ADD, diagnose=False)
    assert any("expected to be refused by" in case["diagnosis"] for case in careless.failures)


def test_expected_failures_are_not_failures(tmp_path):
    listed = {"add/tie*": "one too high"}
    assert validate(off_by_one, filter="add/tie*", expected_failures=listed, diagnose=False).counts.get("fail", 0) == 0
    path = tmp_path / "list.txt"
    path.write_text("add/tie*  # one too high\n")
    report = validate(off_by_one, filter="add/tie*", expected_failures=path, diagnose=False)
    assert set(report.counts) <= {"expected_fail", "unexpected_pass"} and report.counts["expected_fail"]
    with pytest.raises(qtx.Error, match="expected_failures:1"):
        validate(exact, filter=ADD, expected_failures={"add/*": ""})


def test_reports_are_written(tmp_path):
    report = validate(exact, filter="add/tie*")
    assert json.loads(report.json())["backends"][0]["counts"]["pass"] == len(report.cases)
    assert "tie_with" not in report.text(listed=0) and str(report) == report.text()
    report.html(tmp_path / "r.html")
    report.junit(tmp_path / "r.xml")
    assert xml.etree.ElementTree.parse(tmp_path / "r.xml").getroot().tag == "testsuites"
    assert "<script" in (tmp_path / "r.html").read_text() and "<table>" in report._repr_html_()


# The suite of the package, whole: the folder that is found without being named.
def test_the_suite_is_found():
    assert pathlib.Path(qtx._model.suite_folder(), "ops/add").is_dir()


def test_operators_are_identified():
    found = qtx.identify(exact, suite=CASES)
    assert [(one.op, "exact" in one.arithmetics, one.agreeing == one.cases) for one in found] == [("Add", True, True)]
    wrong = qtx.identify(off_by_one, suite=CASES)
    assert wrong[0].arithmetics == [] and wrong[0].nearest and "Add" in str(wrong)
    assert str(wrong).endswith("1 identified, 0 declined")
    declined = qtx.identify(qtx.from_kernels({}), suite=CASES, filter="add/tie*")
    assert str(declined).endswith("\n0 identified, 1 declined")
    with pytest.raises(qtx.Error, match="matches no case"):
        qtx.identify(exact, suite=CASES, filter="none/*")


def test_built_in_backends_have_names():
    assert qtx.backends()[0] == "reference"
    report = validate("reference", filter="add/tie*", arithmetics=["float32"])
    assert report.conforms and {case["arithmetic"] for case in report.rows} == {"float32"}
    ended = validate("cmd:/none/such", filter="add/tie*")
    assert not ended.conforms and not ended.cases and "cannot start" in ended.rows[0]["error"]
    for name, text in (("other", "expected 'reference'"), ("faulty:none_such", "faulty:none")):
        with pytest.raises(qtx.Error, match=text):
            validate(name, filter=ADD)
    with pytest.raises(TypeError, match="backend: found int, expected a name or a callable"):
        validate(5)


def test_wrong_choices_are_refused():
    with pytest.raises(qtx.Error, match="matches no case"):
        validate(exact, filter="none/*")
    with pytest.raises(qtx.Error, match="filter: no case that it matches is for tflite-single"):
        validate(exact, filter="add/tie_with_odd_offset", arithmetics="tflite-single")
    with pytest.raises(qtx.Error, match="arithmetics: found 'roman'"):
        validate(exact, arithmetics="roman")
    with pytest.raises(TypeError, match="filter: found int"):
        validate(exact, filter=[5])


def test_a_failure_is_shrunk(tmp_path):
    shrunk = qtx.shrink(off_by_one, models.add(), {"a": np.int8([[2, -2], [1, -1]]), "b": np.int8([[3, -3], [0, 0]])},
                        max_runs=300, folder=tmp_path / "found")
    assert (shrunk.op, shrunk.how, shrunk.nodes) == ("Add", "differs", 1) and shrunk.elements <= 4
    (name, expected), = shrunk.expected.items()
    assert shrunk.got[name].stored.astype(int).tolist() == (expected.stored.astype(int) + 1).tolist()
    for tensor in (*shrunk.inputs.values(), *shrunk.model.initializers.values(), *shrunk.expected.values()):
        assert repr(tensor) in str(shrunk)
    assert (tmp_path / "found/model.onnx").is_file()
    with pytest.raises(qtx.Error):
        qtx.shrink(exact, "add/tie_with_odd_offset", suite=CASES)
    with pytest.raises(qtx.Error, match="no case of"):
        qtx.shrink(exact, "add/none_such", suite=CASES)


def test_fuzzing_finds_what_is_wrong():
    report = qtx.fuzz(off_by_one, cases=3, seed=5, operators="Add")
    assert report.failures and report.findings[0].operators.get("Add")
    assert qtx.fuzz(exact, cases=3, seed=5, operators="Add").failures == 0


def test_a_backend_of_onnx_is_held_to_the_suite():
    pytest.importorskip("onnx")
    from qtx import onnx_backend
    backend = qtx.from_onnx_backend(onnx_backend)
    report = validate(backend, filter="add/tie*")
    assert report.conforms and report.counts.get("pass", 0) > 0
    assert report.rows[0]["name"] == "qtx.onnx_backend" and report.rows[0]["arithmetic"] == "float32"
