#!/usr/bin/env python3
"""results_test.py QTX [--every N] [--opsets A,B,...] [--models FOLDER] [--list]

Models lower to other opsets, lift to the same bytes, and compute what they computed.

The models are every Nth node test of the installed onnx (all by default), or the ONNX files of FOLDER. Of each that
`qtx convert` takes:
- `qtx lower --opset N` for each N (its own, 13, 17, 21 and 25 by default), then `qtx lift`: the bytes must be those of
  the extended form;
- ONNX Runtime, or onnx's reference evaluator where it has no kernel, runs the lowered model of its own opset and that of
  N on the same inputs: the outputs must be equal;
- what onnx's version converter makes for N of the lowered model of its own opset is run likewise; outputs that differ
  from those before, and are the same as of its model, are the runtime's, whose kernels of two opsets differ.
What lowering refuses is counted by the sentence; --list prints each model of it.
Status: 1 results or bytes differ, or a refusal is none of those that the module names; 77 no onnx or ONNX Runtime.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy
    import onnx
    import onnxruntime
    from onnx.backend.test.loader import load_model_tests
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
SAME_WITHIN = 1e-5  # relative, of kernels that sum in another order


def node_tests():
    """Names, models and inputs, which are None where one is no tensor."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    for test in tests:
        names = [value.name for value in test.model.graph.input]
        values = test.data_sets[0][0]
        tensors = all(isinstance(value, numpy.ndarray) for value in values) and len(values) == len(names)
        yield test.name, test.model, dict(zip(names, values)) if tensors else None


def files(folder):
    """The same of the models of a folder that onnx reads."""
    for seed, path in enumerate(sorted(pathlib.Path(folder).rglob("*.onnx"))):
        try:
            model = onnx.load(path)
        except Exception as error:
            print(f"left out: {path}: {type(error).__name__}")
            continue
        name = str(path.relative_to(folder)).replace("/", "__").removesuffix(".onnx")
        yield name, model, inputs_of(model, path, seed)


