"""pytest --qtx mybackend.py: the conformance suite against a backend, a test for each case.

The file (or module `package.module`) defines `prepare`, a backend as qtx.validate takes it; `FILE:NAME` names another. A name
that qtx.backends() lists is a built-in one. Each test has the mark qtx(CLAUSE), and -k CLAUSE chooses those of a clause; cases
that the backend declines are skipped, and those of --qtx-expected-failures are xfail, strictly. Without other arguments only
the suite runs.
"""

import importlib
import importlib.util
import os
import pathlib

import pytest

import qtx
from qtx import _core
from qtx._conformance import suite_of
from qtx._model import suite_folder, texts


def pytest_addoption(parser):
    """The options, all of which begin with --qtx."""
    group = parser.getgroup("qtx", "QTX's conformance suite")
    group.addoption("--qtx", metavar="BACKEND", help="FILE.py, package.module, either with :NAME (default: prepare), or the "
                    "name of a built-in backend: run the suite against it")
    group.addoption("--qtx-filter", metavar="GLOB", action="append", default=[], help="only cases whose id matches")
    group.addoption("--qtx-level", metavar="LEVEL", default=None, help="only cases of this level")
    group.addoption("--qtx-arithmetic", metavar="NAME", action="append", default=[],
                    help="what the answers are held to (default: what the backend says, else exact)")
    group.addoption("--qtx-suite", metavar="FOLDER", default=None, help="another folder of cases")
    group.addoption("--qtx-expected-failures", metavar="FILE", default=None, help="a list of cases that are xfail")


def pytest_configure(config):
    """Declares the marks."""
    config.addinivalue_line("markers", "qtx(clause): the clause of QTX's specification that a case shows")


def pytest_collection(session):
    """Leaves out the current folder, which pytest adds where it is given no file."""
    if session.config.getoption("--qtx"):
        here = str(session.config.invocation_params.dir)
        session.config.args = [argument for argument in session.config.args if argument != here]


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose
def pytest_collection_modifyitems(session, config, items):
    """Adds the cases, after the tests of files."""
    if config.getoption("--qtx"):
        items.extend(Suite.from_parent(session, name="qtx").collect())


def backend_of(text):
    """The backend that --qtx names. Raises pytest.UsageError."""
    if text.split(":")[0] in {name.split(":")[0] for name in qtx.backends()} or text.startswith("cmd:"):
        return text
    path, _, name = text.partition(":")
    try:
        if path.endswith(".py"):
            spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(path)
        return getattr(module, name or "prepare")
    except (OSError, ImportError, AttributeError) as fault:
        raise pytest.UsageError(f"--qtx {text}: {fault}") from None


class Suite(pytest.Collector):
    """The chosen cases, in every arithmetic that the backend has."""

    def collect(self):
        """One item for each case and arithmetic."""
        option = self.config.getoption
        backend = backend_of(option("--qtx"))
        arithmetics = option("--qtx-arithmetic")
        if not arithmetics:
            arithmetics = (_core.BackendSource.named(backend).arithmetics() if isinstance(backend, str)
                           else texts(getattr(backend, "arithmetics", None), "arithmetics") or ["exact"])
        folder = option("--qtx-suite") or suite_folder()
        cases = suite_of(os.fspath(folder)).cases(option("--qtx-filter"), option("--qtx-level") or "")
        if not cases:
            raise pytest.UsageError("--qtx-filter, --qtx-level: no case matches")
        items = []
        for case in cases:
            items += [Case.from_parent(self, name=f"{case['id']}@{arithmetic}", case=case, backend=backend,
                                       arithmetic=arithmetic, folder=folder)
                      for arithmetic in arithmetics if arithmetic in case["arithmetics"]]
        return items


class Failed(Exception):
    """A case whose answer is wrong; the text is the report's."""


class Case(pytest.Item):
    """A case in one arithmetic."""

    def __init__(self, *, case, backend, arithmetic, folder, **others):
        super().__init__(**others)
        self.case, self.backend, self.arithmetic, self.folder = case, backend, arithmetic, folder
        self.add_marker(pytest.mark.qtx(case["spec"]))
        self.extra_keyword_matches.update([case["spec"], *case["tags"]])

    def runtest(self):
        """Runs the case alone."""
        report = qtx.validate(self.backend, filter=self.case["id"], arithmetics=self.arithmetic, suite=self.folder,
                              expected_failures=self.config.getoption("--qtx-expected-failures"), diagnose=False)
        results = [case for case in report.cases if case["id"] == self.case["id"]]
        outcome, text = results[0]["outcome"], results[0]["diagnosis"]
        if outcome == "unsupported":
            pytest.skip(text)
        if outcome == "expected_fail":
            pytest.xfail(text)
        if outcome not in ("pass", "self"):
            raise Failed(f"{outcome}: {text}\n{self.case['spec']}: {self.case['why']}\n{self.case['where']}")

    def repr_failure(self, excinfo, style=None):
        """What is wrong, without the stack of this file."""
        if isinstance(excinfo.value, Failed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        """The case's file."""
        return pathlib.Path(self.folder), None, self.name
