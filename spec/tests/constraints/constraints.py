#!/usr/bin/env python3
"""constraints.py QTX [--backend B]...: a node that breaks each constraint of spec/ops, and a twin that keeps all, against
backends (default: reference and this machine's own). constraints.py --write DIR: the cases as files, for spec_test, which
asks `Check` alone.

The models (models.py) were made from the text alone, by somebody who had not read the checker. Each constraint has one, and
further ones for its other parts. A broken one must be refused by its clause by each backend, which may decline it but for the
constraint's first model. A twin must run in the reference. Status: 1 something differs.
"""
import argparse
import collections
import json
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import models  # noqa: E402,F401  fills Op.all
from node import Op  # noqa: E402

OWN_BACKEND = "arm" if platform.machine() in ("aarch64", "arm64") else "x86"
ROOT = pathlib.Path(__file__).resolve().parents[3]


def clauses():
    """Of the text: "conv.C3"."""
    return {clause for path in (ROOT / "spec/ops").glob("*.md")
            for clause in re.findall(r"^\*\*([a-z0-9_]+\.C\d+)\*\*", path.read_text(), re.MULTILINE)}


def write(folder):
    for kind in ("broken", "kept"):
        (folder / kind).mkdir(parents=True)
        for op in Op.all:
            (folder / kind / f"{op.file}.yaml").write_text("---\n".join(op.documents[kind]))


def validate(program, suite, backend, report):
    """Outcome and diagnosis of each case, by its id."""
    process = subprocess.run([program, "validate", "--suite", suite, "--backend", backend, "--json", report],
                             capture_output=True, text=True)
    if process.returncode not in (0, 1):
        sys.exit(f"qtx validate: status {process.returncode}: {process.stderr.strip()}")
    return {case["id"]: (case["outcome"], case["diagnosis"])
            for row in json.loads(report.read_text())["backends"] for case in row["cases"]}


def faults_of(answers, kind, may_decline):
    for identity, (outcome, diagnosis) in answers.items():
        first = identity.count("/") == 1  # the constraint's first model
        if outcome == "unsupported" and (kind == "kept" and may_decline or kind == "broken" and not first):
            continue
        if outcome not in ("pass", "self") or diagnosis:
            yield f"{identity}: {outcome}: {diagnosis}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qtx", nargs="?")
    parser.add_argument("--backend", action="append")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    if options.write:
        write(options.write)
        return 0
    if not options.qtx:
        parser.error("expected QTX or --write DIR")

    covered = {f"{op.stem}.C{number}" for op in Op.all for number in op.count}
    faults = [f"{clause}: no model" for clause in sorted(clauses() - covered)]
    faults += [f"{clause}: the text has no such clause" for clause in sorted(covered - clauses())]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        write(folder)
        for backend in options.backend or ["reference", OWN_BACKEND]:
            for kind in ("broken", "kept"):
                answers = validate(options.qtx, folder / kind, backend, pathlib.Path(temporary) / "report.json")
                found = list(faults_of(answers, kind, backend != "reference"))
                faults += [f"{backend}: {fault}" for fault in found]
                counts = collections.Counter(outcome for outcome, _ in answers.values())
                print(f"{backend}, {kind}: {len(answers)} models of {len(covered)} constraints: " +
                      ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) +
                      f"; {len(found)} differ")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
