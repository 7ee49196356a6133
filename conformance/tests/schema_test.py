#!/usr/bin/env python3
"""Holds every case document to the JSON Schema, as an editor does, and the schema to broken documents.

Usage: schema_test.py SOURCE_FOLDER
"""
import copy
import pathlib
import re
import sys

import jsonschema
import yaml

CASE = """
id: add/tie
spec: add.S2
why: a tie goes to even
op: {type: Add, opset: 13, attributes: {axis: 1}}
inputs:
  a: {type: int8q, shape: [2], scale: [1.0], offset: [3], data: [2, -2]}
  b: {type: int8q, shape: [2], scale: {generate: {kind: extreme, seed: 3}}, generate: {kind: uniform, seed: 1}}
  c: none
expect: {y: {type: int8q, scale: 0x1p+1, data: [5, 1]}}
before: {error: quantization.C1}
arithmetics: [exact, float32]
tolerance: {ulp: 1}
either: [{data: [4, 1], because: add.S3}]
level: core
tags: [tie]
matrix: {k: [1, 2]}
"""

# What each changes in the document above, by path; None takes the key away.
BROKEN = [
    ("id", None),
    ("id", 5),
    ("spec", "addS2"),
    ("spec", "add.T2"),
    ("why", None),
    ("expect", None),
    ("expect", {}),
    ("before", {}),
    ("before", {"y": {"type": "int8q", "generate": {"kind": "zero"}}}),
    ("op", None),
    ("model", "net.onnx"),
    ("test_data", "folder"),
    ("surprise", 1),
    ("op.type", None),
    ("op.kind", "Add"),
    ("op.opset", "thirteen"),
    ("op.origin", "tflite"),
    ("op.attributes.axis", {"type": "int8"}),
    ("inputs.a.type", "int5q"),
    ("inputs.a.typo", 1),
    ("inputs.a.shape", [1.5]),
    ("inputs.a.scale", ["one"]),
    ("inputs.a.scale", [True]),
    ("inputs.a.scale", [[1.0]]),
    ("inputs.a.offset", [1.5]),
    ("inputs.a.scheme", "affine"),
    ("inputs.a.quant_min", "low"),
    ("inputs.a.requantization", {"multiplier": [1], "right_shift": [1]}),
    ("inputs.a.statistics", {"minimum": 1}),
    ("inputs.a.generate", {"kind": "uniform"}),
    ("inputs.a.file", "x.npy"),
    ("inputs.a.initializer", "yes"),
    ("inputs.b.generate.kind", "gaussian"),
    ("inputs.b.generate.kind", None),
    ("inputs.b.generate.seed", -1),
    ("inputs.b.scale.generate.kind", "normal"),
    ("strength", 4),
    ("exclude", {"K": [1]}),
    ("matrix", {"K": []}),
    ("inputs.b.scale.generate.count", 0),
    ("inputs.c", "absent"),
    ("expect.y.generate", {"kind": "zero"}),
    ("expect.error", "refused"),
    ("arithmetics", ["float64"]),
    ("arithmetics", []),
    ("tolerance", "loose"),
    ("tolerance", {"relative": 1e-3, "absolute": 1e-7}),
    ("tolerance", {"ulp": 1, "because": "mood"}),
    ("either", [{"data": [4, 1]}]),
    ("level", "extended"),
    ("tags", [""]),
    ("matrix", {}),
    ("matrix.k", []),
    ("matrix.k", 1),
]


def changed(document, path, value):
    document = copy.deepcopy(document)
    *parents, key = path.split(".")
    node = document
    for parent in parents:
        node = node[parent]
    if value is None:
        del node[key]
    else:
        node[key] = value
    return document


def text_of(path):
    """The file's text; a template's with every mark @KEY@ filled in, as `qtx spec new` does; that of a proposal's example
    with UINT4Q for the element types that its overlay adds."""
    text = path.read_text()
    for chapter in (path.parent.parent / "overlay/format").glob("*.md"):
        for name in re.findall(r"^# Element type `(\w+)`$", chapter.read_text(), re.M):
            text = re.sub(rf"\b{name.lower()}\b(?=[,}}])", "uint4q", text)
    if path.parent.name != "templates":
        return text
    text = text.replace("@ARITHMETICS@", "[exact]").replace("@EXAMPLE_INPUTS@", "x: {type: int8q, data: [3]}")
    return re.sub(r"@[A-Z_]+@", "word", text)


def documents(source):
    """(place, document) of every case file, of every example and template of one, and of every
    ```yaml block of the specification."""
    examples = [*(source / "spec/proposals").glob("*/examples/*.yaml"), *(source / "spec/templates").glob("*.yaml")]
    for path in [*sorted((source / "conformance/cases").rglob("*.yaml")), *sorted(examples)]:
        for i, document in enumerate(yaml.load_all(text_of(path), Loader=yaml.CSafeLoader)):
            if document is not None:
                yield f"{path.relative_to(source)} document {i + 1}", document
    for path in sorted((source / "spec").rglob("*.md")):
        for block in re.findall(r"^```yaml\n(.*?)^```$", text_of(path), re.M | re.S):
            for document in yaml.load_all(block, Loader=yaml.CSafeLoader):
                yield str(path.relative_to(source)), document


def main():
    source = pathlib.Path(sys.argv[1])
    schema = yaml.safe_load((source / "conformance/schema/case.schema.yaml").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    faults = 0
    checked = 0
    for place, document in documents(source):
        checked += 1
        error = jsonschema.exceptions.best_match(validator.iter_errors(document))
        if error is not None:
            faults += 1
            print(f"{place}: {error.json_path}: {error.message[:200]}", file=sys.stderr)
    sound = yaml.safe_load(CASE)
    if not validator.is_valid(sound):
        faults += 1
        print("the sound document is refused", file=sys.stderr)
    for path, value in BROKEN:
        if validator.is_valid(changed(sound, path, value)):
            faults += 1
            print(f"accepted, but must not be: {path} = {value}", file=sys.stderr)
    print(f"{checked} documents, {len(BROKEN)} broken ones, {faults} faults")
    return 1 if faults or checked < 500 else 0


if __name__ == "__main__":
    sys.exit(main())
