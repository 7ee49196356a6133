#!/usr/bin/env python3
"""carriers.py [--check | --write | --messages]: which places of an ONNX file survive which tools.

Without options the tables of what is installed are printed, as alternatives.md has them between its markers.
--check compares them: a table of the same versions must be equal (status 1 if not); of other versions the
differences are printed as information. --write puts them there. --messages prints what was refused, and why.
Status 77: no onnx.
"""
import os
import pathlib
import pickle
import sys
import traceback
from importlib import import_module

sys.dont_write_bytecode = True
try:
    from survival.carriers import CARRIERS
    from survival.tools import GROUPS, Absent
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import tables

TEXT = tables.Text(pathlib.Path(__file__).resolve().parent / "alternatives.md", "carriers")


def attempt(tool, model):
    """What the tool makes of the model; or the cell of its refusal, and the message."""
    try:
        return tool.run(model)
    except Absent as error:
        return "-", f"not in this version: {error}"
    except Exception as error:  # whatever a tool refuses with
        return "refused", " ".join(f"{type(error).__name__}: {error}".split())


def outcome(carrier, tool):
    """One cell, and the message behind it."""
    model = tool.model()
    try:
        carrier.put(model)
    except AttributeError:
        return "-", "this version has no such field"
    assert carrier.found(model), f"{carrier.name} in {tool.name}"
    result = attempt(tool, model)
    if isinstance(result, tuple):
        return result
    return ("kept" if carrier.found(result) else "lost"), ""


def isolated(cell_of):
    """The cell from a process of its own: a tool may crash on what it does not expect."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        silence = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(silence, stream)
        with os.fdopen(writer, "wb") as pipe:
            try:
                answer = cell_of()
            except Exception:  # a fault of this script
                answer = ("fault", traceback.format_exc())
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    cell, text = pickle.loads(answer) if answer else ("crash", "the process ended without an answer")
    if cell == "fault":
        sys.exit(text)
    return cell, text


def measure(group):
    """The group's table, and the messages."""
    for package in group.packages:
        import_module(package.replace("-", "_"))  # once, not in each process
    rows, messages = [], []
    for carrier in CARRIERS:
        cells = [isolated(lambda: outcome(carrier, tool)) for tool in group.tools]
        rows.append([carrier.name, *(cell for cell, _ in cells)])
        messages += [f"{tool.name}: {carrier.name}: {cell}: {text}"
                     for tool, (cell, text) in zip(group.tools, cells) if text]
    return tables.table(["carrier", *(tool.name for tool in group.tools)], rows), messages


def main():
    options = tables.parser(__doc__).parse_args()
    sys.exit(0 if TEXT.keep(options, GROUPS, measure) else 1)


if __name__ == "__main__":
    main()
