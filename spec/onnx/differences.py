#!/usr/bin/env python3
"""differences.py [--qtx PROGRAM] [--check | --write]: small stock models that systems answer differently.

For each, what ONNX's text says, derived by hand below, and what onnx.reference and ONNX Runtime with and without graph
optimization give. --qtx also holds `qtx run --arithmetic float32` to what the text says. --check and --write compare
and keep the table in motivation.md. Status 77: no onnx or onnxruntime.
"""
import argparse
import pathlib
import platform
import sys
import tempfile
import warnings
from dataclasses import dataclass

sys.dont_write_bytecode = True
try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import qtx
import tables

TEXT = tables.Text(pathlib.Path(__file__).resolve().parent / "motivation.md", "differences")
FLOAT, INT8, UINT8 = TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8
NUMPY = {FLOAT: np.float32, INT8: np.int8, UINT8: np.uint8}


@dataclass(frozen=True)
class Case:
    name: str
    model: onnx.ModelProto
    feeds: dict
    says: list  # what the text says, by hand


def model(nodes, inputs, output, constants):
    """inputs: {name: (type, values)}; one output y of that type."""
    values = {name: np.array(data, NUMPY[kind]) for name, (kind, data) in inputs.items()}
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, kind, values[name].shape)
                     for name, (kind, _) in inputs.items()],
        [helper.make_tensor_value_info("y", output, None)],
        [numpy_helper.from_array(np.array(data, NUMPY[kind]), name) for name, (kind, data) in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), values


def q_linear(op, x, w):
    """x has scale 1/2 and zero point 1, w is ones, y has scale 1 and zero point 1."""
    constants = {"xs": (FLOAT, 0.5), "xz": (UINT8, 1), "w": (UINT8, w), "ws": (FLOAT, 1), "wz": (UINT8, 0),
                 "ys": (FLOAT, 1), "yz": (UINT8, 1)}
    node = helper.make_node(op, ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"])
    return model([node], {"x": (UINT8, x)}, UINT8, constants)


def qdq(op, inputs, **attributes):
    """Inputs of scale 1 and zero point 0, y of scale 2 and zero point 1."""
    constants = {"s": (FLOAT, 1), "z": (INT8, 0), "ys": (FLOAT, 2), "yz": (INT8, 1)}
    nodes = [helper.make_node("DequantizeLinear", [name, "s", "z"], [name + "_real"]) for name in inputs]
    nodes += [helper.make_node(op, [name + "_real" for name in inputs], ["real"], **attributes),
              helper.make_node("QuantizeLinear", ["real", "ys", "yz"], ["y"])]
    return model(nodes, {name: (INT8, data) for name, data in inputs.items()}, INT8, constants)


def quantize(x):
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
    return model([node], {"x": (FLOAT, x)}, INT8, {"s": (FLOAT, 1), "z": (INT8, 3)})


ODD = [1, 3, 5, 7, -1, -3, -5, -7]
# Halves are 0.5 1.5 2.5 3.5 and their negatives; to even 0 2 2 4 0 -2 -2 -4; plus the zero point 1.
HALVES = [1, 3, 3, 5, 1, -1, -1, -3]
CASES = [
    # (4 - 1 + 3 - 1) / 2 = 2.5, to even 2, plus 1.
    Case("QLinearMatMul", *q_linear("QLinearMatMul", [[4, 3]], [[1], [1]]), [3]),
    # (6 - 1) / 2 = 2.5 and (8 - 1) / 2 = 3.5, to even 2 and 4, plus 1.
    Case("QLinearConv", *q_linear("QLinearConv", [[[[6, 8]]]], [[[[1]]]]), [3, 5]),
    # 3e9 and infinity are above the range, which they saturate to.
    Case("QuantizeLinear of 3e9, -3e9, inf, -inf", *quantize([3e9, -3e9, np.inf, -np.inf]), [127, -128, 127, -128]),
    Case("Add between DequantizeLinear and QuantizeLinear", *qdq("Add", {"a": ODD, "b": [0] * 8}), HALVES),
    Case("Mul between them", *qdq("Mul", {"a": ODD, "b": [1] * 8}), HALVES),
    Case("AveragePool between them, windows of one", *qdq("AveragePool", {"a": [[ODD]]}, kernel_shape=[1]), HALVES),
]


def reference(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, about the casts in question
        return ReferenceEvaluator(case.model).run(None, case.feeds)[0]


def runtime(level):
    def run(case):
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
        session = ort.InferenceSession(case.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, case.feeds)[0]

    return run


SYSTEMS = {"onnx.reference": reference, "ONNX Runtime, no optimization": runtime("ORT_DISABLE_ALL"),
           "ONNX Runtime, all": runtime("ORT_ENABLE_ALL")}


def qtx_run(program, case):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        onnx.save(case.model, folder / "model.onnx")
        arguments = []
        for key, value in case.feeds.items():
            np.save(folder / f"{key}.npy", value)
            arguments += ["--input", f"{key}={folder / key}.npy"]
        qtx.run(program, "run", folder / "model.onnx", *arguments, "--arithmetic", "float32", "--output-dir", folder)
        return np.load(folder / "y.npy")


def flat(values):
    return [int(v) for v in np.asarray(values).ravel()]


def words(values):
    return " ".join(map(str, values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qtx")
    mode = parser.add_mutually_exclusive_group()
    for name in ("check", "write"):
        mode.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    rows, good = [], True
    for case in CASES:
        answers = [flat(run(case)) for run in SYSTEMS.values()]
        rows.append([case.name, words(case.says), *("as the text" if a == case.says else words(a) for a in answers)])
        if options.qtx and flat(qtx_run(options.qtx, case)) != case.says:
            print(f"{case.name}: qtx run gives {words(flat(qtx_run(options.qtx, case)))}, the text {words(case.says)}")
            good = False
    versions = f"onnx {onnx.__version__}, onnxruntime {ort.__version__}, machine {platform.machine()}"
    table = tables.table(["node", "ONNX's text", *SYSTEMS], rows)
    if options.check:
        good = TEXT.check(versions, table) and good
    elif options.write:
        TEXT.write(versions, table)
    else:
        print(f"{versions}\n\n{table}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
