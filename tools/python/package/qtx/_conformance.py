"""The conformance suite against a backend: validate, identify, shrink, fuzz.

A backend is a name ("reference", "x86", "cmd:PROGRAM ARGS"; `qtx.backends()` lists those of this build) or a callable:

    def prepare(model: bytes):        # a serialized ONNX model in the extended form
        ...
        def run(inputs: dict):        # arrays by name; a qtx.Tensor where the type is quantized
            ...
            return outputs            # arrays by name: of the storage type where the type is quantized; or a qtx.Tensor
        return run

`raise qtx.Unsupported("why")` in either declines. qtx.Error is an answer with its code and clause: a model that breaks a rule
must be refused, best with its clause. Any other exception is an answer, too: an internal error of the backend.
KeyboardInterrupt ends the run and comes through. The callable may have attributes `name`, `version`, `device` and
`arithmetics`, the names of what it conforms to (default: "exact"). It is called by one thread at a time, with the GIL held.
"""

import dataclasses
import functools
import json
import os
import pathlib
import typing

from qtx import _core, _table
from qtx._backends import Backend, source_of
from qtx._errors import Error
from qtx._interpreter import Array, feeds
from qtx._model import Model, ModelLike, _number, _path, load, suite_folder, texts
from qtx._tensor import wrapped

_OUTCOMES = ("pass", "fail", "unsupported", "crash", "timeout", "protocol_error", "expected_fail", "unexpected_pass", "self",
             "bad_expectation", "bad_golden")


@functools.lru_cache(maxsize=4)
def suite_of(folder):
    """A suite, kept once read. Raises qtx.Error."""
    return _core.Suite(folder)


def _suite(folder):
    return suite_of(suite_folder() if folder is None else _path(folder))


def _expected_failures(given):
    """The text of a list of expected failures, and where it is from: a path, or a dict of globs to reasons."""
    if given is None:
        return "", ""
    if isinstance(given, (str, os.PathLike)):
        return pathlib.Path(given).read_text(encoding="utf-8"), os.fspath(given)
    return "".join(f"{glob}  # {reason}\n" for glob, reason in dict(given).items()), "expected_failures"


class Report:
    """The result of a run of the suite: `str(report)` is the table that the program prints.

    rows: one dict for each backend and arithmetic, as the JSON report has it: "name", "arithmetic", "counts", "cases",
        "findings".
    cases: the results of all rows, each a dict with "id", "outcome", "spec", "diagnosis" and others.
    """

    def __init__(self, core):
        self._core = core

    @functools.cached_property
    def rows(self):
        """One dict for each backend and arithmetic."""
        return json.loads(self.json())["backends"]

    @property
    def cases(self):
        """The results of all rows."""
        return [case for row in self.rows for case in row["cases"]]

    @property
    def counts(self):
        """The number of results by outcome, of those that occur."""
        totals = {outcome: sum(row["counts"].get(outcome, 0) for row in self.rows) for outcome in _OUTCOMES}
        return {outcome: count for outcome, count in totals.items() if count}

    @property
    def failures(self):
        """The results that do not conform: neither passes nor declined nor listed as expected to fail."""
        fine = ("pass", "self", "unsupported", "expected_fail")
        return [case for case in self.cases if case["outcome"] not in fine]

    @property
    def conforms(self):
        """True if at least one case was run and none fails."""
        return self._core.conforms

    def json(self, path=None):
        """The report as JSON (schema qtx/validate), returned or written to `path`."""
        return _returned_or_written(self._core.json(), path)

    def junit(self, path=None):
        """The report as JUnit's XML, returned or written to `path`."""
        return _returned_or_written(self._core.junit(), path)

    def html(self, path=None):
        """The report as one page that works offline, returned or written to `path`."""
        return _returned_or_written(self._core.html(), path)

    def text(self, listed: int = 20) -> str:
        """The table, what explains the failures, and the first `listed` of them in each row."""
        return self._core.text(_number(listed, "listed")).rstrip("\n")

    def __str__(self):
        return self.text()

    def __repr__(self):
        return f"<qtx.Report: {', '.join(f'{count} {outcome}' for outcome, count in self.counts.items())}>"

    def _repr_html_(self):
        outcomes = list(self.counts)
        rows = [(row["name"], row["arithmetic"], *(row["counts"].get(outcome, 0) for outcome in outcomes))
                for row in self.rows]
        return _table.markup("conforms" if self.conforms else "does not conform", ("backend", "arithmetic", *outcomes), rows)


