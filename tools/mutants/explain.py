#!/usr/bin/python3
"""explain.py MUTANTS.json KILLED.json RIGHT.json [--program FILE] [--output FILE] [VALIDATE OPTION...]

What does `qtx validate` say of mutants that the suite kills? MUTANTS.json is of mutate.py, KILLED.json of `qtx-mutants power
--mutants --json`, RIGHT.json of `qtx validate --backend x86 --json`, which says of what operator each case is. Asks the backend by
which each mutant was killed the cases of the operator by which it was, and prints the changed line with the findings, to be read
side by side; OUTPUT has the same as JSON.
"""

import argparse
import collections
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

KEY = ("file", "line", "rule", "original", "mutated")
KILLED = ("wrong", "crashed", "hung")
LIMIT = 600  # seconds for one mutant


def documents_by_operator(right):
    """The documents of cases of the operator of each document's cases; a network's is alone."""
    of = collections.defaultdict(set)
    for row in right["backends"]:
        for case in row["cases"]:
            name = case["id"].split("[", 1)[0]
            of[case["op"] if case["op"] != "model" else name].add(name)
    return {name: names for names in of.values() for name in names}


def validate(program, number, options):
    """The report of `validate` with a mutant on, the seconds and those of the processor; no report where the program ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [program, "validate", "--quiet", "--json", str(report), *options]
        try:
            subprocess.run(command, env={**os.environ, "QTX_MUTANT": str(number)}, capture_output=True, check=False, timeout=LIMIT)
            rows = json.loads(report.read_text())["backends"]
        except (subprocess.TimeoutExpired, OSError, json.JSONDecodeError):
            rows = None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return rows, time.monotonic() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def explanation(row):
    """What a report's row says of its wrong answers."""
    counts = {name: count for name, count in row["counts"].items() if count and name not in ("pass", "unsupported")}
    networks = [{"id": case["id"], "diagnosis": case["diagnosis"]} for case in row["cases"]
                if "first wrong node" in case["diagnosis"] or "wrong together" in case["diagnosis"]]
    return {"arithmetic": row["arithmetic"], "counts": counts, "findings": row["findings"], "networks": networks}


def text(mutant):
    lines = [f"#{mutant['id']} {mutant['file']}:{mutant['line']} {mutant['rule']}: {mutant['place']}",
             f"    -> {mutant['mutated'] or '(nothing)'}   [{mutant['seconds']:.0f} s, {mutant['processor']:.0f} s of processor time]",
             f"    killed by {mutant['killed_by']}"]
    for row in mutant["rows"] or []:
        lines.append(f"  {row['arithmetic']}: " + ", ".join(f"{count} {name}" for name, count in row["counts"].items()))
        for finding in row["findings"]:
            lines.append(f"    {finding['failing']} {', '.join(finding['operators'])}: [{finding['candidate']}] {finding['says']}"
                         f" (confirmed {finding['confirmed']})")
            for place in finding["places"]:
                lines += [f"      {place['op']}: {place['form']}", f"        {place['says']}"]
    if mutant["rows"] is None:
        lines.append("  no report")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("mutants", type=pathlib.Path)
    parser.add_argument("killed", type=pathlib.Path)
    parser.add_argument("right", type=pathlib.Path)
    parser.add_argument("--program", default="build/bin/qtx-mutants")
    parser.add_argument("--output", type=pathlib.Path)
    given, options = parser.parse_known_args()
    for file in (given.mutants, given.killed, given.right):
        if not file.is_file():
            parser.error(f"{file}: no file")
    numbers = {tuple(m[name] for name in KEY): m for m in json.loads(given.mutants.read_text())}
    documents = documents_by_operator(json.loads(given.right.read_text()))
    explained = []
    for killed in json.loads(given.killed.read_text())["mutants"]:
        if killed["fate"] not in KILLED:
            continue
        mutant = numbers[tuple(killed[name] for name in KEY)] | {"fate": killed["fate"], "killed_by": killed["killed_by"]}
        where, case = killed["killed_by"].split(": ", 1)
        filters = [word for name in sorted(documents[case.split("[", 1)[0]]) for word in ("--filter", name + "*")]
        asked = ["--backend", where.split(" @")[0], *filters, *options]
        isolated = [*asked, "--isolate", "--timeout", "5"]
        rows, seconds, processor = validate(given.program, mutant["id"], asked if killed["fate"] == "wrong" else isolated)
        if rows is None:  # a changed question ended the program
            rows, seconds, processor = validate(given.program, mutant["id"], isolated)
        mutant |= {"seconds": seconds, "processor": processor,
                   "rows": None if rows is None else [explanation(row) for row in rows if row["findings"]]}
        explained.append(mutant)
        print(text(mutant), flush=True)
        if given.output:
            given.output.write_text(json.dumps(explained, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
