#!/usr/bin/env python3
"""Holds `qtx` to the zoo: hold.py FOLDER --qtx PROGRAM [--only GLOB] [--jobs N] [--json FILE]

Steps of each model that make.py has made:
- `convert` to the extended form, whose rules `check` finds kept;
- `run`: the reference in `exact` against ONNX Runtime on the model itself, without its optimizations: floats no farther than 2^-10 of the greatest
  output, quantized models a twentieth, on one sample of four: networks as deep as these make a fifth of one result that is rounded otherwise;
- `lower`: ONNX Runtime loads the lowered model and its outputs are as near to those of the model;
- `lift`: it gives back the converted model, field for field;
- `quantize`, of float models: `calibrate`, `quantize`, `lower` in a row without a hint, and ONNX Runtime runs what comes, with a finite SQNR.
A step after one that failed is not counted. exceptions.txt has a line `GLOB STEP REASON` for what is known to fail; a failure that is not listed
and a line that nothing needs are errors: exit status 1. No line excuses a crash, an internal error or a step that takes too long. QONNX is run by its own package. Models that their own system does not run are counted:
their outputs are compared with nothing. Needs numpy, onnx, onnxruntime and qonnx from PyPI.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np

STEPS = ("convert", "check", "run", "lower", "lift", "quantize")
FLOAT, QUANTIZED = 2.0**-10, 0.05  # of the greatest output
SECONDS = 600
NEVER = re.compile(r"takes longer|status (?!3:)")  # of what exceptions.txt may list
EXCEPTIONS = pathlib.Path(__file__).with_name("exceptions.txt")


class Failed(Exception):
    """A step that failed: its message is the reason."""


def qtx(program, *words):
    try:
        done = subprocess.run([program, *map(str, words), "--quiet"], capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Failed(f"takes longer than {SECONDS} s") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise Failed(f"status {done.returncode}: {lines[-1]}")


def runtime(path, sample):
    """The outputs that ONNX Runtime gives, by name."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        wanted = {value.name: sample[value.name] for value in session.get_inputs() if value.name in sample}
        return dict(zip([value.name for value in session.get_outputs()], session.run(None, wanted)))
    except Exception as error:
        raise Failed(f"ONNX Runtime: {str(error).strip().splitlines()[0][:200]}") from None


def of_qonnx(path, sample):
    """The outputs that qonnx's execution gives, by name."""
    from qonnx.core.modelwrapper import ModelWrapper
    from qonnx.core.onnx_exec import execute_onnx
    from qonnx.transformation.infer_shapes import InferShapes
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ModelWrapper(str(path)).transform(InferShapes())
            found = execute_onnx(model, {value.name: sample[value.name] for value in model.graph.input if value.name in sample})
    except Exception as error:
        raise Failed(f"qonnx: {str(error).strip().splitlines()[0][:200]}") from None
    return {value.name: found[value.name] for value in model.graph.output}


def hold_near(ours, theirs, bound):
    """Fails where an output is farther than `bound` of the greatest; the greatest distance."""
    worst = 0.0
    for name, b in theirs.items():
        a = ours.get(name)
        if a is None or a.shape != b.shape or a.dtype != b.dtype:
            raise Failed(f"output '{name}': {'none' if a is None else f'{a.dtype}{list(a.shape)}'}, expected {b.dtype}{list(b.shape)}")
        if b.size == 0:
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        distance = float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-30))
        if not distance <= bound:
            raise Failed(f"output '{name}' is {distance:.3g} of its greatest value away")
        worst = max(worst, distance)
    return worst


def load(folder, names):
    found = {}
    for i, name in enumerate(names):
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
        path = pathlib.Path(folder, f"{plain}.npy" if plain == name else f"{plain}#{i}.npy")
        if not path.exists():
            raise Failed(f"qtx run wrote no output '{name}'")
        found[name] = np.load(path)
    return found


