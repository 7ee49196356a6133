#!/usr/bin/env python3
"""Holds each JSON output of qtx to the schema that `qtx schema` prints, and each schema to broken documents.

Usage: json_schema_test.py QTX SOURCE_FOLDER
"""
import copy
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import jsonschema
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

# Places are those of a document's members: SCHEMA.KEY.KEY; elements of an array share theirs.

# Objects whose keys are data: each of these is "*" in a place.
MAPS = {"calibrate.skipped_by_reason", "suite_coverage.cases_by_operator", "suite_coverage.cases_by_operator.*",
        "spec_coverage.formulas", "fuzz.operators", "fuzz.findings.operators", "validate.backends.cases.differences.histogram"}

# Keys that an object of that place may lack.
OPTIONAL = {
    "convert": "ledger files files.error",
    "run": "counters",
    **{f"compare.backends.layers.{distance}": "sqnr_db max_error max_error_lsb greatest cosine" for distance in ("alone", "in_model")},
    "inspect": "judged",
    "inspect.nodes": "origin",
    "inspect.inferred": "shape",
    **{f"inspect.{values}": "shape statistics statistics.histogram requantization scale_levels base_levels must_understand "
       "scale_tensor offset_tensor quant_min quant_max storage_type real_type code_book code_book_tensor encoding encoding.field.level "
       "encoding.field.bias scale_levels.block_shape base_levels.block_shape" for values in ("inputs", "outputs", "values")},
    "quantization_report.layers": "weights bias",
    **{f"quantization_report.{value}": "shape histogram" for value in ("layers.output", "layers.weights", "layers.bias", "outputs")},
    "validate": "merged min_coverage",
    "validate.backends.cases": "text within_bound evidence unstable unmodelled session session.threads session.at_once error_output",
    "validate.backends": "protocol_faults",
    **{f"validate.backends.cases.evidence.{values}": "quantization quantization.offset quantization.axis "
       "quantization.block_shape quantization.scheme quantization.quant_min quantization.quant_max "
       "quantization.requantization" for values in ("inputs", "expected", "got")},
    "power": "onnx_node_tests",
    "fuzz.findings": "shrunk",
    "identify.operators": "place",
    "bench.rows": "conforms " + " ".join(f"best_{peer}peer ratio_to_best_{peer}peer_low ratio_to_best_{peer}peer_high"
                                         for peer in ("", "exact_", "conforming_", "float_")),
    "review": "overlay",
    "review.backends": "error",
}
OPTIONAL = {f"{place}.{key}" for place, keys in OPTIONAL.items() for key in keys.split()}

# Properties that no command here writes: what a backend does at random or only when asked again, and what only a proposal, a peer
# or an arithmetic without clauses for an operator has.
UNSEEN = {f"validate.backends.cases.{key}" for key in ("within_bound", "unstable", "unmodelled", "session")}
UNSEEN |= {f"validate.backends.cases.session.{key}" for key in ("run", "handle", "threads", "draw", "at_once")}
UNSEEN |= {"validate.min_coverage", "bench.interrupted"}
# The document of a program that is built on request only: qtx-mutants.
UNWRITTEN = {"qtx/power_mutants/1"}

# An answer of the text to another model than that of the case.
TEXT_ANSWERS = "0000000000000000 mine/right\n  0000000000000000 exact\n"

# A case that passes, one that no backend passes, and a product without terms.
CASES = """
id: mine/right
spec: add.S2
why: one and one
op: {type: Add}
inputs: {a: {type: int8q, scale: [1.0], data: [1]}, b: {type: int8q, scale: [1.0], data: [1]}}
expect: {y: {type: int8q, scale: [1.0], offset: [1], data: [3]}}
level: core
tags: [one]
---
id: mine/wrong
spec: add.S2
why: one and one, not seven
op: {type: Add}
inputs:
  a: {type: int8q, scale: [1.0, 2.0], offset: [3, 4], axis: [0], block_shape: [1], shape: [2], data: [1, 1]}
  b: {type: int8q, scale: [1.0], data: [1]}
expect:
  y: {type: int8q, scale: [1.0], quant_min: -9, quant_max: 9, scheme: symmetric, shape: [2], data: [7, 3],
      requantization: {multiplier: [1073741824], shift: [0]}}
"""
WRONG_FORMULA = """# Wrong

## Semantics

**relu.S1** Not the rule.

```formula
y = max(x, 1)
---
spec: relu.S1
op: {type: Relu}
inputs: {x: {type: int8q, scale: [1.0]}}
expect: {y: {type: int8q, scale: [1.0]}}
```
"""


