"""Runs a folder of StableHLO test programs and compares with the constants that they check.

Usage: corpus.py QTX FOLDER [ARITHMETIC ...]        (by hand; needs numpy, ml_dtypes)

Each function of each .mlir file is converted and run on the reference. The expected values are read from the text here,
by a reader of its own. A program is equal where every bit is, near where integers and quantized values differ by at
most one step, almost where floats agree to 1e-4 relative (check.expect_almost_eq), and NaN where only results of NaN
differ: StableHLO's interpreter quantizes it to stored 0, QTX to real 0.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy

TYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": ml_dtypes.bfloat16, "i1": "?", "i8": "i1", "i16": "i2",
         "i32": "i4", "i64": "i8", "ui8": "u1", "ui16": "u2", "ui32": "u4", "ui64": "u8",
         "i4": "i1", "i2": "i1", "ui4": "u1", "ui2": "u1"}
DENSE = r'dense<("[^"]*"|[^>]*)>\s*:\s*tensor<([^>]*)>'


def array(elements, tensor):
    *dims, element = tensor.split("x")
    dtype = numpy.dtype(TYPES[element])
    shape = [int(dim) for dim in dims]
    if elements.startswith('"0x'):
        flat = numpy.frombuffer(bytes.fromhex(elements[3:-1]), dtype)
    else:
        flat = [number(word, dtype) for word in re.findall(r"[^\s,\[\]]+", elements)]
        flat = numpy.array(flat, dtype)
    if flat.size == numpy.prod(shape, dtype=int):
        return flat.reshape(shape)
    return numpy.broadcast_to(flat.reshape(()), shape)


def number(word, dtype):
    if word in ("true", "false"):
        return word == "true"
    if word.startswith("0x") and dtype.kind not in "iu":
        return numpy.array(int(word, 16), f"u{dtype.itemsize}").view(dtype)
    return int(word, 0) if dtype.kind in "iu" else float(word)


def expectations(body):
    """What the checks of one function expect, and the type of what they look at, in order."""
    constants = dict()
    for name, elements, tensor in re.findall(r"(%\w+) = stablehlo\.constant " + DENSE, body):
        constants[name] = (elements, tensor)
    found = []
    for line in body.splitlines():
        if "@check.eq" in line:
            operands = re.search(r"@check\.eq\((%\w+), (%\w+)\)", line).groups()
            found.append(next(constants[name] for name in operands if name in constants))
        elif "check.expect" in line:
            found.append(re.search(DENSE, line).groups())
    return found


def nans_of(body, shape):
    """Where one of the function's constants of that shape is NaN."""
    nans = numpy.zeros(shape, bool)
    for elements, tensor in re.findall(r"stablehlo\.constant " + DENSE, body):
        if "complex" not in tensor and (value := array(elements, tensor)).shape == shape:
            nans |= numpy.isnan(value.astype("f8"))
    return nans


def step_of(text):
    """The largest scale of a quantized type in the function: one LSB of the result is not more."""
    return max([float(scale) for scale in re.findall(r"[ {,]([0-9.eE+-]+)(?::-?\d+)?[>,}]", " ".join(
        re.findall(r"!quant\.uniform<i8[^>]*>", text)))] or [0.0])


def real_of_zero(text):
    """The real of stored 0 in the function's last quantized type, which StableHLO's interpreter makes of NaN."""
    types = re.findall(r"!quant\.uniform<i8:f32, ([0-9.eE+-]+)(?::(-?\d+))?>", text)
    return -float(types[-1][0]) * int(types[-1][1] or 0) if types else None


def verdict(actual, expected, step, of_nan, nans):
    if actual.shape != expected.shape:
        return "shape"
    a, b = actual.astype("f8"), expected.astype("f8")
    if numpy.array_equal(a, b, equal_nan=True):
        return "equal"
    finite = numpy.isfinite(b)
    if not numpy.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "differs"
    if numpy.all(nans[a != b]) or (of_nan is not None and numpy.allclose(b[a != b], of_nan)):
        return f"NaN ({numpy.count_nonzero(a != b)} of {a.size})"
    worst = numpy.max(numpy.abs(a - b)[finite], initial=0)
    if expected.dtype.kind not in "iu" and numpy.allclose(a, b, rtol=1e-4, atol=1e-7, equal_nan=True):
        return "almost"
    if worst <= (1 if expected.dtype.kind in "iu" else step * 1.001):
        return f"near ({numpy.count_nonzero(a != b)} of {a.size})"
    return f"differs ({worst:g})"


def run(qtx, path, index, body, arithmetic):
    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/m.onnx"
        command = [qtx, "convert", path, "--from", "stablehlo", "--subgraph", str(index), "-o", model, "-q"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return ["refused: " + done.stderr.strip().split(".mlir: ")[-1][:90]]
        done = subprocess.run([qtx, "run", model, "--arithmetic", arithmetic, "--output-dir", folder, "-q"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return ["not run: " + done.stderr.strip().split(".onnx: ")[-1][:90]]
        outputs = [numpy.load(file) for file in sorted(pathlib.Path(folder).glob("*.npy"))]
        wanted = [array(*one) for one in expectations(body)]
        if len(outputs) != len(wanted):
            return [f"{len(outputs)} outputs for {len(wanted)} checks"]
        return [verdict(a, b, step_of(body), real_of_zero(body),
                        nans_of(body, b.shape)) for a, b in zip(outputs, wanted)]


def main():
    qtx, folder = sys.argv[1:3]
    arithmetics = sys.argv[3:] or ["exact", "float32"]
    totals = {arithmetic: dict() for arithmetic in arithmetics}
    for path in sorted(pathlib.Path(folder).glob("*.mlir")):
        bodies = re.split(r"\bfunc\.func\b", path.read_text())[1:]
        for index, body in enumerate(bodies):
            row = []
            for arithmetic in arithmetics:
                results = run(qtx, str(path), index, body, arithmetic)
                worst = next((result for result in results if result != "equal"), "equal")
                row.append(worst)
                kind = re.split(r"[ :(]", worst)[0]
                totals[arithmetic][kind] = totals[arithmetic].get(kind, 0) + 1
            if any(cell != "equal" for cell in row):
                print(f"{path.name[:48]:48} {index:3}  " + " | ".join(row))
    for arithmetic, counts in totals.items():
        print(arithmetic, counts)


if __name__ == "__main__":
    main()
