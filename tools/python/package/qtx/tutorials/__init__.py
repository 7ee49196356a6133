"""The tutorials: pages of Markdown whose Python cells run in order and print what the block of text below each one says.

A line of `...` or a `...` within a line of such a block stands for any text (times, versions, the size of the suite). Cells
after `<!-- needs: NAME -->`, to the next heading of its section's level, are left out where NAME, one of `NEEDS`, is not there.
"""

import contextlib
import dataclasses
import doctest
import importlib.util
import io
import json
import pathlib
import re
import shutil

FOLDER = pathlib.Path(__file__).parent
_PARTS = re.compile(r"^```(?P<language>\w+)\n(?P<block>.*?)^```$|^<!-- needs: (?P<need>[^\n]+) -->$|^(?P<heading>#+) ",
                    re.MULTILINE | re.DOTALL)


def _has_saturating_products():
    """Whether this is an x86 processor with AVX2 and without VNNI, as far as the system says."""
    try:
        words = set(pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        return False
    return "avx2" in words and not words & {"avx_vnni", "avx512_vnni"}


NEEDS = {
    "cc": lambda: shutil.which("cc") is not None,
    "onnxruntime": lambda: importlib.util.find_spec("onnxruntime") is not None,
    "x86 without VNNI": _has_saturating_products,
}


class Mismatch(AssertionError):
    """A cell that prints something else than its page says."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell: its code, the line of the page where that begins, what it prints, and the names of what it needs."""

    code: str
    line: int
    printed: str
    needs: tuple


def names() -> list[str]:
    """The names of the tutorials, which are those of their files."""
    return sorted(path.stem for path in FOLDER.glob("*.md"))


def cells(text: str) -> list[Cell]:
    """The cells of a page, in order."""
    found, level, needs = [], 0, {}
    for part in _PARTS.finditer(text):
        if part["heading"]:
            level = len(part["heading"])
            needs = {name: since for name, since in needs.items() if since < level}
        elif part["need"]:
            needs[part["need"]] = level
        elif part["language"] == "python":
            found.append(Cell(part["block"], text.count("\n", 0, part.start("block")) + 1, "", tuple(needs)))
        elif part["language"] == "text" and found:
            found[-1] = dataclasses.replace(found[-1], printed=part["block"])
    return found


def run(path: pathlib.Path) -> tuple[int, list[str]]:
    """Runs the cells of a page in one namespace: the number of cells that ran, and what others needed that is not there.

    Raises Mismatch, and what a cell raises.
    """
    names_of_page = {"__name__": path.stem}
    count, missing = 0, []
    for cell in cells(path.read_text(encoding="utf-8")):
        lacks = [need for need in cell.needs if not NEEDS[need]()]
        missing += [need for need in lacks if need not in missing]
        if lacks:
            continue
        printed = io.StringIO()
        # Empty lines first, so that a traceback names the line of the page.
        code = compile("\n" * (cell.line - 1) + cell.code, str(path), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, names_of_page)  # pylint: disable=exec-used  # the pages are ours
        _compare(cell, printed.getvalue(), path)
        count += 1
    return count, missing


def _compare(cell, printed, path):
    checker, expected = doctest.OutputChecker(), doctest.Example(cell.code, cell.printed)
    if not checker.check_output(expected.want, printed, doctest.ELLIPSIS):
        difference = checker.output_difference(expected, printed, doctest.ELLIPSIS)
        raise Mismatch(f"{path}:{cell.line}: the cell prints something else\n{difference}")


def notebook(text: str) -> str:
    """A page as a Jupyter notebook (nbformat 4.5), without what its cells print."""
    made = []

    def add(kind, source):
        if source.strip():
            extra = {"outputs": [], "execution_count": None} if kind == "code" else {}
            made.append({"cell_type": kind, "id": str(len(made)), "metadata": {}, "source": source.strip("\n"), **extra})
    end = 0
    for part in _PARTS.finditer(text):
        if part["language"] in ("python", "text"):
            add("markdown", text[end:part.start()])
            if part["language"] == "python":
                add("code", part["block"])
            end = part.end()
    add("markdown", text[end:])
    return json.dumps({"cells": made, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5},
                      indent=1) + "\n"