class Hold:
    """The steps of one model."""

    def __init__(self, program, path, folder):
        self.program, self.path, self.folder = program, path, pathlib.Path(folder)
        self.samples = [dict(np.load(sample)) for sample in sorted((path.parent / "samples").glob("*.npz"))]
        self.is_float = "." not in path.stem
        self.distances = {}
        self.theirs, self.not_run = [], None  # their outputs of each sample; why there are none
        try:
            self.theirs = [self.own(sample) for sample in self.samples]
        except Failed as failure:
            self.not_run = str(failure)

    def own(self, sample):
        return (of_qonnx if self.path.stem.endswith("qonnx") else runtime)(self.path, sample)

    def hold(self, step, compute):
        """Holds what `compute` gives of a sample to theirs, on one sample after the other until one is near."""
        failure = None
        for k, sample in enumerate(self.samples):
            ours = compute(sample)
            if not self.theirs:
                return
            try:
                self.distances[step] = hold_near(ours, self.theirs[k], FLOAT if self.is_float else QUANTIZED)
                return
            except Failed as far:
                failure = failure or far
        raise failure

    def at(self, name):
        return self.folder / name

    def convert(self):
        qtx(self.program, "convert", self.path, "-o", self.at("extended.onnx"))

    def check(self):
        qtx(self.program, "check", self.at("extended.onnx"))

    def run(self):
        import onnx
        graph = onnx.load(self.path, load_external_data=False).graph
        names, outputs = [value.name for value in graph.input], [value.name for value in graph.output]

        def compute(sample):
            given = self.at("given.npz")
            np.savez(given, **{name: sample[name] for name in names if name in sample})
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                qtx(self.program, "run", self.at("extended.onnx"), "--input", given, "--output-dir", folder)
                return load(folder, outputs)

        self.hold("run", compute)

    def lower(self):
        qtx(self.program, "lower", self.at("extended.onnx"), "-o", self.at("lowered.onnx"))
        self.hold("lower", lambda sample: runtime(self.at("lowered.onnx"), sample))

    def lift(self):
        qtx(self.program, "lift", self.at("lowered.onnx"), "-o", self.at("lifted.onnx"))
        qtx(self.program, "diff", self.at("extended.onnx"), self.at("lifted.onnx"))

    def quantize(self):
        data = sorted((self.path.parent / "samples").glob("[1-9]*.npz"))
        qtx(self.program, "calibrate", self.path, "--data", *data, "-o", self.at("calibrated.onnx"))
        qtx(self.program, "quantize", self.at("calibrated.onnx"), "-o", self.at("quantized.onnx"))
        qtx(self.program, "lower", self.at("quantized.onnx"), "-o", self.at("stock.onnx"))
        ours = runtime(self.at("stock.onnx"), self.samples[0])
        name, theirs = next(iter(self.theirs[0].items()))
        noise = float(np.mean((ours[name].astype(np.float64) - theirs)**2))
        self.distances["sqnr"] = 10 * math.log10(float(np.mean(theirs.astype(np.float64)**2)) / noise) if noise else math.inf
        if not math.isfinite(self.distances["sqnr"]) and noise:
            raise Failed("the output is not finite")


def outcome_of(program, path):
    """{step: None or why it failed}, the distances, and why the model's own system does not run it, or None."""
    steps = {}
    with tempfile.TemporaryDirectory(prefix="qtx_zoo") as folder:
        hold = Hold(program, path, folder)
        for step in STEPS:
            if step == "quantize" and not (hold.is_float and hold.theirs):
                continue
            try:
                getattr(hold, step)()
                steps[step] = None
            except Failed as failure:
                steps[step] = str(failure)
                if step != "run":  # the others do not need it
                    break
    return steps, hold.distances, hold.not_run


def exceptions():
    rows = []
    for line in EXCEPTIONS.read_text().splitlines():
        if line and not line.startswith("#"):
            rows.append(line.split(maxsplit=2))
    return rows


def judge(results, is_all):
    """What is not as exceptions.txt says; of all models, lines that nothing needs, too."""
    needed, faults = set(), []
    rows = exceptions()
    for name, (steps, *_) in results.items():
        for step, failure in steps.items():
            if failure is None:
                continue
            known = [i for i, (pattern, of, _) in enumerate(rows) if of == step and fnmatch.fnmatch(name, pattern)]
            if NEVER.match(failure):
                known = []
            needed.update(known)
            if not known:
                faults.append(f"{name}: {step}: {failure}")
    faults += [f"exceptions.txt: nothing needs '{' '.join(row)}'" for i, row in enumerate(rows)
               if is_all and i not in needed]
    return faults


def table(results):
    kinds = collections.defaultdict(collections.Counter)
    for name, (steps, _, not_run) in results.items():
        kind = name.split("/")[1].split(".", 1)
        count = kinds[kind[1] if len(kind) == 2 else "float"]
        count["models"] += 1
        count["compared with nothing"] += not_run is not None
        count.update(step for step, failure in steps.items() if failure is None)
    columns = ("models", *STEPS, "compared with nothing")
    lines = ["| kind | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    total = sum(kinds.values(), collections.Counter())
    for kind, count in [*sorted(kinds.items()), ("all", total)]:
        lines.append(f"| {kind} | " + " | ".join(str(count[column]) for column in columns) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--qtx", required=True)
    parser.add_argument("--only", default="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    paths = sorted(path for path in arguments.folder.glob("*/*.onnx")
                   if fnmatch.fnmatch(f"{path.parent.name}/{path.stem}", arguments.only))
    if not paths:
        parser.error(f"{arguments.folder}: no model {arguments.only}.onnx in a folder of a network; make.py makes them")
    if shutil.which(arguments.qtx) is None:
        parser.error(f"--qtx {arguments.qtx}: no program")
    results = {}
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        futures = {f"{path.parent.name}/{path.stem}": pool.submit(outcome_of, arguments.qtx, path) for path in paths}
        for name, future in futures.items():
            results[name] = future.result()
    if arguments.json:
        arguments.json.write_text(json.dumps({name: {"failed": {step: why for step, why in steps.items() if why}, "distances": distances, "not_run": not_run}
                                              for name, (steps, distances, not_run) in results.items()}, indent=1) + "\n")
    faults = judge(results, arguments.only == "*")
    print(table(results))
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