def varint(number):
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def field(number, value):
    """A field of a protobuf message: an unsigned integer, or bytes and text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    payload = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def typed(name, elem_type, dims, quantization, statistics=b""):
    """A value of the extended form (proto/qtx/quantization.proto)."""
    value = helper.make_tensor_value_info(name, elem_type, dims)
    value.type.tensor_type.MergeFromString(field(1001, quantization) + (field(1002, statistics) if statistics else b""))
    return value


def every_field():
    """A quantization with each field that there is, which no single model would have, and statistics beyond it."""
    level = field(1, floats(0.5)) + field(3, varint(2))
    requantization = field(1, varint(2 * 5)) + field(2, varint(2 * 3))
    span = b"".join(field(number, 1) for number in (1, 2, 3, 4)) + field(5, varint(2)) + field(6, varint(4))
    records = field(1, 2) + field(2, varint(1)) + field(3, field(1, 1) + field(2, 1) + field(3, 3) + field(4, 2) + field(5, span))
    return b"".join([
        field(1, floats(1e30)), field(2, varint(2)), field(3, varint(0)), field(4, varint(1)), field(5, "s"), field(6, "o"),
        field(7, 3), field(8, 4), field(9, 2), field(10, requantization), field(12, level), field(13, field(2, "t")),
        field(14, varint(12)), field(15, floats(0.5)), field(16, "b"), field(17, 10), field(18, records)])


def write_models(folder):
    """A float network with samples, models with what is rare, cases, and a formula that does not hold."""
    x, y, k = (helper.make_tensor_value_info(*info) for info in
               (("x", TensorProto.FLOAT, [1, 4]), ("y", TensorProto.FLOAT, [1, 4]), ("k", TensorProto.INT64, [2])))
    weights = numpy.arange(16, dtype=numpy.float32).reshape(4, 4) / 8 - 1
    constants = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(weights[0], "c")]
    gemm = helper.make_node("Gemm", ["x", "w", "c"], ["h"], name="gemm")
    sigmoid = helper.make_node("Sigmoid", ["h"], ["y"], name="sigmoid")

    def save(name, nodes, inputs, outputs, constants=()):
        graph = helper.make_graph(nodes, "net", inputs, outputs, constants)
        domains = [("", 17), *([("qtx", 1)] if name.startswith("q_") else [])]
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*domain) for domain in domains])
        model.ir_version = 8
        onnx.save(model, folder / name)

    save("net.onnx", [gemm, sigmoid], [x], [y], constants)
    save("power.onnx", [helper.make_node("Pow", ["x", "x"], ["y"])], [x], [y])  # float32 of x86 has none
    save("shape.onnx", [gemm, sigmoid, helper.make_node("Shape", ["y"], ["k"])], [x], [y, k], constants)
    huge = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2**62, "symbol", None])
    save("huge.onnx", [helper.make_node("Relu", ["x"], ["y"])], [huge], [y])
    save("broken.onnx", [helper.make_node("Relu", ["nowhere"], ["y"])], [x], [y])
    one = field(1, floats(1))
    save("q_tie.onnx", [helper.make_node("Add", ["a", "b"], ["y"])], [typed("a", 1003, [64], one), typed("b", 1003, [64], one)],
         [typed("y", 1003, [64], field(1, floats(4)) + field(2, varint(2 * 3)))])
    save("q_every.onnx", [helper.make_node("Relu", ["x"], ["y"])], [typed("x", 1003, [1], every_field())],
         [typed("y", 1003, [1], one)])
    save("q_far.onnx", [helper.make_node("Relu", ["x"], ["y"])],
         [typed("x", 1003, [1], field(1, floats(1e9)), field(1, struct.pack("<d", -1)) + field(2, struct.pack("<d", 1)))],
         [typed("y", 1003, [1], one)])
    (folder / "models").mkdir()
    (folder / "q_tie.onnx").rename(folder / "models/q_tie.onnx")
    (folder / "models/unread.onnx").write_bytes(b"no model")
    (folder / "samples").mkdir()
    for i in range(3):
        numpy.save(folder / f"samples/{i}.npy", numpy.arange(4, dtype=numpy.float32).reshape(1, 4) - i)
    (folder / "samples/3.npy").write_bytes(b"no array")
    for suite, cases in (("cases", CASES), ("strange", CASES.replace("add.S2", "add.S99"))):
        (folder / suite).mkdir()
        (folder / suite / "mine.yaml").write_text(cases)
        (folder / suite / "text_answers.txt").write_text(TEXT_ANSWERS)
    (folder / "expected.txt").write_text("mine/right  # passes\nmine/absent  # is not there\n")
    (folder / "wrong.md").write_text(WRONG_FORMULA)


def commands(qtx, source):
    """(schema, words, exit status); a word ">FILE" is the document's file, else it is on stdout."""
    cases = source / "conformance/cases"
    server = qtx.parent / "qtx-backend-faulty"
    validate = ["validate", "--suite", "cases", "--json"]
    return [
        ("version", ["--version", "--json"], 0),
        ("check", ["check", "net.onnx", "--json", ">document.json"], 0),
        ("check", ["check", "broken.onnx", "net.onnx", "--json", "-"], 1),
        ("inspect", ["inspect", str(cases / "models/aww/model.onnx"), "--findings", "--json", "-"], 0),
        ("inspect", ["inspect", "huge.onnx", "--json", ">document.json"], 0),  # sizes that readers of JSON round
        ("inspect", ["inspect", "q_every.onnx", "--json", "-"], 0),
        ("inspect", ["inspect", "q_far.onnx", "--findings", "--json", "-"], 0),
        ("calibrate", ["calibrate", "shape.onnx", "--data", "samples/0.npy", "-o", "shape.measured.onnx", "--json", ">document.json"], 0),
        ("calibrate", ["calibrate", "net.onnx", "--data", "samples", "--on-error", "skip", "-o", "measured.onnx", "--json", "-"], 0),
        ("calibrate", ["calibrate", "net.onnx", "--data", "samples/0.npy", "--shard", "1/2", "-o", "shard.onnx", "--json", "-"], 0),
        ("calibrate_merge", ["calibrate", "--merge", "shard.onnx", "-o", "merged.onnx", "--json", ">document.json"], 0),
        ("inspect", ["inspect", "measured.onnx", "--json", "-"], 0),
        ("quantize", ["quantize", "measured.onnx", "-o", "net8.onnx", "--json", ">document.json"], 0),
        ("quantization_report", ["quantize", "measured.onnx", "-o", "net8.onnx", "--data", "samples/0.npy", "--report", ">out.json"], 0),
        ("inspect", ["inspect", "net8.onnx", "--findings", "--json", "-"], 0),
        ("convert", ["lower", "net8.onnx", "-o", "qdq.onnx", "--json", ">document.json"], 0),
        ("inspect", ["inspect", "qdq.onnx", "--json", "-"], 0),
        ("convert", ["lift", "qdq.onnx", "-o", "lifted.onnx", "--json", ">document.json"], 0),
        ("convert", ["convert", "qdq.onnx", "broken.onnx", "cases/mine.yaml", "-o", "converted/", "--json", "-"], 3),
        ("diff", ["diff", "net8.onnx", "net8.onnx", "--json", ">document.json"], 0),
        ("diff", ["diff", "net8.onnx", "net.onnx", "--json", "-"], 1),
        ("run", ["run", "net8.onnx", "--input", "samples/0.npy", "--output-dir", "out", "--counters", "--json", ">document.json"], 0),
        ("run", ["run", "net8.onnx", "--input", "samples/0.npy", "--output-dir", "out", "--backend", "x86", "--json", "-"], 0),
        ("run", ["run", "net8.onnx", "--input", "samples/0.npy", "--output-dir", "out", "--arithmetic", "tflite-double", "--json", "-"], 0),
        ("run", ["run", "net.onnx", "--input", "samples/0.npy", "--output-dir", "out", "--arithmetic", "tflite", "--json", "-"], 0),  # floats
        ("compare", ["compare", "net8.onnx", "--input", "samples/0.npy", "--arithmetic", "float32", "--json", ">document.json"], 0),
        ("compare", ["compare", "net8.onnx", "--input", "samples/0.npy", "--backend", "faulty:relu_at_stored_zero", "--json", "-"], 0),
        ("compare", ["compare", "power.onnx", "--input", "samples/0.npy", "--backend", "x86", "--arithmetic", "float32", "--json", "-"], 0),
        ("validate", [*validate, ">out.json", "--backend", "reference"], 1),
        ("validate", [*validate, "-", "--backend", "x86", "--filter", "*right"], 0),
        ("validate", [*validate, ">1.json", "--backend", "reference", "--shard=1/2"], 0),
        ("validate", [*validate, ">2.json", "--backend", "reference", "--shard=2/2"], 1),
        ("validate", ["report", "merge", "1.json", "2.json", "--json", ">merged.json"], 1),
        ("validate", [*validate, "-", "--backend", "reference", "--expected-failures", "expected.txt", "--strict-expectations"], 1),
        ("validate", [*validate, "-", "--backend", "cmd:/bin/false", "--backend", f"cmd:{server} none"], 1),
        ("validate", ["validate", "--suite", str(cases / "ops/mat_mul"), "--filter", "*/empty_sum", "--backend",
                      f"cmd:sh -c '{server} crash_on_empty_sum; echo gone >&2'", "--json", "-"], 1),
        ("validate", ["validate", "--suite", str(cases / "ops/quantize_linear"), "--backend", "faulty:quantize_half_away", "--json", "-"], 1),
        ("suite_coverage", ["validate", "--coverage", "--suite", "cases", "--json", "-"], 1),
        ("identify", ["identify", "--backend", "x86", "--suite", str(cases / "ops/add"), "--json", ">document.json"], 0),
        ("identify", ["identify", "--backend", "faulty:quantize_half_away", "--suite", str(cases / "ops/quantize_linear"), "--json", "-"], 1),
        ("shrink", ["shrink", "--backend", "faulty:quantize_half_away", "--suite", str(cases / "ops/quantize_linear"), "--case",
                    "quantize_linear/ties_int8", "-o", "shrunk", "--json", ">document.json"], 0),
        ("fuzz", ["fuzz", "--backend", "faulty:relu_at_stored_zero", "--operators", "Relu", "--cases", "20", "-o", "fuzzed",
                  "--json", "-"], 1),
        ("power", ["power", "--suite", "cases", "--filter", "quantize_half_away", "--json", ">out.json"], 1),
        ("bench", ["bench", "--backend", "x86", "--backend", "reference", "--filter", "gemm/64x64x64", "--types", "u8s8,fp32",
                   "--threads", "1", "--seconds", "0.0001", "--json", ">out.json"], 0),
        ("bench", ["bench", "--backend", "x86", "--unchecked", "--models", "models", "--filter", "net/*read", "--filter", "gemm/64x64x64",
                   "--types", "u8s8,file", "--threads", "2", "--backend", "reference", "--seconds", "0.0001", "--json", "-"], 0),
        ("spec_run", ["spec", "run", str(source / "spec/ops/relu.md"), "--json", "-"], 0),
        ("spec_run", ["spec", "run", "cases/mine.yaml", "--json", ">document.json"], 1),
        ("spec_run", ["spec", "run", "wrong.md", "--json", "-"], 1),
        ("spec_coverage", ["spec", "coverage", "--suite", "strange", "--json", "-"], 1),
        ("review", ["review", "0003", "--suite", str(cases / "ops/add"), "--backend", "x86", "--backend", "cmd:/bin/false", "--models", "models",
                    "--json", "-"], 1),
        ("review", ["review", "0005", "--suite", str(cases / "ops/add"), "--backend", "x86", "--json", ">document.json"], 0),
    ]


