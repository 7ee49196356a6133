#!/usr/bin/env python3
"""infer_test.py QTX [FOLDER]: `qtx convert --infer` against onnx.shape_inference.

The models are the node tests of the installed onnx, or those of FOLDER, without what they declare of values that nodes
give but the element types of their outputs. Each type, rank and size that both know must be equal. Models that either
refuses are left out, and counted. Status: 1 they disagree, 77 no onnx.
"""
import collections
import pathlib
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


def node_tests():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {test.name: test.model if test.model is not None else onnx.load(pathlib.Path(test.model_dir, "model.onnx"))
                for test in load_model_tests(kind="node")}


def files(folder):
    return {str(path.relative_to(folder)).replace("/", "__").removesuffix(".onnx"): onnx.load(path)
            for path in sorted(pathlib.Path(folder).rglob("*.onnx"))}


def bare(model):
    """The model without declarations of what follows."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    del model.graph.value_info[:]
    for output in model.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    return model


def types(model):
    """Of each value that a node gives: (element type or None, sizes or None). A size is a number, or None."""
    given = {name for node in model.graph.node for name in node.output}
    found = {}
    for value in [*model.graph.value_info, *model.graph.output]:
        if value.name not in given or not value.type.HasField("tensor_type"):
            continue
        tensor = value.type.tensor_type
        sizes = None
        if tensor.HasField("shape"):
            sizes = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
        found[value.name] = (tensor.elem_type or None, sizes)
    return found


def differences(ours, theirs, counts):
    """What both know of a model's values and is not equal; `counts` gains who knows what."""
    for name, (elem_type, sizes) in theirs.items():
        own_type, own_sizes = ours.get(name, (None, None))
        if None not in (elem_type, own_type) and elem_type != own_type:
            yield f"'{name}': type {own_type}, onnx {elem_type}"
        if own_sizes is None or sizes is None:
            who = "neither knows" if own_sizes is sizes else "only onnx knows" if own_sizes is None else "only qtx knows"
            counts["ranks that " + who] += 1
            continue
        pairs = list(zip(own_sizes, sizes))
        if len(own_sizes) != len(sizes) or any(None not in pair and pair[0] != pair[1] for pair in pairs):
            yield f"'{name}': {own_sizes}, onnx {sizes}"
        for own, other in pairs:
            key = ("both know", "only qtx knows", "only onnx knows", "neither knows")[2 * (own is None) + (other is None)]
            counts["sizes that " + key] += 1


def main():
    program = sys.argv[1]
    models = files(sys.argv[2]) if len(sys.argv) > 2 else node_tests()
    counts = collections.Counter()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "out").mkdir()
        theirs = {}
        for name, model in models.items():
            model = bare(model)
            try:
                theirs[name] = types(onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True))
            except Exception:  # inference raises several kinds
                counts["models that onnx refuses"] += 1
                continue
            onnx.save(model, folder / f"{name}.onnx")
        inputs = [str(folder / f"{name}.onnx") for name in theirs]
        subprocess.run([program, "convert", "--infer", *inputs, "-o", f"{folder}/out/"], capture_output=True)
        for name in theirs:
            path = folder / "out" / f"{name}.onnx"
            if not path.exists():
                counts["models that only qtx refuses"] += 1
                continue
            counts["models"] += 1
            for difference in differences(types(onnx.load(path, load_external_data=False)), theirs[name], counts):
                print(f"{name}: {difference}")
                wrong += 1
    print("\n".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 1 if wrong or not counts["models"] else 0


if __name__ == "__main__":
    sys.exit(main())
