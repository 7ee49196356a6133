"""What the scripts of this folder share: a model through `qtx`, and what ONNX Runtime computes of each form."""
import os
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime

MICROSOFT = "com.microsoft"


def qtx(program, *arguments):
    """Runs the program; its standard error is the message of a RuntimeError."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def session(path, optimize=False):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # with more, DynamicQuantizeLSTM quantizes parts of a batch by themselves
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimize else level.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def in_runtime(path, inputs):
    """Results by name, in ONNX Runtime without its optimizer."""
    run = session(path)
    names = [output.name for output in run.get_outputs()]
    given = {value.name for value in run.get_inputs()}
    results = run.run(names, {name: array for name, array in inputs.items() if name in given})
    return dict(zip(names, results))


def in_reference(program, path, inputs, arithmetic):
    """Results by name, in the reference."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = []
        for i, (name, array) in enumerate(inputs.items()):
            file = os.path.join(folder, f"in{i}.npy")
            np.save(file, array)
            arguments += ["--input", f"{name}={file}"]
        out = os.path.join(folder, "out")
        os.mkdir(out)
        qtx(program, "run", path, *arguments, "--output-dir", out, "--arithmetic", arithmetic)
        names = [output.name for output in onnx.load(path, load_external_data=False).graph.output]
        files = sorted(os.listdir(out))
        results = {}
        for name in names:
            file = name.replace("/", "_") + ".npy"
            results[name] = np.load(os.path.join(out, file if file in files else files[0]))
        return results


def nodes(model):
    """Nodes as a file must give them back: operator, domain, attributes, inputs and outputs."""
    def of(node):
        attributes = sorted((a.name, onnx.helper.get_attribute_value(a)) for a in node.attribute)
        return (node.op_type, node.domain, str(attributes), list(node.output))
    return [of(node) for node in model.graph.node]


def constants(model):
    """The initializers that nodes of com.microsoft read, by node and place: type, dims and bytes."""
    stored = {t.name: t for t in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name in stored:
                t = stored[name]
                array = onnx.numpy_helper.to_array(t)
                found[node.output[0], i] = (t.data_type, list(t.dims), array.tobytes())
    return found


class Forms:
    """The forms of one model in a folder: stock, extended, lowered, lifted and back."""

    def __init__(self, program, model, folder):
        self.program = program
        self.stock, self.extended, self.lowered, self.lifted, self.back = (
            os.path.join(folder, name + ".onnx")
            for name in ("stock", "extended", "lowered", "lifted", "back"))
        onnx.save(model, self.stock)

    def convert(self):
        qtx(self.program, "convert", self.stock, "-o", self.extended)
        qtx(self.program, "check", self.extended)

    def lower(self):
        qtx(self.program, "lower", self.extended, "-o", self.lowered)

    def lift(self):
        """True when lifting gives the bytes of the extended form."""
        qtx(self.program, "lift", self.lowered, "-o", self.lifted)
        with open(self.extended, "rb") as a, open(self.lifted, "rb") as b:
            return a.read() == b.read()

    def come_back(self):
        """What differs of the nodes and constants of com.microsoft; "" for nothing."""
        qtx(self.program, "convert", self.extended, "-o", self.back, "--to", "qoperator")
        before, after = onnx.load(self.stock), onnx.load(self.back)
        if all(node.domain != MICROSOFT for node in before.graph.node):
            return ""  # it has none of them, and may get some
        if nodes(before) != nodes(after):
            return f"nodes {nodes(before)} became {nodes(after)}"
        if constants(before) != constants(after):
            differ = [k for k, v in constants(before).items() if constants(after).get(k) != v]
            return f"constants {differ}"
        return ""


def distance(a, b):
    """The greatest difference, relative to the greatest magnitude of `b`; infinite where they are of different shape."""
    if a.shape != b.shape:
        return float("inf")
    a, b = a.astype(np.float64), b.astype(np.float64)
    if a.size == 0:
        return 0.0
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    return float(np.nanmax(np.abs(a - b)) / max(np.nanmax(np.abs(b)), 1e-30))
