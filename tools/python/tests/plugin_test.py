"""The plugin, in a pytest of its own."""

import os
import pathlib
import subprocess
import sys

import qtx

BACKEND = """
import numpy as np
import qtx

def prepare(model):
    return qtx.Interpreter(model).run

def wrong(model):
    run = qtx.Interpreter(model).run
    def one_more(inputs):
        return {name: qtx.Tensor(np.minimum(y.stored.astype(int) + 1, 127).astype(np.int8), y.scale, y.offset, y.axis)
                if isinstance(y, qtx.Tensor) and y.type == "INT8Q" else y for name, y in run(inputs).items()}
    return one_more

def declining(model):
    raise qtx.Unsupported("nothing is done here")
"""


CASES = pathlib.Path(qtx._core.SOURCE_FOLDER) / "conformance/cases/ops/add"


def run_pytest(folder, *arguments):
    (folder / "mine.py").write_text(BACKEND)
    package = pathlib.Path(qtx.__file__).parent.parent
    installed = "site-packages" in str(package)
    plugin = [] if installed else ["-p", "qtx.pytest_plugin"]
    done = subprocess.run([sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "--rootdir", str(folder),
                           "--qtx-suite", str(CASES), *arguments],
                          cwd=folder, env={**os.environ, "PYTHONPATH": str(package)}, capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout + done.stderr


def test_each_case_is_an_item(tmp_path):
    status, text = run_pytest(tmp_path, "--qtx", "mine.py", "--qtx-filter", "add/tie*", "-v")
    assert status == 0, text
    assert "add/tie_with_odd_offset@exact PASSED" in text
    status, text = run_pytest(tmp_path, "--qtx", "mine.py", "-k", "add.S2 and tie_with_odd_offset", "-m", "qtx")
    assert status == 0 and "1 passed" in text and "deselected" in text, text


def test_a_wrong_answer_fails_with_the_clause(tmp_path):
    status, text = run_pytest(tmp_path, "--qtx", "mine.py:wrong", "--qtx-filter", "add/tie_with_odd_offset")
    assert status == 1 and "add.S" in text and "+1 LSB" in text and "Traceback" not in text, text


def test_expected_failures_are_xfail_and_declined_cases_skipped(tmp_path):
    (tmp_path / "list.txt").write_text("add/tie_with_odd_offset  # one too high\n")
    status, text = run_pytest(tmp_path, "--qtx", "mine.py:wrong", "--qtx-filter", "add/tie_with_odd_offset",
                              "--qtx-expected-failures", "list.txt")
    assert status == 0 and "1 xfailed" in text, text
    status, text = run_pytest(tmp_path, "--qtx", "mine.py:declining", "--qtx-filter", "add/tie_with_odd_offset", "-rs")
    assert status == 0 and "1 skipped" in text and "nothing is done here" in text, text


def test_a_wrong_option_is_a_usage_error(tmp_path):
    for arguments, expected in ((["--qtx", "none.py"], "--qtx none.py"), (["--qtx", "mine.py:none"], "none"),
                                (["--qtx", "mine.py", "--qtx-filter", "none/*"], "no case matches")):
        status, text = run_pytest(tmp_path, *arguments)
        assert status == 4 and expected in text, text