def _returned_or_written(text, path):
    if path is None:
        return text
    _core.write_file(_path(path), text.encode())
    return None


def _settings(filters, level, arithmetics, jobs, expected_failures, diagnose):
    settings = _core.Settings()
    settings.filters = texts(filters, "filter")
    settings.level = level or ""
    settings.arithmetics = texts(arithmetics, "arithmetics")
    settings.jobs = max(1, min(_number(jobs, "jobs"), 256))
    settings.expected_failures, settings.expected_from = _expected_failures(expected_failures)
    settings.diagnose = bool(diagnose)
    return settings


def validate(backend: Backend, *, filter: str | typing.Iterable[str] | None = None,  # pylint: disable=redefined-builtin
             level: str | None = None, arithmetics: str | typing.Iterable[str] | None = None,
             suite: str | os.PathLike | None = None,
             expected_failures: str | os.PathLike | typing.Mapping[str, str] | None = None, jobs: int = 1,
             progress: typing.Callable[[str, str, str], object] | None = None, diagnose: bool = True) -> Report:
    """Runs the suite against a backend (a name or a callable: see qtx._conformance) and gives a Report.

    filter: a glob on case ids, or several: "conv/*". level: "core", "vision", "transformer", "subbyte" or "scaled-float".
    arithmetics: names; of a built-in backend those to run, of a callable what it is held to.
    suite: a folder of cases, of ONNX test data or of TFLite models with golden outputs; None: QTX's own.
    expected_failures: the path of a list, or a dict of globs to reasons.
    jobs: threads; the cases of a callable take turns. progress(id, arithmetic, outcome) is called after each case.
    diagnose: look for causes of failures, which takes up to 20 s.
    Raises qtx.Error for a filter that matches nothing or nothing of the arithmetics, a suite that cannot be read, and an
    arithmetic that is not known.
    """
    known = texts(arithmetics, "arithmetics")
    for name in known:
        if name not in _core.arithmetics():
            raise Error(f"found {name!r}, expected one of {', '.join(_core.arithmetics())}", "arithmetics", code="usage")
    source, adapter = source_of(backend, known or None)
    raised = []

    def report_progress(*result):
        if raised:
            return
        try:
            progress(*result)
        except BaseException as fault:  # pylint: disable=broad-exception-caught  # raised below
            raised.append(fault)
            if adapter:
                adapter.interrupt = fault
    report = Report(_core.validate(_suite(suite), [source],
                                   _settings(filter, level, known, jobs, expected_failures, diagnose),
                                   report_progress if progress else None))
    if raised:
        raise raised[0]
    if adapter:
        adapter.raise_interrupt()
    if not any(row["cases"] or "error" in row for row in report.rows):
        raise Error(f"no case that it matches is for {', '.join(row['arithmetic'] for row in report.rows)}", "filter", code="usage")
    return report


@dataclasses.dataclass(frozen=True)
class Identity:
    """What an operator of a backend computes in.

    arithmetics: the names that reproduce each of its answers bit for bit. Where there is none: `nearest` reproduces most,
    but for the cases `exceptions`; `fault` is a known fault that explains all. cases, agreeing, declined: numbers of cases.
    """

    op: str
    arithmetics: list
    nearest: str
    exceptions: list
    fault: str
    place: dict | None
    cases: int
    agreeing: int
    declined: int


class Identities(list):
    """The Identity of each operator; `str` is a table of those that are not declined."""

    _HEADERS = ("operator", "agree", "of", "declined", "arithmetic")

    def _rows(self):
        return [(one.op, one.agreeing, one.cases, one.declined,
                 ", ".join(one.arithmetics) or one.fault or f"none; nearest {one.nearest}") for one in self if one.cases]

    def _caption(self):
        declined = sum(1 for one in self if not one.cases)
        return f"{len(self) - declined} identified, {declined} declined"

    def __str__(self):
        return f"{_table.text(self._HEADERS, self._rows(), whole=True)}\n{self._caption()}"

    def _repr_html_(self):
        return _table.markup(self._caption(), self._HEADERS, self._rows())


def identify(backend: Backend, *, filter: str | typing.Iterable[str] | None = None,  # pylint: disable=redefined-builtin
             suite: str | os.PathLike | None = None) -> Identities:
    """Names the arithmetic of each operator of a backend, from the few cases that tell arithmetics apart: Identities.

    filter: a glob on case ids, or several, as for `validate`: the cases of all operators take a minute.
    Raises qtx.Error for a filter that matches nothing.
    """
    source, adapter = source_of(backend)
    found = _core.identify(_suite(suite), source, texts(filter, "filter"))
    if adapter:
        adapter.raise_interrupt()
    return Identities(Identity(**row) for row in found["operators"])


