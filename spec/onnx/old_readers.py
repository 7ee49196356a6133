#!/usr/bin/env python3
"""old_readers.py [--check | --write]: what the installed onnx and onnxruntime do with files of the proposal.

One Add in four ways: with quantized types, with plain int8 types and the field beside them (which is not proposed), in
lowered form with annotations, and that without annotations. Status 77: no onnx or onnxruntime.
"""
import argparse
import pathlib
import sys

sys.dont_write_bytecode = True
try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, checker, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import tables

TEXT = tables.Text(pathlib.Path(__file__).resolve().parent / "migration.md", "old readers")
INT8Q = 1003
A, B = np.array([10, 20], np.int8), np.array([4, 8], np.int8)
# Reals 5 10 and 4 8 with scales 0.5 and 1; their sums 9 18, and in y's unit of 0.25 they are stored as 36 72.
SCALES = {"a": 0.5, "b": 1.0, "y": 0.25}


def annotate(tensor_type, scale, storage=0):
    """Field 1001 with scale (1), and storage_type (11) in the annotation of a float."""
    content = b"\x0a\x04" + np.float32(scale).tobytes() + (bytes([11 << 3, storage]) if storage else b"")
    key = 1001 << 3 | 2
    tensor_type.MergeFromString(bytes([key & 0x7F | 0x80, key >> 7, len(content)]) + content)


def typed(code):
    values = [helper.make_tensor_value_info(name, code, [2]) for name in SCALES]
    for value in values:
        annotate(value.type.tensor_type, SCALES[value.name])
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["y"])], "g", values[:2], values[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def lowered(annotated):
    nodes, constants = [], [numpy_helper.from_array(np.int8(0), "zero")]
    for name, scale in SCALES.items():
        constants.append(numpy_helper.from_array(np.float32(scale), f"{name}/scale"))
    for name in "ab":
        nodes.append(helper.make_node("DequantizeLinear", [name, f"{name}/scale", "zero"], [f"{name}/real"]))
    nodes += [helper.make_node("Add", ["a/real", "b/real"], ["y/real"]),
              helper.make_node("QuantizeLinear", ["y/real", "y/scale", "zero"], ["y"])]
    between = [helper.make_tensor_value_info(f"{name}/real", TensorProto.FLOAT, [2]) for name in SCALES]
    for value in between if annotated else []:
        annotate(value.type.tensor_type, SCALES[value.name[0]], TensorProto.INT8)
    values = [helper.make_tensor_value_info(name, TensorProto.INT8, [2]) for name in SCALES]
    graph = helper.make_graph(nodes, "g", values[:2], values[2:], constants, value_info=between)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


MODELS = {"quantized types, `elem_type` 1003": typed(INT8Q),
          "not proposed: `elem_type` INT8 and the field": typed(TensorProto.INT8),
          "lowered, annotated": lowered(True),
          "lowered, without annotations": lowered(False)}


def short(error):
    text = " ".join(str(error).split())
    return "refused: " + text[text.find("Invalid tensor"):] if "Invalid tensor" in text else "refused: " + text[:60]


def checked(model, full):
    try:
        checker.check_model(model, full_check=full)
    except Exception as error:
        return short(error)
    return "accepted"


def run(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return "runs, y = " + " ".join(map(str, session.run(None, {"a": A, "b": B})[0]))
    except Exception as error:
        return short(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    for name in ("check", "write"):
        mode.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    rows = [[name, checked(model, False), checked(model, True), run(model)] for name, model in MODELS.items()]
    table = tables.table(["file (a = 10 20, b = 4 8; right is y = 36 72)", "`check_model`", "with `full_check`",
                          "ONNX Runtime"], rows)
    versions = f"onnx {onnx.__version__}, onnxruntime {ort.__version__}"
    if options.check:
        sys.exit(0 if TEXT.check(versions, table) else 1)
    TEXT.write(versions, table) if options.write else print(f"{versions}\n\n{table}")


if __name__ == "__main__":
    main()