def refuse(token):
    raise ValueError(f"{token} is no JSON")


def identifier(name):
    return f"qtx/{name}/{2 if name == 'validate' else 1}"


def document(name, words, status, qtx, folder):
    """The document that the command writes."""
    path = folder / next((word[1:] for word in words if word.startswith(">")), "none")
    path.unlink(missing_ok=True)
    words = [word.removeprefix(">") for word in words]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    ran = subprocess.run([qtx, *words], cwd=folder, env=environment, capture_output=True, timeout=120)
    assert ran.returncode == status, f"{' '.join(words)}: status {ran.returncode}, expected {status}\n{ran.stderr.decode()}"
    text = path.read_bytes() if path.name != "none" else ran.stdout
    found = json.loads(text.decode("utf-8"), parse_constant=refuse)
    assert list(found)[:2] == ["schema", "provenance"], list(found)
    assert found["schema"] == identifier(name), found["schema"]
    assert found["provenance"]["date"] == "2023-11-14T22:13:20Z", found["provenance"]["date"]
    given = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    assert found["provenance"]["command"] == given, found["provenance"]["command"]
    return found


def is_map(place):
    return place in MAPS or place.endswith(".libraries")


def places(value, place):
    """(place, parent, key) of each member of each object, outer first."""
    if isinstance(value, list):
        for element in value:
            yield from places(element, place)
    elif isinstance(value, dict):
        for key, member in value.items():
            inner = f"{place}.{'*' if is_map(place) else key}"
            yield inner, value, key
            yield from places(member, inner)