@dataclasses.dataclass(frozen=True)
class Shrunk:
    """A failure, reduced.

    model: the smallest model that fails; inputs, expected, got: its values by name. how: "differs", "crash", ...
    op, form, place: the failing operator, its smallest form, what that hangs on; candidate, cause: what reproduces it, or "".
    """

    model: Model
    inputs: dict
    expected: dict
    got: dict
    arithmetic: str
    how: str
    op: str
    form: str
    place: str
    candidate: str
    cause: str
    detail: str
    nodes: int
    elements: int
    runs: int

    @classmethod
    def _of(cls, row):
        values = {key: {name: wrapped(tensor) for name, tensor in row.pop(key)} for key in ("inputs", "expected", "got")}
        return cls(model=Model._of(row.pop("model")), **values, **row)

    def __str__(self):
        lines = [f"{self.op} in {self.arithmetic}: {self.how}", self.detail, f"smallest form: {self.form}"]
        lines += [f"  {value.name}: {value.text}" for value in self.model.values]
        given = {**self.inputs, **self.model.initializers}
        for what, values in (("", given), ("expected ", self.expected), ("got ", self.got)):
            lines += [f"  {what}{name} = {value!r}" for name, value in values.items()]
        lines += [f"place: {self.place}"] if self.place else []
        return "\n".join(lines + [f"cause: {self.cause or 'unknown'}"])


def shrink(backend: Backend, case: str | ModelLike, inputs: typing.Mapping[str, Array] | None = None, *,
           arithmetic: str | None = None, max_runs: int = 5000, suite: str | os.PathLike | None = None,
           folder: str | os.PathLike | None = None) -> Shrunk:
    """Reduces a failure of a backend to the smallest model that fails in the same way: a Shrunk.

    case: the id of a case of the suite; or, with `inputs` (arrays by name, as for Interpreter.run), a model.
    folder: where to write the reproducer (a case, the model, tensors, a README), which must be new or an older reproducer.
    Raises qtx.Error where the backend passes, or the reference refuses the model.
    """
    source, adapter = source_of(backend, [arithmetic] if arithmetic and not isinstance(backend, str) else None)
    how = (arithmetic or "", _number(max_runs, "max_runs"), "" if folder is None else _path(folder))
    if inputs is None:
        texts([case], "case")
        row = _core.shrink_case(_suite(suite), source, case, *how)
    else:
        model = load(case)._core
        row = _core.shrink_model(source, model, feeds(inputs, model.inputs), *how)
    if adapter:
        adapter.raise_interrupt()
    return Shrunk._of(row)


@dataclasses.dataclass(frozen=True)
class FuzzFinding:
    """Failures of one cause ("" where it is unknown): their number by operator, the first model, the smallest failure."""

    cause: str
    says: str
    kind: str
    place: str
    operators: dict
    failures: int
    number: int
    detail: str
    shrunk: Shrunk | None


@dataclasses.dataclass(frozen=True)
class FuzzReport:
    """What random models gave: numbers of models, of those declined and of failures, and the findings, largest first."""

    arithmetic: str
    models: int
    unsupported: int
    failures: int
    findings: list

    def __str__(self):
        lines = [f"{self.models} models in {self.arithmetic}: {self.failures} failures, {self.unsupported} declined"]
        lines += [f"{found.failures} {found.kind}: {found.cause or 'cause unknown'}; {found.detail}" for found in self.findings]
        return "\n".join(lines)


def fuzz(backend: Backend, *, cases: int = 1000, seed: int = 1, operators: str = "*",
         arithmetic: str | None = None) -> FuzzReport:
    """Runs random models against a backend, each several times and beside others, and reduces what fails: a FuzzReport.

    The same seed gives the same models. `operators`: a glob on op_types. Raises qtx.Error for an arithmetic that the backend
    lacks and a glob that matches nothing.
    """
    source, adapter = source_of(backend, [arithmetic] if arithmetic and not isinstance(backend, str) else None)
    texts([operators], "operators")
    row = _core.fuzz(source, max(1, _number(cases, "cases")), _number(seed, "seed"), operators, arithmetic or "")
    if adapter:
        adapter.raise_interrupt()
    for finding in row["findings"]:
        finding["shrunk"] = finding["shrunk"] and Shrunk._of(finding["shrunk"])
    row["findings"] = [FuzzFinding(**finding) for finding in row["findings"]]
    return FuzzReport(**row)
