#!/usr/bin/env python3
"""onnx_checker_test.py QTX [--mutants N] [--folder DIR]: `qtx check` against onnx.checker with full_check.

The models are the node tests of the installed onnx, or those of DIR, and N (default 4) mutants of each node: one change
made by a rule, drawn by the test's name. What onnx accepts as it is, `qtx check` must accept. What onnx refuses, it must
refuse: of a mutant too. (A mutant that onnx accepts may break a clause of spec/ops/ all the same: these are counted.)
Models with nodes of other domains than ai.onnx are left out, and node tests that onnx itself refuses. Where an operator has no shape rule, what onnx infers for it,
or for what follows, is listed by operator and is no failure.
Status: 1 they disagree, 77 no onnx, or an older one than the catalogue's table.
"""
import argparse
import collections
import json
import multiprocessing
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings

try:
    import onnx
    from onnx.backend.test.loader import load_model_tests
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = (ROOT / "proto/src/catalogue/onnx_operators.cc").read_text()
VERSION = re.search(r"of onnx ([\w.]+)\. ", TABLE)[1]
# Operators with a shape rule: those of a section, and the rows of proto/src/catalogue/onnx_*.cc.
WITH_RULE = {path.read_text().split("\n", 1)[0][2:] for path in (ROOT / "spec/ops").glob("*.md")}
for path in (ROOT / "proto/src/catalogue").glob("onnx_*.cc"):
    if path.name != "onnx_operators.cc":
        WITH_RULE.update(re.findall(r'"([A-Z]\w+)"', path.read_text()))


ENDED = "onnx's process ended"


def refusal(model):
    """What onnx's checker says of a model; None where it accepts it."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # checker and inference raise several kinds
        lines = str(error).strip().splitlines()
        return lines[0] if lines else type(error).__name__
    return None


# What onnx refuses by a contradiction of its own, and why that is none of ours.
CONTRADICTIONS = {
    "(op_type:RMSNormalization): Y has inconsistent type": "its schema gives Y the type of scale, its inference that of X",
}


class Checker:
    """onnx's checker in a process of its own, which some mutants end (GatherND with batch_dims -9)."""

    def __init__(self):
        self.worker = None

    def start(self):
        self.pipe, end = multiprocessing.Pipe()
        self.worker = multiprocessing.Process(target=self.serve, args=(end,), daemon=True)
        self.worker.start()
        end.close()

    @staticmethod
    def serve(pipe):
        while True:
            pipe.send(refusal(onnx.ModelProto.FromString(pipe.recv_bytes())))

    def refusal(self, model):
        """As the function; ENDED where that is how the process answers."""
        if self.worker is None:
            self.start()
        self.pipe.send_bytes(model.SerializeToString())
        try:
            return self.pipe.recv()
        except EOFError:
            self.worker = None
            return ENDED


# Mutations: each changes one thing of the model's node and returns what, or None where there is nothing to change.

def drop_input(node, model, draw):
    if node.input:
        return f"without its last input '{node.input.pop()}'"


def add_input(node, model, draw):
    if node.input:
        node.input.append(node.input[0])
        return "with its first input once more"


def rename_operator(node, model, draw):
    node.op_type += "X"
    return f"operator {node.op_type}"


def rename_attribute(node, model, draw):
    if node.attribute:
        attribute = draw.choice(node.attribute)
        attribute.name += "x"
        return f"attribute {attribute.name}"


def drop_attribute(node, model, draw):
    if node.attribute:
        return f"without attribute {node.attribute.pop(draw.randrange(len(node.attribute))).name}"


def change_attribute_type(node, model, draw):
    if node.attribute:
        attribute = draw.choice(node.attribute)
        name = attribute.name
        attribute.CopyFrom(onnx.helper.make_attribute(name, "text" if attribute.type != onnx.AttributeProto.STRING else 1))
        return f"attribute {name} of another type"


def change_attribute_value(node, model, draw):
    integers = [each for each in node.attribute if each.type in (onnx.AttributeProto.INT, onnx.AttributeProto.INTS)]
    if integers:
        attribute = draw.choice(integers)
        value = draw.choice([-9, -1, 0, 1, 2, 7, 99])
        if attribute.type == onnx.AttributeProto.INT:
            attribute.i = value
        elif attribute.ints:
            attribute.ints[draw.randrange(len(attribute.ints))] = value
        return f"attribute {attribute.name} with {value}"


def tensors(values):
    return [value for value in values if value.type.HasField("tensor_type")]


def change_input_type(node, model, draw):
    values = tensors(model.graph.input)
    if values:
        value = draw.choice(values)
        code = draw.choice([code for code in (1, 2, 3, 5, 6, 7, 9, 10, 11, 12) if code != value.type.tensor_type.elem_type])
        value.type.tensor_type.elem_type = code
        return f"input '{value.name}' of type {onnx.TensorProto.DataType.Name(code)}"


def change_output_type(node, model, draw):
    values = tensors(model.graph.output)
    if values:
        value = draw.choice(values)
        code = draw.choice([code for code in (1, 2, 3, 6, 7, 9, 10) if code != value.type.tensor_type.elem_type])
        value.type.tensor_type.elem_type = code
        return f"output '{value.name}' of type {onnx.TensorProto.DataType.Name(code)}"