def reduced(value):
    """Without array elements that have no keys of their own."""
    if isinstance(value, dict):
        return {key: reduced(member) for key, member in value.items()}
    if not isinstance(value, list):
        return value
    kept, seen = [], set()
    for element in map(reduced, value):
        keys = {place for place, _, _ in places(element, "")} or {type(element).__name__}
        if not keys <= seen:
            kept.append(element)
            seen |= keys
    return kept


def broken(name, found, done):
    """(what, broken document, whether it must be refused) for each place that is not in `done`."""
    whole = copy.deepcopy(found)
    for place, parent, key in list(places(whole, name)):
        if place in done:
            continue
        done.add(place)
        optional = place.endswith("*") or place in OPTIONAL
        value = parent.pop(key)
        yield "without " + place, whole, not optional
        parent[key] = "wrong" if isinstance(value, (dict, list)) else {"wrong": 1}
        yield "another type of " + place, whole, True
        parent[key] = value
        if isinstance(value, dict) and not is_map(place):
            value["surprise"] = 1
            yield "an unknown key in " + place, whole, True
            del value["surprise"]


def declared(schema, node, place):
    """(property, place) of each that the schema has below `node`; a definition's has several places."""
    if "$ref" in node:
        yield from declared(schema, schema["$defs"][node["$ref"].removeprefix("#/$defs/")], place)
    for part in [*node.get("allOf", ()), *([node["items"]] if "items" in node else [])]:
        yield from declared(schema, part, place)
    for key, member in node.get("properties", {}).items():
        yield id(member), f"{place}.{key}"
        yield from declared(schema, member, f"{place}.{key}")


