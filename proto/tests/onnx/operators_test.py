#!/usr/bin/env python3
"""operators_test.py: proto/src/catalogue/onnx_operators.cc is what tools/scripts/onnx_operators makes of onnx's schemas, and
says what they say. Status 77: no onnx, or one older than that of the table."""
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = (ROOT / "proto/src/catalogue/onnx_operators.cc").read_text()
HEADER = (ROOT / "proto/include/qtx/format/onnx_operators.h").read_text()
VERSION = re.search(r"of onnx ([\w.]+)\. ", TABLE)[1]


def parts(version):
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


try:
    import onnx
    from onnx import defs
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if parts(onnx.__version__) < parts(VERSION):
    print(f"skipped: onnx {onnx.__version__}, and the table is of {VERSION}")
    sys.exit(77)


def binary32(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def rows(array):
    """The initializers of an array of the table, each as a list of its fields."""
    body = re.search(rf"{array}\[\] = {{\n(.*?)\n}};", TABLE, re.DOTALL)[1]
    body = re.sub(r"//.*", "", body)
    if array in ("kOnnxSets", "kOnnxTypes"):
        return [int(number, 0) for number in re.findall(r"[(\[](\w+)[)\]]", body)]
    return [re.findall(r'\{\d+, \d+\}|"[^"]*"|[^\s,]+', row) for row in re.findall(r"\{((?:[^{}]|\{[^{}]*\})*)\}", body)]


class Entry:
    """A row of kOnnxOperators with what it points to."""
    SETS, TYPES = rows("kOnnxSets"), rows("kOnnxTypes")
    PARAMETERS, ATTRIBUTES = rows("kOnnxParameters"), rows("kOnnxAttributes")

    def __init__(self, fields):
        self.name, self.since, self.deprecated = fields[0].strip('"'), int(fields[1]), fields[2] == "true"
        self.counts = [float("inf") if count == "255" else int(count) for count in fields[3:7]]
        inputs, outputs, types, attributes = (
            slice(int(first), int(first) + int(count))
            for first, count in (field.strip("{}").split(",") for field in fields[7:]))
        self.types = [{code for code in range(32) if self.SETS[i] >> code & 1} for i in self.TYPES[types]]
        self.inputs, self.outputs = ([self.parameter(each) for each in self.PARAMETERS[part]] for part in (inputs, outputs))
        self.attributes = {each[0].strip('"'): (each[1], each[2:3] == ["true"], self.default(each))
                           for each in self.ATTRIBUTES[attributes]}

    @staticmethod
    def default(fields):
        """Of an attribute, a number where it is one; None where there is none."""
        if len(fields) < 4:
            return None
        text = fields[3].strip('"')
        if fields[1] == "AttributeType::kFloat":
            return binary32(float(text))
        return int(text) if fields[1] == "AttributeType::kInt" else text

    @staticmethod
    def parameter(fields):
        """Name, index of the constraint, presence, whether homogeneous."""
        presence = fields[2].removeprefix("kOnnx") if len(fields) > 2 else "Single"
        return fields[0].strip('"'), int(fields[1]), presence, fields[3:] != ["false"]


ENTRIES = {(entry.name, entry.since): entry for entry in map(Entry, rows("kOnnxOperators"))}


def in_force(name, opset):
    return ENTRIES[max(key for key in ENTRIES if key[0] == name and key[1] <= opset)]


class Operators(unittest.TestCase):
    maxDiff = 2000

    def test_the_script_makes_the_table(self):
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder) / "table.cc"
            subprocess.run([sys.executable, ROOT / "tools/scripts/onnx_operators", made], check=True)
            # A newer onnx without a change of a schema gives the same table.
            expected = TABLE.replace(f"of onnx {VERSION}.", f"of onnx {onnx.__version__}.")
            self.assertEqual(made.read_bytes(), expected.encode(), "tools/scripts/onnx_operators makes another table")

    def test_newest_opset(self):
        newest = int(re.search(r"kNewestOpset = (\d+);", HEADER)[1])
        self.assertEqual(newest, max(since for _, since in ENTRIES))
        self.assertEqual(newest, defs.onnx_opset_version())

    def test_order(self):
        self.assertEqual(list(ENTRIES), sorted(ENTRIES))
        self.assertEqual(len(ENTRIES), len(rows("kOnnxOperators")))

    def test_the_entry_in_force_is_the_schema_of_each_opset(self):
        for name in {name for name, _ in ENTRIES} | {schema.name for schema in defs.get_all_schemas()}:
            for opset in range(1, defs.onnx_opset_version() + 1):
                with self.subTest(name=name, opset=opset):
                    since = [since for other, since in ENTRIES if other == name and since <= opset]
                    try:
                        schema = defs.get_schema(name, opset, "")
                    except defs.SchemaError:
                        self.assertFalse(since)
                        continue
                    self.assertEqual(max(since), schema.since_version)
                    self.compare(in_force(name, opset), schema)

    def compare(self, entry, schema):
        self.assertEqual(entry.deprecated, schema.deprecated)
        limits = [float("inf") if count > 1000 else count for count in (schema.max_input, schema.max_output)]
        self.assertEqual(entry.counts, [schema.min_input, limits[0], schema.min_output, limits[1]])
        self.assertEqual(entry.attributes, {
            name: ("AttributeType::k" + "".join(word.capitalize() for word in attribute.type.name.split("_")),
                   attribute.required, self.default(attribute)) for name, attribute in schema.attributes.items()})
        ours, theirs = [*entry.inputs, *entry.outputs], [*schema.inputs, *schema.outputs]
        self.assertEqual((len(entry.inputs), len(ours)), (len(schema.inputs), len(theirs)))
        # Equal constraints are equal indices.
        indices = [each[1] for each in ours]
        names = [each.type_str for each in theirs]
        self.assertEqual([indices.index(i) for i in indices], [names.index(name) for name in names])
        for (name, index, presence, homogeneous), parameter in zip(ours, theirs):
            self.assertEqual(name, parameter.name)
            self.assertEqual(presence, parameter.option.name)
            self.assertEqual(homogeneous, parameter.is_homogeneous)
            tensors = all(text.startswith("tensor(") for text in parameter.types)
            self.assertEqual({f"tensor({onnx.TensorProto.DataType.Name(code).lower()})" for code in entry.types[index]},
                             parameter.types if tensors else set())

    @staticmethod
    def default(attribute):
        """As Entry.default."""
        proto = attribute.default_value
        if proto.type == onnx.AttributeProto.FLOAT:
            return proto.f
        if proto.type == onnx.AttributeProto.INT:
            return proto.i
        if proto.type == onnx.AttributeProto.STRING:
            return proto.s.decode()
        lists = {onnx.AttributeProto.INTS: proto.ints, onnx.AttributeProto.STRINGS: [each.decode() for each in proto.strings]}
        return "[" + ", ".join(map(str, lists[proto.type])) + "]" if proto.type in lists else None

    # Facts read in ONNX's documentation (Operators.md, Changelog.md).
    def test_clip_has_bounds_as_attributes_and_then_as_inputs(self):
        old, new = in_force("Clip", 10), in_force("Clip", 11)
        self.assertEqual(old.attributes, {"max": ("AttributeType::kFloat", False, 3.4028234663852886e38),
                                          "min": ("AttributeType::kFloat", False, -3.4028234663852886e38)})
        self.assertEqual([name for name, *_ in old.inputs], ["input"])
        self.assertEqual(new.attributes, {})
        self.assertEqual([(name, presence) for name, _, presence, _ in new.inputs],
                         [("input", "Single"), ("min", "Optional"), ("max", "Optional")])
        self.assertEqual(new.counts, [1, 3, 1, 1])

    def test_deprecated(self):
        self.assertEqual([key for key, entry in ENTRIES.items() if entry.deprecated],
                         [("GroupNormalization", 18), ("Scatter", 11), ("Upsample", 10)])

    def test_dropout_13(self):
        dropout = in_force("Dropout", 13)
        self.assertEqual(dropout.inputs, [("data", 0, "Single", True), ("ratio", 1, "Optional", True),
                                          ("training_mode", 2, "Optional", True)])
        self.assertEqual(dropout.outputs, [("output", 0, "Single", True), ("mask", 2, "Optional", True)])
        self.assertEqual(dropout.types, [{1, 10, 11, 16}, {1, 10, 11}, {9}])
        self.assertEqual(dropout.attributes, {"seed": ("AttributeType::kInt", False, None)})

    def test_one_hot_11(self):
        self.assertEqual(in_force("OneHot", 11).counts, [3, 3, 1, 1])
        self.assertIn(8, in_force("OneHot", 11).types[2])  # values of STRING

    def test_loop_13(self):
        loop = in_force("Loop", 13)
        self.assertEqual(loop.counts, [2, float("inf"), 1, float("inf")])
        self.assertEqual(loop.inputs[2][2:], ("Variadic", False))
        self.assertEqual(loop.types[loop.inputs[2][1]], set())  # sequences are allowed
        self.assertEqual(loop.attributes, {"body": ("AttributeType::kGraph", True, None)})

    def test_mod_and_is_nan(self):
        self.assertEqual(in_force("Mod", 13).attributes, {"fmod": ("AttributeType::kInt", False, 0)})
        self.assertEqual(in_force("IsNaN", 13).types, [{1, 10, 11, 16}, {9}])


if __name__ == "__main__":
    unittest.main()
