#!/usr/bin/env python3
"""sizes.py QTX [--check | --write]: the networks of the suite with quantized types and in QDQ form.

QTX is the program `qtx`. Both forms are reduced to what computes: the first to what quantized_types.diff has, in upstream's
field numbers; QDQ to stock ONNX without value_info. Names of values become v0, v1, ... and doc strings, names of nodes and
metadata go, since TFLite's names alone would outweigh what is compared. Status 77: no onnx of the base, protoc or patch.
"""
import argparse
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import onnx
    import qtx
    import tables
    import upstream
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

MODELS = upstream.HERE.parent.parent / "conformance/cases/models"
TEXT = tables.Text(upstream.HERE / "motivation.md", "sizes")
PARAMETERS = ("/scale", "/zero_point")


def reduce(model):
    """Leaves what computes, with short names."""
    model.DiscardUnknownFields()
    for field in ("metadata_props", "doc_string", "producer_name", "producer_version"):
        model.ClearField(field)
    names = {}
    short = lambda name: names.setdefault(name, f"v{len(names)}") if name else name
    graph = model.graph
    for item in [*graph.input, *graph.output, *graph.value_info, *graph.initializer]:
        item.name = short(item.name)
        item.ClearField("doc_string")
    for node in graph.node:
        node.ClearField("name")
        node.ClearField("doc_string")
        for field in (node.input, node.output):
            field[:] = [short(name) for name in field]
    return model


def count(model, weights):
    return len(model.graph.node), len(model.graph.initializer), model.ByteSize(), model.ByteSize() - weights


def measure(network, program, classes, folder):
    ours, theirs = classes
    typed, lowered = folder / "typed.onnx", folder / "lowered.onnx"
    qtx.run(program, "convert", network, "-o", typed)
    qtx.run(program, "lower", typed, "-o", lowered)
    new = reduce(upstream.renumbered(ours.FromString(typed.read_bytes()), theirs))
    stock = onnx.load(lowered)
    parameters = sum(t.name.endswith(PARAMETERS) for t in stock.graph.initializer)
    stock.graph.ClearField("value_info")
    old = reduce(stock)
    if len(old.graph.initializer) - parameters != len(new.graph.initializer):
        sys.exit(f"sizes: {network.parent.name}: the forms have not the same weights")
    raw = sum(len(t.raw_data) for t in new.graph.initializer)
    return [network.parent.name, *(f"{a:,} / {b:,}" for a, b in zip(count(new, raw), count(old, raw)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qtx")
    mode = parser.add_mutually_exclusive_group()
    for name in ("check", "write"):
        mode.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    if shutil.which("protoc") is None or shutil.which("patch") is None:
        print("skipped: protoc or patch not found")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        texts = upstream.patched(upstream.base(), folder)
        if texts is None:
            print("skipped: the diffs do not apply to the installed onnx")
            sys.exit(77)
        classes = [upstream.model_class(upstream.compiled(upstream.translate(text), folder, stem))
                   for text, stem in ((upstream.with_qtx_numbers(texts[1]), "ours"), (texts[0], "theirs"))]
        table = tables.table(["network", "nodes", "initializers", "bytes", "bytes less weights"],
                             [measure(network, options.qtx, classes, folder)
                              for network in sorted(MODELS.glob("*/*.tflite"))])
    if options.check:
        sys.exit(0 if TEXT.check("the suite", table) else 1)
    TEXT.write("the suite", table) if options.write else print(table)


if __name__ == "__main__":
    main()
