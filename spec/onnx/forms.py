#!/usr/bin/env python3
"""forms.py QTX [--check | --write | --messages]: what tools do to a model in each form that QTX writes, and what QTX says.

QTX is the program `qtx`. A convolutional network of three nodes in three forms: float with statistics, lowered (QDQ nodes
and annotations) and extended. A tool's result is looked at by `qtx inspect`, and judged by `qtx check`:

  kept      each value that is still there has its scales, offsets and statistics
  restored  some were lost, `check` said so, and `qtx convert --restore` brought all of them back
  told      some were lost, and `check` said so
  stock     all were lost, and the metadata that would tell: nothing says that the file ever had any
  SILENT    some were lost, and `check` found nothing: status 1
  removed   no value that had any is left
  refused   the tool took no such model

Without options the tables of what is installed are printed, as alternatives.md has them between its markers; options as
of carriers.py. Status 77: no onnx.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from survival.tools import GROUPS
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import carriers
import tables

TEXT = tables.Text(pathlib.Path(__file__).resolve().parent / "alternatives.md", "forms")
FORMS = ("float with statistics", "lowered", "extended")
PREFIX = "first/"  # of merge_models


def network():
    """x -> Conv -> hidden -> Relu -> positive -> Conv -> y."""
    draw = np.random.default_rng(1)
    tensor = lambda name, *dims: numpy_helper.from_array(draw.standard_normal(dims).astype(np.float32), name)
    value = lambda name, *dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    nodes = [helper.make_node("Conv", ["x", "weight", "bias"], ["hidden"], name="first", pads=[1] * 4),
             helper.make_node("Relu", ["hidden"], ["positive"], name="second"),
             helper.make_node("Conv", ["positive", "last_weight"], ["y"], name="third")]
    graph = helper.make_graph(
        nodes, "net", [value("x", 1, 3, 8, 8)], [value("y", 1, 2, 8, 8)],
        [tensor("weight", 4, 3, 3, 3), tensor("bias", 4), tensor("last_weight", 2, 4, 1, 1)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                             ir_version=min(10, onnx.IR_VERSION))


def names_of(graph):
    """The values that nodes read or make, as they were called before merging."""
    names = [*(value.name for value in graph.input), *(tensor.name for tensor in graph.initializer)]
    names += [name for node in graph.node for name in [*node.input, *node.output]]
    return {name.removeprefix(PREFIX) for name in names}


class Qtx:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def path(self, name):
        return str(self.folder / name)

    def run(self, *arguments):
        try:
            return subprocess.run([self.program, *arguments], capture_output=True, text=True, timeout=60)
        except OSError as fault:
            sys.exit(f"{self.program}: {fault.strerror}")

    def must(self, *arguments):
        done = self.run(*arguments)
        if done.returncode != 0:
            sys.exit(f"qtx {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def forms(self):
        """The file of each form."""
        made = {form: self.path(form.split()[0] + ".onnx") for form in FORMS}
        onnx.save(network(), self.path("stock.onnx"))
        draw = np.random.default_rng(2)
        samples = [self.path(f"sample{i}.npy") for i in range(3)]
        for sample in samples:
            np.save(sample, draw.standard_normal((1, 3, 8, 8)).astype(np.float32))
        self.must("calibrate", self.path("stock.onnx"), "--data", *samples, "-o", made[FORMS[0]])
        self.must("quantize", made[FORMS[0]], "-o", made[FORMS[2]])
        self.must("lower", made[FORMS[2]], "-o", made[FORMS[1]])
        return made

    def facts(self, model):
        """What each value's type says beyond the element type and shape; None of a value that says nothing."""
        shown = json.loads(self.must("inspect", model, "--json", "-"))
        found = {}
        for value in [*shown["inputs"], *shown["outputs"], *shown["values"]]:
            facts = {key: value[key] for key in ("scale", "offset", "axis", "scheme", "statistics") if value.get(key)}
            found[value["name"].removeprefix(PREFIX)] = facts if facts.keys() & {"scale", "statistics"} else None
        return found

    def verdict(self, original, result):
        """One cell, and the messages behind it."""
        before, after = self.facts(original), self.facts(result)
        model = onnx.load(result)
        names = names_of(model.graph)
        left = {name: facts for name, facts in before.items() if facts and name in names}
        if not left:
            return "removed", ""
        lost = [name for name in left if after.get(name) != left[name]]
        checked = self.run("check", result)
        if not lost:
            return "kept", checked.stdout + checked.stderr if checked.returncode else ""
        said = f"{', '.join(lost)}: {checked.stdout}{checked.stderr}"
        if checked.returncode == 0:
            traces = after.keys() & left.keys() - set(lost) or any(p.key.startswith("qtx.") for p in model.metadata_props)
            return ("SILENT" if traces else "stock"), said
        restored = self.path("restored.onnx")
        again = self.run("convert", "--restore", original, result, "-o", restored)
        if again.returncode != 0:
            return "told", said + again.stderr
        back = self.facts(restored)
        whole = all(back.get(name) == left[name] for name in left)
        return ("restored" if whole else "told"), said + again.stdout


def measure(group, qtx, forms):
    rows, messages = [], []
    for form, original in forms.items():
        cells = [form]
        for tool in group.tools:
            result = qtx.path("result.onnx")

            def outcome(tool=tool, original=original, result=result):
                answer = carriers.attempt(tool, onnx.load(original))
                if isinstance(answer, tuple):
                    return answer
                onnx.save(answer, result)
                return qtx.verdict(original, result)

            cell, text = carriers.isolated(outcome)
            cells.append(cell)
            messages += [f"{tool.name}: {form}: {cell}: {' '.join(text.split())}"] if text else []
        rows.append(cells)
    return tables.table(["form", *(tool.name for tool in group.tools)], rows), messages


def main():
    parser = tables.parser(__doc__)
    parser.add_argument("qtx")
    options = parser.parse_args()
    silent = []
    with tempfile.TemporaryDirectory() as folder:
        qtx = Qtx(options.qtx, pathlib.Path(folder))
        forms = qtx.forms()

        def measured(group):
            table, messages = measure(group, qtx, forms)
            silent.extend(line for line in messages if ": SILENT: " in line)
            return table, messages

        good = TEXT.keep(options, GROUPS, measured)
    print("\n".join(silent), end="\n" if silent else "")
    sys.exit(0 if good and not silent else 1)


if __name__ == "__main__":
    main()
