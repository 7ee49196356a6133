#!/usr/bin/env python3
"""Holds `qtx convert --to tflite` to LiteRT: tflite.py FOLDER --qtx PROGRAM [--only GLOB]

Each model that make.py has made becomes a TFLite file, or is refused by name. LiteRT runs the file with its reference kernels and with its delegate:
- `profile`: every output is what `qtx run FILE --profile` predicts, integers bit for bit, floats within 2^-16 of the greatest; else it is listed;
- `near`: it is no farther from ONNX Runtime's output of the model than hold.py asks, on one sample of four.
Fails (exit status 1) where LiteRT refuses or ends on a file, where a file is refused without a name, or a float network is not near. Needs numpy, onnx,
onnxruntime and ai-edge-litert from PyPI.
"""
import argparse
import collections
import fnmatch
import multiprocessing
import pathlib
import re
import shutil
import sys
import tempfile

import numpy as np

from hold import FLOAT, QUANTIZED, Failed, hold_near, load, qtx, runtime

MODES = {"litert-reference": "BUILTIN_REF", "litert-xnnpack": "AUTO"}
LOSSES = ("documentation", "origin", "parameters", "scheme", "statistics")
SAME = 2.0**-16  # of the greatest output: floats that are summed in another order, layer by layer


def _run(path, mode, sample, answers):
    from ai_edge_litert import interpreter
    try:
        program = interpreter.Interpreter(str(path), experimental_op_resolver_type=getattr(interpreter.OpResolverType, mode))
        program.allocate_tensors()
        for detail in program.get_input_details():
            program.set_tensor(detail["index"], sample[detail["name"]].astype(detail["dtype"]))
        program.invoke()
        answers.put({detail["name"]: program.get_tensor(detail["index"]) for detail in program.get_output_details()})
    except (RuntimeError, ValueError, KeyError) as error:
        answers.put(str(error).replace("\n", " "))


def litert(path, mode, sample):
    """The outputs by name, of a process of its own: LiteRT may abort."""
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    process = fork.Process(target=_run, args=(path, mode, sample, answers))
    process.start()
    while answers.empty() and process.is_alive():
        process.join(0.05)
    if answers.empty():
        raise Failed(f"LiteRT ends with status {process.exitcode}")
    answer = answers.get()
    process.join()
    if isinstance(answer, str):
        raise Failed(f"LiteRT: {answer[:200]}")
    return answer


def predicted(program, path, profile, sample, names, folder):
    given = pathlib.Path(folder, "given.npz")
    np.savez(given, **{name: sample[name] for name in names})
    with tempfile.TemporaryDirectory(dir=folder) as outputs:
        qtx(program, "run", path, "--profile", profile, "--input", given, "--output-dir", outputs)
        return load(outputs, litert_names(path, "outputs"))


def litert_names(path, which):
    from ai_edge_litert.interpreter import Interpreter
    program = Interpreter(str(path))
    details = program.get_input_details() if which == "inputs" else program.get_output_details()
    return [detail["name"] for detail in details]


def is_predicted(ours, theirs):
    for name, b in theirs.items():
        a = ours[name]
        if np.array_equal(a, b, equal_nan=b.dtype.kind == "f"):
            continue
        if b.dtype.kind != "f":
            raise Failed(f"output '{name}': {np.count_nonzero(a != b)} of {b.size} integers are not as predicted")
        hold_near({name: a}, {name: b}, SAME)


def judge(program, path, count, faults, others):
    name = f"{path.parent.name}/{path.stem}"
    samples = [dict(np.load(sample)) for sample in sorted((path.parent / "samples").glob("*.npz"))]
    with tempfile.TemporaryDirectory(prefix="qtx_zoo") as folder:
        file = pathlib.Path(folder, "model.tflite")
        try:
            qtx(program, "convert", path, "--to", "tflite", "-o", file, *(f"--allow={loss}" for loss in LOSSES))
        except Failed as refused:
            count["refused: " + re.sub(r".*: (?=\w)", "", re.sub(r"'[^']*'", "...", str(refused)))] += 1
            if "status 3" not in str(refused):
                faults.append(f"{name}: {refused}")
            return
        count["converted"] += 1
        try:
            theirs = [runtime(path, sample) for sample in samples]
        except Failed:
            theirs = []
        for profile, mode in MODES.items():
            try:
                found = litert(file, mode, samples[0])
            except Failed as failure:
                lacks = re.search(r"builtin opcode '(\w+)'", str(failure))
                if lacks:
                    count[f"{profile}: has no {lacks[1]}"] += 1
                else:
                    faults.append(f"{name}: {profile}: {failure}")
                continue
            count[f"{profile}: run"] += 1
            try:
                is_predicted(predicted(program, file, profile, samples[0], litert_names(file, "inputs"), folder), found)
                count[f"{profile}: as predicted"] += 1
            except Failed as failure:
                others.append(f"{name}: {profile}: {failure}")
            is_float = "." not in path.stem
            count[f"{profile}: compared"] += bool(theirs)
            for expected, sample in zip(theirs, samples):
                try:
                    hold_near(litert(file, mode, sample), expected, FLOAT if is_float else QUANTIZED)
                    count[f"{profile}: near"] += 1
                    break
                except Failed as failure:
                    last = failure
            else:
                if is_float and theirs:
                    faults.append(f"{name}: {profile}: {last}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--qtx", required=True)
    parser.add_argument("--only", default="*")
    arguments = parser.parse_args()
    count, faults, others = collections.Counter(), [], []
    paths = [path for path in sorted(arguments.folder.glob("*/*.onnx"))
             if fnmatch.fnmatch(f"{path.parent.name}/{path.stem}", arguments.only)]
    if not paths:
        parser.error(f"{arguments.folder}: no model {arguments.only}.onnx in a folder of a network; make.py makes them")
    if shutil.which(arguments.qtx) is None:
        parser.error(f"--qtx {arguments.qtx}: no program")
    for path in paths:
        if not any((path.parent / "samples").glob("*.npz")):
            parser.error(f"{path.parent / 'samples'}: no sample; make.py makes them")
    for path in paths:
        judge(arguments.qtx, path, count, faults, others)
    print(f"{len(paths)} models")
    for what, number in count.most_common():
        print(f"{number:5} {what}")
    print("\n".join(f"not as predicted: {line}" for line in others))
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
