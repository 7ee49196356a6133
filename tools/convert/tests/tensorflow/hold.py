#!/usr/bin/env python3
"""Holds `qtx` to a folder of TFLite models: each is converted, checked, run on the reference, written again, and run in LiteRT.

hold.py FOLDER --qtx PROGRAM [--only GLOB] [--held-back | --seen] [--json FILE]

Steps of a file: `convert` to the extended form; `check`; `run` on the reference; `back`, the file that it came from,
and `new`, a file made from the graph alone (without what the metadata kept of the first), both with the outputs of the
source in LiteRT, bit for bit for `back`. Files that LiteRT itself does not run are counted apart. Needs numpy, onnx and
ai-edge-litert from PyPI.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

import held_back
import litert

STEPS = ("convert", "check", "run", "back", "new")


class Refused(Exception):
    """A step that failed: its message is the reason."""


def qtx(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, errors="replace", timeout=300)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no message"]
        kind = "declined" if done.returncode == 3 else f"status {done.returncode}"
        raise Refused(f"{kind}: {lines[-1]}")
    return done.stdout


def samples(details):
    """An input for each tensor: floats in [0.5, 2], integers over the whole of 8 bits, small ones as indices."""
    random = np.random.default_rng(7)
    values = {}
    for name, shape, dtype in details:
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            values[name] = random.uniform(0.5, 2, shape).astype(dtype)
        elif dtype.kind == "b":
            values[name] = random.integers(0, 2, shape).astype(bool)
        else:
            bound = 20 if dtype.itemsize >= 4 else min(np.iinfo(dtype).max, 20000)
            low = 0 if dtype.itemsize >= 4 or dtype.kind == "u" else -bound
            values[name] = random.integers(low, bound + 1, shape).astype(dtype)
    return values


def without_skeleton(source, target):
    model = onnx.load(source)
    kept = [entry for entry in model.metadata_props if entry.key != "tflite.frame"]
    del model.metadata_props[:]
    model.metadata_props.extend(kept)
    onnx.save(model, target)


def distance(ours, theirs):
    """How far two lists of outputs are apart: stored values in LSB, floats relative to the largest value."""
    if len(ours) < len(theirs):
        raise Refused(f"{len(ours)} outputs, expected {len(theirs)}")
    worst = 0.0
    for a, b in zip(ours, theirs):  # ours has states after the outputs
        if a.shape != b.shape:
            raise Refused(f"shape {list(a.shape)}, expected {list(b.shape)}")
        if a.dtype != b.dtype:
            raise Refused(f"type {a.dtype}, expected {b.dtype}")
        if b.size == 0 or np.array_equal(a, b):
            continue
        floats = b.dtype.kind == "f"
        a, b = a.astype(np.float64), b.astype(np.float64)
        gap = np.abs(a - b).max()
        worst = max(worst, gap / max(np.abs(b).max(), 1e-30) if floats else gap)
    return worst


def grade(gap, integer):
    if gap == 0:
        return "equal"
    if integer:
        return "1 LSB" if gap <= 1 else "more than 1 LSB"
    return "below 2^-20" if gap < 2.0 ** -20 else "2^-20 to 2^-7" if gap < 2.0 ** -7 else "above 2^-7"


class Holder:
    def __init__(self, program, folder):
        self.program, self.folder, self.litert = program, folder, litert.Worker()

    def litert_run(self, model, values):
        answer = self.litert.run(model, values)
        if isinstance(answer, str):
            raise Refused(f"LiteRT: {answer}")
        return answer

    def run_reference(self, model, values):
        words = ["run", model, "--output-dir", self.folder / "out", "--json", self.folder / "run.json", "--quiet"]
        for i, (name, value) in enumerate(values.items()):
            path = self.folder / f"in{i}.npy"
            np.save(path, value)
            words += ["--input", f"{name}={path}"]
        qtx(self.program, *words)
        report = json.loads((self.folder / "run.json").read_text())
        return [np.load(output["file"]) for output in report["outputs"]]

    def hold(self, path):
        """Outcome of each step: a word, or the reason why it failed."""
        answers = {}
        details = self.litert.details(path)
        source, plain = self.folder / "source.onnx", self.folder / "plain.onnx"
        values = None if isinstance(details, str) else samples(details)
        theirs = details if values is None else self.litert.run(path, values)
        exact = theirs if values is None else self.litert.run(path, values, "BUILTIN_REF")
        runs = isinstance(theirs, list)
        if not runs:
            answers["source"] = f"LiteRT: {theirs}"

        def step(name, work):
            try:
                answers[name] = work()
            except Refused as error:
                answers[name] = str(error)
            except subprocess.TimeoutExpired:
                answers[name] = "more than 300 s"
            return answers[name]

        def convert():
            try:
                qtx(self.program, "convert", path, "-o", source)
            except Refused as error:
                allow = re.search(r"--allow (\w+)", str(error))
                if allow is None:
                    raise
                qtx(self.program, "convert", path, "-o", source, "--allow", allow.group(1))
                return f"with --allow {allow.group(1)}"
            return "done"

        def compare(ours, goal, bit_for_bit=False):
            if not runs:
                return "done"
            gap = distance(ours, goal)
            if bit_for_bit and gap != 0:
                raise Refused(f"other outputs: {gap}")
            return grade(gap, theirs[0].dtype.kind != "f")

        def written(source, name, bit_for_bit):
            target = self.folder / f"{name}.tflite"
            words = [word for loss in ("statistics", "scheme", "origin", "documentation") for word in ("--allow", loss)]
            qtx(self.program, "convert", source, "-o", target, *words)
            if not runs:
                return "done"
            return compare(self.litert_run(target, values), theirs, bit_for_bit)

        def new():
            without_skeleton(source, plain)
            return written(plain, "new", False)

        if not step("convert", convert).startswith(("done", "with")):
            return answers
        step("check", lambda: qtx(self.program, "check", source) and "done")
        if values is not None:
            goal = exact if isinstance(exact, list) else theirs
            step("run", lambda: compare(self.run_reference(source, values), goal))
        step("back", lambda: written(source, "back", True))
        step("new", new)
        return answers


def reason(text):
    """The message without names and numbers, so that like reasons are counted together."""
    text = re.sub(r"/\S*?:", "", text)
    text = re.sub(r"'[^']*'", "'..'", text)
    text = re.sub(r"\[[-\d, ]*\]|0x[0-9a-f.p+-]+|\d+", "#", text)
    return text[:150]


def table(results):
    for step in STEPS:
        kinds = collections.defaultdict(collections.Counter)
        reasons = collections.defaultdict(list)
        for name, answers in results.items():
            if step not in answers:
                continue
            outcome = answers[step]
            failed = ":" in outcome or "expected" in outcome or "more than 300" in outcome
            kinds[name.split(".")[1]]["failed" if failed else outcome] += 1
            if failed:
                reasons[reason(outcome)].append(name)
        print(f"\n## {step}")
        for kind, counts in sorted(kinds.items()):
            print(f"{kind:18}" + ", ".join(f"{word} {count}" for word, count in sorted(counts.items())))
        for text, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
            print(f"  {len(names):3} {text}   ({', '.join(names[:4])}{', ..' if len(names) > 4 else ''})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--qtx", required=True)
    parser.add_argument("--only", default="*", help="glob of file names")
    parser.add_argument("--held-back", action="store_true", help="only the nets that are kept back")
    parser.add_argument("--seen", action="store_true", help="only the others")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        holder = Holder(arguments.qtx, pathlib.Path(folder))
        for path in sorted(arguments.folder.glob(arguments.only + ".tflite")):
            back = path.name.split(".")[0] in held_back.NAMES
            if (arguments.held_back and not back) or (arguments.seen and back):
                continue
            results[path.stem] = holder.hold(path)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    broken = [name for name, answers in results.items() if "source" in answers]
    print(f"{len(results)} files, {len(broken)} of which LiteRT does not run: {', '.join(broken)}")
    table(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