def inputs_of(model, path, seed):
    """Those of the test data beside the file, or random ones."""
    constant = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in constant]
    stored = sorted(path.parent.glob("test_data_set_0/input_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
    if len(stored) != len(names) or path.name != "model.onnx":
        return random_inputs(model, seed)
    try:
        tensors = [onnx.TensorProto.FromString(file.read_bytes()) for file in stored]
        return {name: onnx.numpy_helper.to_array(tensor) for name, tensor in zip(names, tensors)}
    except Exception:  # sequences and optional values
        return None


def qtx(program, command, inputs, output, *options):
    """What the program refuses: {stem: message}. Files are given in portions."""
    output.mkdir(exist_ok=True)
    refused = {}
    for begin in range(0, len(inputs), 200):
        part = inputs[begin:begin + 200]
        run = subprocess.run([program, command, *part, "-o", f"{output}/", *options], capture_output=True, text=True,
                             timeout=600, check=False)
        for line in run.stderr.splitlines():
            for path in part:
                if line.startswith(f"{path}: "):
                    refused[path.stem] = line.removeprefix(f"{path}: ")
        assert run.returncode in (0, 3) or refused, run.stderr
    return refused


def random_inputs(model, seed):
    """Inputs of its declared types; None where it declares something else than a tensor of fixed or symbolic sizes."""
    generator = numpy.random.default_rng(seed)
    constant = {tensor.name for tensor in model.graph.initializer}
    inputs = {}
    for value in model.graph.input:
        if value.name in constant:
            continue
        tensor = value.type.tensor_type
        if not tensor.HasField("shape"):
            return None
        dims = [d.dim_value if d.dim_value > 0 else 2 for d in tensor.shape.dim]
        if numpy.prod(dims, dtype=float) > 1e7:
            return None
        try:
            kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        except KeyError:
            return None
        if kind == bool:
            inputs[value.name] = generator.integers(0, 2, dims).astype(bool)
        elif numpy.issubdtype(kind, numpy.floating):
            inputs[value.name] = generator.uniform(-2, 2, dims).astype(kind)
        elif numpy.issubdtype(kind, numpy.integer):
            inputs[value.name] = generator.integers(0, 2, dims).astype(kind)
        else:
            return None
    return inputs


def run(model, inputs):
    """Its outputs, and who computed them; (None, reason) where nobody does."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, inputs), "ONNX Runtime"
    except Exception as error:
        reason = str(error).splitlines()[0][:200]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ReferenceEvaluator(model).run(None, inputs), "onnx"
    except Exception:
        return None, reason


def equal(one, other):
    """Of outputs, and of an output that is a sequence."""
    if len(one) != len(other):
        return False
    return all(equal(mine, theirs) if isinstance(mine, list) else equal_tensors(mine, theirs)
               for mine, theirs in zip(one, other))


def equal_tensors(mine, theirs):
    if mine is None or theirs is None:
        return mine is theirs
    mine, theirs = numpy.asarray(mine), numpy.asarray(theirs)
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return False
    if mine.dtype.kind in "OUSc":
        return numpy.array_equal(mine, theirs)
    return mine.tobytes() == theirs.tobytes() or numpy.allclose(
        mine.astype(float), theirs.astype(float), rtol=SAME_WITHIN, atol=SAME_WITHIN, equal_nan=True)


def sentence(message):
    """A refusal without the names of its model."""
    message = re.sub(r"'[^']*'", "'_'", message)
    message = re.sub(r"^node '_' \((\w+)\): ", r"\1: ", message)
    return re.sub(r"\d+", "N", message)


class Comparison:
    def __init__(self, program, models, arguments):
        self.program, self.list = program, arguments.list
        self.models = {name: model for name, model, _ in models}
        self.inputs = {name: inputs for name, _, inputs in models}
        self.opsets = [int(opset) for opset in arguments.opsets.split(",")]
        self.counts, self.refusals = collections.Counter(), collections.Counter()
        self.failures, self.outputs = [], {}

    def outputs_of(self, name, model):
        if self.inputs[name] is None:
            return None, "inputs"
        return run(model, self.inputs[name])

    def check_results(self, name, opset, lowered):
        """Of the lowered model of its own opset and of that of `opset`."""
        if name not in self.outputs:
            self.outputs[name] = self.outputs_of(name, self.own[name])
        before, who = self.outputs[name]
        if RANDOM & {node.op_type for node in lowered.graph.node}:
            self.counts["not compared: random"] += 1
            return
        if before is None:
            self.counts["not run: no inputs or no kernel before"] += 1
            return
        after, by = self.outputs_of(name, lowered)
        if after is None:
            self.counts["not run: no kernel after"] += 1
            if self.list:
                print(f"no kernel: {name} to {opset}: {by}")
            return
        self.counts[f"compared by {who}" if who == by else "compared by both"] += 1
        agrees = self.check_converter(name, opset, after)
        if equal(before, after):
            return
        if agrees:  # the runtime's kernels of two opsets differ
            self.counts["other results, as those of the version converter's model"] += 1
        else:
            self.failures.append(f"{name} to {opset}: {who} and then {by} give other results")

    def check_converter(self, name, opset, after):
        """Whether the version converter's model gives the same outputs."""
        try:
            theirs = onnx.version_converter.convert_version(self.own[name], opset)
        except Exception:
            self.counts["onnx's version converter: refused"] += 1
            return False
        outputs, _ = self.outputs_of(name, theirs)
        if outputs is None:
            self.counts["onnx's version converter: its model does not run"] += 1
            return False
        same = equal(outputs, after)
        self.counts["onnx's version converter: " + ("same results" if same else "other results")] += 1
        if not same and self.list:
            print(f"other than onnx's version converter: {name} to {opset}")
        return same

    def move(self, folder, extended, opset):
        """All extended models to an opset, or to their own one where it is 0, and back."""
        lowered, lifted = folder / f"lowered{opset}", folder / f"lifted{opset}"
        option = [f"--opset={opset}"] if opset else []
        refused = qtx(self.program, "lower", extended, lowered, *option)
        back = qtx(self.program, "lift", sorted(lowered.glob("*.onnx")), lifted)
        for path in extended:
            name = path.stem
            if name in refused:
                self.refusals[(opset or "own", sentence(refused[name]))] += 1
                if self.list:
                    print(f"refused: {name} to {opset or 'own'}: {refused[name]}")
                continue
            self.counts[f"lowered to {opset or 'own'}"] += 1
            if name in back:
                self.failures.append(f"{name} to {opset}: does not lift: {back[name]}")
            elif (lifted / path.name).read_bytes() != path.read_bytes():
                self.failures.append(f"{name} to {opset}: lifts to other bytes")
            model = onnx.load(lowered / path.name)
            if not opset:
                self.own[name] = model
            elif name in self.own:
                self.check_results(name, opset, model)

    def run(self):
        self.own = {}
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "models").mkdir()
            for name, model in self.models.items():
                onnx.save(model, folder / "models" / f"{name}.onnx")
            refused = qtx(self.program, "convert", sorted((folder / "models").glob("*.onnx")), folder / "extended")
            for name, message in refused.items():
                self.refusals[("convert", sentence(message))] += 1
                if self.list:
                    print(f"refused: {name}: {message}")
            extended = sorted((folder / "extended").glob("*.onnx"))
            print(f"{len(self.models)} models, {len(extended)} converted")
            for opset in [0, *self.opsets]:
                self.move(folder, extended, opset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--opsets", default="13,17,21,25")
    parser.add_argument("--models")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    models = list(files(arguments.models) if arguments.models else node_tests())[::arguments.every]
    comparison = Comparison(arguments.program, models, arguments)
    comparison.run()
    for what, count in sorted(comparison.counts.items()):
        print(f"{count:6} {what}")
    for (opset, message), count in sorted(comparison.refusals.items(), key=lambda item: (str(item[0][0]), -item[1])):
        print(f"{count:6} refused, {opset}: {message}")
    for failure in comparison.failures:
        print(f"FAILED: {failure}")
    return 1 if comparison.failures else 0


if __name__ == "__main__":
    sys.exit(main())