def main():
    qtx, source = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    faults = []
    documents = {}
    with tempfile.TemporaryDirectory(prefix="qtx") as temporary:
        folder = pathlib.Path(temporary)
        write_models(folder)
        for name, words, status in commands(qtx, source):
            try:
                documents.setdefault(name, []).append(document(name, words, status, qtx, folder))
            except (AssertionError, ValueError) as fault:
                faults.append(str(fault))
    listed = subprocess.run([qtx, "schema"], capture_output=True, check=True, text=True).stdout.split()
    if set(listed) != UNWRITTEN | set(map(identifier, documents)):
        faults.append(f"schemas without a document, or documents without: {set(listed) ^ set(map(identifier, documents))}")
    refused = must = tried = 0
    for name, found in documents.items():
        schema = json.loads(subprocess.run([qtx, "schema", name], capture_output=True, check=True).stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        done = set()
        for one in found:
            error = jsonschema.exceptions.best_match(validator.iter_errors(one))
            if error is not None:
                faults.append(f"{' '.join(one['provenance']['command'])}: {error.json_path}: {error.message[:200]}")
                continue
            for what, change, required in broken(name, reduced(one), done):
                valid = validator.is_valid(change)
                tried, must, refused = tried + 1, must + required, refused + (not valid)
                if valid and required:
                    faults.append(f"accepted, but must not be: {what}")
        by_property = {}
        for identity, place in declared(schema, schema, name):
            by_property.setdefault(identity, set()).add(place)
        faults += [f"in no document: {min(where)}" for where in by_property.values() if not where & (done | UNSEEN)]
    print("\n".join(faults), file=sys.stderr)
    count = sum(map(len, documents.values()))
    print(f"{count} documents of {len(documents)} schemas; {refused} of {tried} broken ones refused ({must} must be); "
          f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
