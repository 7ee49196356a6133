#!/usr/bin/env python3
"""Whether the tools that a form is written for take what `qtx convert` writes.

accepted.py CORPUS... --qtx PROGRAM [--to KIND]... [--keep FOLDER]

Every model below CORPUS is converted to every kind, with all losses allowed. What is written is loaded: stock ONNX by
onnx.checker (full_check) and ONNX Runtime, QONNX by onnx.checker and qonnx, TFLite by LiteRT, the extended form by
`qtx check`. Needs onnx, onnxruntime, qonnx and ai-edge-litert from PyPI. Exit status 1 where a tool refuses a file
whose input it takes, or where `qtx` finds a fault of its own.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

KINDS = {"qtx": ".onnx", "qdq": ".onnx", "qoperator": ".onnx", "qonnx": ".onnx", "tflite": ".tflite"}
DECLINED = 3  # exit status: the input is invalid, or cannot be said in the form


class Loader:
    """loaders.py in a process that is started again when it dies."""

    def __init__(self):
        self.process = None

    def load(self, kind, path):
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, str(pathlib.Path(__file__).with_name("loaders.py"))],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        print(kind, path, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        status, self.process = self.process.wait(), None
        return f"the tool ended with status {status}"


class Sweep:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.loaders = threading.local()
        usage = subprocess.run([program, "convert", "--help"], capture_output=True, text=True, check=True).stdout
        losses = re.search(r"--allow[^{]*\{([^}]*)\}", usage).group(1)
        self.allow = [word for loss in losses.split(",") for word in ("--allow", loss.strip())]

    def load(self, kind, path):
        if not hasattr(self.loaders, "own"):
            self.loaders.own = Loader()
        return self.loaders.own.load(kind, path)

    def refusal(self, kind, path):
        """Why the tools of the kind refuse the file; None where they take it."""
        if kind != "qtx":
            return self.load(kind, path)
        checked = subprocess.run([self.program, "check", path], capture_output=True, text=True, errors="replace")
        return None if checked.returncode == 0 else checked.stderr.strip()

    def convert(self, number, source, kind):
        """(outcome, reason) of one model and one kind."""
        output = str(self.folder / f"{number}.{kind}{KINDS[kind]}")
        done = subprocess.run([self.program, "convert", str(source), "-o", output, "--to", kind, *self.allow],
                              capture_output=True, text=True, errors="replace")
        if done.returncode == DECLINED:
            return "declined", done.stderr.strip()
        if done.returncode != 0:
            return "fault", f"status {done.returncode}: {done.stderr.strip()}"
        reason = self.refusal(kind, output)
        if reason is None:
            return "accepted", ""
        of_input = self.load("tflite" if source.suffix == ".tflite" else "onnx", str(source))
        return ("refused" if of_input is None else "refused as its input is"), reason


def models(corpus):
    for root in corpus:
        root = pathlib.Path(root)
        yield from [root] if root.is_file() else sorted(
            path for path in root.rglob("*") if path.suffix in (".onnx", ".tflite"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--qtx", required=True, help="the program")
    parser.add_argument("--to", action="append", choices=KINDS, help="these kinds only")
    parser.add_argument("--keep", help="folder for what is written")
    parser.add_argument("--declined", action="store_true", help="print what was declined, too")
    options = parser.parse_args()
    counts = {kind: collections.Counter() for kind in options.to or KINDS}
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(options.keep or temporary)
        folder.mkdir(exist_ok=True)
        sweep = Sweep(options.qtx, folder)
        jobs = [(number, source, kind) for number, source in enumerate(models(options.corpus)) for kind in counts]
        for (number, source, kind), (outcome, reason) in zip(jobs, pool.map(lambda job: sweep.convert(*job), jobs)):
            counts[kind][outcome] += 1
            if outcome not in ("accepted", "declined") or (outcome == "declined" and options.declined):
                print(f"{number} {source} to {kind}: {outcome}: {' '.join(reason.split())[:400]}", flush=True)
    for kind, count in counts.items():
        print(f"{kind}: " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(count.items())))
    return 1 if any(count["refused"] + count["fault"] for count in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
