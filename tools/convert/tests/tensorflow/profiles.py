#!/usr/bin/env python3
"""Holds the deployment profiles of LiteRT to LiteRT: the outputs of TFLite models on random inputs.

profiles.py --qtx PROGRAM [--seed N] [--json FILE] FILE.tflite...

Each model is converted and run on the reference with `--profile`, for each of LiteRT's three modes, and in LiteRT. Outputs of integers are equal
or not; of floats the distance relative to the greatest one counts. Models whose nodes the profile knows are counted apart from
the others. Status 1 where a model was not compared. Needs numpy and ai-edge-litert.
"""
import argparse
import collections
import json
import pathlib
import sys
import tempfile

import numpy as np

import hold
import litert

MODES = {"litert-reference": "BUILTIN_REF", "litert-x86": "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "litert-xnnpack": "AUTO"}


def inputs(details, seed):
    """Integers over their whole range, but for indices; floats of a normal distribution."""
    random = np.random.default_rng(seed)
    values = {}
    for name, shape, dtype in details:
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            values[name] = random.normal(0, 1, shape).astype(dtype)
        elif dtype.kind == "b":
            values[name] = random.integers(0, 2, shape).astype(bool)
        else:
            ends = (0, 20) if dtype.itemsize >= 4 else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            values[name] = random.integers(ends[0], ends[1] + 1, shape).astype(dtype)
    return values


class Comparison:
    def __init__(self, program, folder):
        self.program, self.folder, self.litert = program, folder, litert.Worker()

    def run(self, model, values, profile):
        """Outputs, and the nodes of which the profile knows no kernel."""
        words = ["run", model, "--profile", profile, "--output-dir", self.folder / "out", "--json", self.folder / "run.json", "--quiet"]
        for i, (name, value) in enumerate(values.items()):
            path = self.folder / f"in{i}.npy"
            np.save(path, value)
            words += ["--input", f"{name}={path}"]
        hold.qtx(self.program, *words)
        report = json.loads((self.folder / "run.json").read_text())
        return [np.load(output["file"]) for output in report["outputs"]], report["unmodelled"]

    def of(self, path, seed):
        """For each profile: (outcome, elements, elements that differ, kernels that are not known)."""
        details = self.litert.details(path)
        if isinstance(details, str):
            return {profile: ("not taken by LiteRT", 0, 0, [details]) for profile in MODES}
        values = inputs(details, seed)
        model = self.folder / "model.onnx"
        answers = {}
        try:
            hold.qtx(self.program, "convert", path, "-o", model)
        except hold.Refused as error:
            return {profile: ("not converted", 0, 0, [str(error)]) for profile in MODES}
        for profile, mode in MODES.items():
            theirs = self.litert.run(path, values, mode)
            if isinstance(theirs, str):
                answers[profile] = ("not run by LiteRT", 0, 0, [theirs])
                continue
            try:
                ours, unknown = self.run(model, values, profile)
            except hold.Refused as error:
                answers[profile] = ("not run", 0, 0, [str(error)])
                continue
            gap = hold.distance(ours, theirs)
            integer = all(b.dtype.kind != "f" for b in theirs)
            differ = sum(int((a != b).sum()) for a, b in zip(ours, theirs))
            answers[profile] = (hold.grade(gap, integer), sum(b.size for b in theirs), differ, [str(one) for one in unknown])
        return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--qtx", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    missing = [str(path) for path in [*arguments.files, pathlib.Path(arguments.qtx)] if not path.is_file()]
    if missing:
        parser.error(f"{missing[0]}: found no file of that name")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(arguments.qtx, pathlib.Path(folder))
        for path in arguments.files:
            results[str(path)] = comparison.of(path, arguments.seed)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    for profile in MODES:
        counts, elements = collections.defaultdict(collections.Counter), collections.Counter()
        for path, answers in results.items():
            outcome, size, differ, unknown = answers[profile]
            kind = "all kernels known" if not unknown else "some not known" if size else outcome
            if "LiteRT" in kind:
                print(f"{profile}: {path}: {kind}: {unknown[0]}")
            counts[kind][outcome] += 1
            elements[kind] += size
            if kind == "all kernels known" and outcome in ("1 LSB", "more than 1 LSB", "above 2^-7", "2^-20 to 2^-7"):
                print(f"{profile}: {path}: {outcome}, {differ} of {size}")
        print(f"\n## {profile}")
        for kind, outcomes in counts.items():
            print(f"{kind:18} {sum(outcomes.values())} models, {elements[kind]} outputs: " + ", ".join(f"{word} {count}" for word, count in outcomes.items()))
    return 0 if all(answers[profile][1] for answers in results.values() for profile in MODES) else 1


if __name__ == "__main__":
    sys.exit(main())
