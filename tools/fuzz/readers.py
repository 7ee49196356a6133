"""Everything of QTX that reads what others wrote, one row each, as a command on one file.

A row is fuzzed and its corpus replayed through the program itself, so that a row needs no code: what the file is, the command's words
({input} is the file, {base} the folder of helpers that make_seeds.py writes into corpus/base, where the command runs, {output} a path that
does not exist yet).
"""
import collections
import functools
import pathlib
import re
import resource
import subprocess
import tempfile

Reader = collections.namedtuple("Reader", "name extension words stdin", defaults=(False,))
CORPUS = pathlib.Path(__file__).with_name("corpus")
COMMIT = b"@COMMIT@"
SECONDS = 30  # that one file may take
MEGABYTES = 3072  # of address space, without sanitizers

CONVERT = "convert {input} -o {output} --quiet"
CALIBRATE = "calibrate {base}/net.onnx --threads 1 -o {output}.onnx --quiet --data"
IMAGE = "calibrate {base}/image.onnx --threads 1 -o {output}.onnx --quiet"
CASES = "validate --suite {base}/cases --jobs 1 --quiet --backend"
KINDS = {"tflite": ".tflite", "gguf": ".gguf", "safetensors": ".safetensors", "glow": ".yaml", "paddle": ".pdmodel", "ort": ".json",
         "csv": ".csv", "json": ".json", "caffe2": ".pb", "stablehlo": ".mlir", "nnef": ".tar", "qtx": ".onnx", "qoperator": ".onnx", "qonnx": ".onnx",
         "qdq": ".onnx", "onnx": ".onnx"}
WRITTEN = {"tflite": ".tflite", "nnef": ".nnef.tar", "stablehlo": ".mlir", "glow": ".yaml", "ort": ".json", "csv": ".csv", "json": ".json",
           "qoperator": ".onnx", "qonnx": ".onnx", "qdq": ".onnx"}
LOSSES = ("documentation", "float", "graph", "origin", "parameters", "range", "scheme", "statistics")
WITH = {"glow", "ort", "csv", "json"}  # parameters of a model that is another file

READERS = [
    *(Reader(f"convert_{kind}", extension, f"{CONVERT} --from {kind}" + (" --with {base}/net.onnx --allow unmatched" if kind in WITH else ""))
      for kind, extension in KINDS.items()),
    *(Reader(f"write_{kind}", ".onnx", f"convert {{input}} --from qtx --to {kind} -o {{output}}{extension} --quiet" +
             "".join(f" --allow {loss}" for loss in LOSSES)) for kind, extension in WRITTEN.items()),
    Reader("check", ".onnx", "check {input} --quiet"),
    Reader("inspect", ".onnx", "inspect {input} --findings --json {output}"),
    Reader("infer", ".onnx", "convert --infer {input} -o {output}.onnx --quiet"),
    Reader("run_model", ".onnx", "run {input} --input {base}/sample.npy --output-dir {output} --quiet"),
    Reader("npy", ".npy", f"{CALIBRATE} {{input}}"),
    Reader("npz", ".npz", f"{CALIBRATE} {{input}}"),
    Reader("tensor_proto", ".pb", f"{CALIBRATE} {{input}}"),
    Reader("raw", ".raw", f"{CALIBRATE} {{input}}"),
    Reader("png", ".png", f"{IMAGE} --preprocess {{base}}/preprocess.yaml --data {{input}}"),
    Reader("jpeg", ".jpg", f"{IMAGE} --preprocess {{base}}/preprocess.yaml --data {{input}}"),
    Reader("preprocessing", ".yaml", f"{IMAGE} --data {{base}}/pixels.png --preprocess {{input}}"),
    Reader("calibration_journal", ".journal", f"{CALIBRATE} {{base}}/sample.npy --resume {{input}}"),
    Reader("validation_journal", ".journal", f"{CASES} reference --resume {{input}}"),
    Reader("fuzz_journal", ".journal", "fuzz --backend x86 --operators Relu --cases 64 --seed 1 --quiet --resume {input}"),
    Reader("scoreboard", ".json", "scoreboard {input} -o {output} --quiet"),
    Reader("rules", ".yaml", "quantize {base}/measured.onnx -o {output}.onnx --quiet --rules {input}"),
    Reader("cases", ".yaml", "spec run {input} --quiet"),
    Reader("formulas", ".md", "spec run {input} --quiet"),
    Reader("reports", ".json", "report merge {input} --quiet"),
    Reader("expected_failures", ".txt", f"{CASES} reference --expected-failures {{input}}"),
    Reader("requests", ".bin", "serve --backend x86", stdin=True),
    Reader("responses", ".bin", f"{CASES} 'cmd:cat {{input}}' --timeout 5"),
]
STATUSES = (0, 1, 3)
# Of a command line whose file is wrong in form; and of frames that break the protocol, which end a server.
OTHER_STATUSES = {"rules": (2,), "requests": (2, 4)}


def reader(name):
    return next(row for row in READERS if row.name == name)


@functools.cache
def commit_of(qtx):
    """The commit that the program was built from, as a report has it."""
    said = subprocess.run([qtx, "--version"], check=True, capture_output=True, text=True).stdout
    return re.search(r"commit ([0-9a-f]+(?:-dirty)?|unknown)", said)[1]


def seeds_of(row):
    return sorted((CORPUS / row.name).glob("*"))


def _restrict():
    size = MEGABYTES << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _words(row, path, output):
    text = row.words.replace("{base}", ".").replace("{output}", str(output))
    words, quoted = [], text.split("'")
    for i, part in enumerate(quoted):
        words += [part] if i % 2 else part.split()
    return [word.replace("{input}", str(path)) for word in words]


def outcome_of(row, qtx, data, sanitized=False):
    """(exit status, fault): what is wrong with how `qtx` takes these bytes; None: an answer, or one line that says what is wrong with
    them."""
    with tempfile.TemporaryDirectory(prefix="qtx") as folder:
        path, output = pathlib.Path(folder, "input" + row.extension), pathlib.Path(folder, "output")
        # A journal is of one program.
        path.write_bytes(data.replace(COMMIT, commit_of(qtx).encode()))
        stdin = path.open("rb") if row.stdin else subprocess.DEVNULL
        try:
            run = subprocess.run([qtx, *_words(row, path, output)], stdin=stdin, capture_output=True, timeout=SECONDS, cwd=CORPUS / "base",
                                 preexec_fn=None if sanitized else _restrict)
        except subprocess.TimeoutExpired:
            return None, f"takes longer than {SECONDS} s"
        finally:
            if row.stdin:
                stdin.close()
        lines = run.stderr.decode(errors="replace").strip().splitlines()
        if run.returncode not in (*STATUSES, *OTHER_STATUSES.get(row.name, ())):
            return run.returncode, f"status {run.returncode}: {' | '.join(lines[-3:])[:300]}"
        if "internal" in " ".join(lines).lower() or "Sanitizer" in " ".join(lines):
            return run.returncode, f"{' | '.join(lines)[:300]}"
        if run.returncode == 3 and len(lines) != 1:
            return run.returncode, f"{len(lines)} lines on stderr, expected one: {' | '.join(lines)[:300]}"
        left = [file.name for file in pathlib.Path(folder).iterdir() if file != path and run.returncode == 3]
        return run.returncode, f"has failed and left {left}" if left else None