def change_size(values, draw):
    sized = [(value, axis) for value in tensors(values) for axis in value.type.tensor_type.shape.dim
             if axis.HasField("dim_value")]
    if sized:
        value, axis = draw.choice(sized)
        axis.dim_value += draw.choice([-1, 1, 3])
        return f"'{value.name}' with a size {axis.dim_value}"


def change_input_size(node, model, draw):
    return change_size(model.graph.input, draw)


def change_output_size(node, model, draw):
    return change_size(model.graph.output, draw)


def change_output_rank(node, model, draw):
    values = tensors(model.graph.output)
    if values:
        value = draw.choice(values)
        value.type.tensor_type.shape.dim.add().dim_value = 1
        return f"output '{value.name}' with one more axis"


MUTATIONS = [drop_input, add_input, rename_operator, rename_attribute, drop_attribute, change_attribute_type,
             change_attribute_value, change_attribute_value, change_input_type, change_output_type, change_input_size,
             change_input_size, change_output_size, change_output_rank]


def mutants(name, model, count):
    draw = random.Random(name)
    for number in range(count):
        changed = onnx.ModelProto.FromString(model.SerializeToString())
        if not changed.graph.node:
            return
        what = draw.choice(MUTATIONS)(draw.choice(changed.graph.node), changed, draw)
        if what:
            yield f"{name}.{number}", changed, what


def without_rule(model):
    return sorted({node.op_type for node in model.graph.node} - WITH_RULE)


def is_stock(model):
    return all(node.domain in ("", "ai.onnx") for node in model.graph.node)


def models(folder):
    if folder:
        for path in sorted(pathlib.Path(folder).rglob("*.onnx")):
            if path.stat().st_size < 1 << 26:
                yield str(path.relative_to(folder)).replace("/", "__").removesuffix(".onnx"), onnx.load(path)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, about what the tests compute
        for case in load_model_tests(kind="node"):
            yield case.name, case.model


def judged(program, folder):
    """The first finding of each file, by its name."""
    files = sorted(folder.iterdir())
    findings = {}
    for at in range(0, len(files), 500):
        process = subprocess.run([program, "check", *files[at:at + 500], "--json", "-"], capture_output=True, text=True)
        if process.returncode not in (0, 1, 3):
            sys.exit(f"qtx check: status {process.returncode}: {process.stderr[-400:]}")
        for line in process.stderr.splitlines():  # files that cannot be read
            findings[pathlib.Path(line.split(": ")[0]).name] = line
        for finding in json.loads(process.stdout)["findings"]:
            findings.setdefault(pathlib.Path(finding["file"]).name, f"{finding['message']} [{finding['rule']}]")
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("qtx")
    parser.add_argument("--mutants", type=int, default=4)
    parser.add_argument("--folder")
    options = parser.parse_args()
    if [int(part) for part in onnx.__version__.split(".")[:2]] < [int(part) for part in VERSION.split(".")[:2]]:
        print(f"skipped: onnx {onnx.__version__}, and the table is of {VERSION}")
        return 77

    theirs, changes, operators, unruled = {}, {}, {}, {}
    checker = Checker()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, model in filter(lambda named: is_stock(named[1]), models(options.folder)):
            if not options.folder and checker.refusal(model):
                print(f"left out: {name}, which onnx refuses")
                continue
            for key, each, what in [(name, model, ""), *mutants(name, model, options.mutants)]:
                said = checker.refusal(each)
                if said == ENDED:
                    print(f"left out: {key} {what}, which ends onnx")
                    continue
                (folder / key).write_bytes(each.SerializeToString())
                theirs[key], changes[key] = said, what
                operators[key] = "+".join(sorted({node.op_type for node in each.graph.node})[:3])
                unruled[key] = without_rule(each)
        ours = judged(options.qtx, folder)

    counts, open_operators, wrong = collections.Counter(), collections.Counter(), []
    for key, said in theirs.items():
        kind = "mutant" if changes[key] else "model"
        if said is not None and any(text in said for text in CONTRADICTIONS):
            counts[kind, "refused", "not judged"] += 1
            continue
        counts[kind, "accepted" if said is None else "refused", "refused" if key in ours else "accepted"] += 1
        if said is None and key in ours and not changes[key]:
            wrong.append(f"{key} ({operators[key]}): onnx accepts it; {ours[key]}")
        if said is None or key in ours:
            continue
        if unruled[key] and "InferenceError" in said:
            open_operators.update(unruled[key])
        else:
            wrong.append(f"{key} ({operators[key]}) {changes[key]}: accepted; onnx says: {said[:160]}")
    for (kind, onnx_says, qtx_says), count in sorted(counts.items()):
        print(f"{count:6} {kind}s {onnx_says} by onnx, {qtx_says} by qtx")
    if open_operators:
        print("   of these without a shape rule: " + ", ".join(f"{name} {n}" for name, n in open_operators.most_common()))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
