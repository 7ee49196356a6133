#!/usr/bin/env python3
"""sizes.py QTX [--check | --write]: the networks of the suite with quantized types and in QDQ form.

QTX is the program `qtx`. Nodes, initializers and bytes are counted with the installed onnx. "bytes, less weights" leaves out
the initializers that both forms have: the weights and biases themselves. Status 77: no onnx.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import onnx
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import tables

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent.parent / "conformance/cases/models"
TEXT = tables.Text(HERE / "motivation.md", "sizes")
PARAMETERS = ("/scale", "/zero_point")


def qtx(program, *arguments):
    run = subprocess.run([program, *arguments], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"qtx {' '.join(map(str, arguments))}: {run.stderr.strip()}")


def count(path):
    model = onnx.load(path)
    weights = sum(t.ByteSize() for t in model.graph.initializer if not t.name.endswith(PARAMETERS))
    return len(model.graph.node), len(model.graph.initializer), path.stat().st_size, path.stat().st_size - weights


def rows(program, folder):
    for network in sorted(MODELS.glob("*/*.tflite")):
        name = network.parent.name
        typed, qdq, plain = (folder / f"{name}_{kind}.onnx" for kind in ("typed", "qdq", "plain"))
        qtx(program, "convert", network, "-o", typed)
        qtx(program, "lower", typed, "-o", qdq)
        model = onnx.load(qdq)
        forget(model)
        onnx.save(model, plain)
        yield [name, *(f"{a:,} / {b:,}" for a, b in zip(count(typed), count(plain)))]


def forget(model):
    """Leaves out what stock ONNX does not know: annotations, origins, and the metadata about them."""
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        value.type.tensor_type.DiscardUnknownFields()
    for node in model.graph.node:
        node.DiscardUnknownFields()
    kept = [p for p in model.metadata_props if not p.key.startswith("qtx.")]
    del model.metadata_props[:]
    model.metadata_props.extend(kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qtx")
    mode = parser.add_mutually_exclusive_group()
    for name in ("check", "write"):
        mode.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = tables.table(["network", "nodes", "initializers", "bytes", "bytes, less weights"],
                             rows(options.qtx, pathlib.Path(folder)))
    if options.check:
        sys.exit(0 if TEXT.check("the suite", table) else 1)
    TEXT.write("the suite", table) if options.write else print(table)


if __name__ == "__main__":
    main()
