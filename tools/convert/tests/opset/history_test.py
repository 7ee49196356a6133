#!/usr/bin/env python3
"""history_test.py: the tables of src/opset/ say of each boundary what onnx's schemas say, and miss none.

Every entry of an operator since opset 8 that follows another must have a row of the class that the two schemas allow.
Status: 1 they disagree, 77 no onnx, or one older than that of the operators' table.
"""
import collections
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
HISTORY = (ROOT / "tools/convert/src/opset/history.cc").read_text()
FORMS = (ROOT / "tools/convert/src/opset/forms.cc").read_text()
MOVED = (ROOT / "tools/convert/src/opset/moved_inputs.cc").read_text()
VERSION = re.search(r"of onnx ([\w.]+)\. ", (ROOT / "proto/src/catalogue/onnx_operators.cc").read_text())[1]
NEWEST = int(re.search(r"kNewestOpset = (\d+)",
                       (ROOT / "proto/include/qtx/format/onnx_operators.h").read_text())[1])
OLDEST = 7


def parts(version):
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


try:
    import onnx
    from onnx.defs import OpSchema, get_all_schemas_with_history
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if parts(onnx.__version__) < parts(VERSION):
    print(f"skipped: onnx {onnx.__version__}, and the table is of {VERSION}")
    sys.exit(77)


def histories():
    found = collections.defaultdict(list)
    for schema in get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx") and schema.since_version <= NEWEST:
            found[schema.name].append(schema)
    return {name: sorted(entries, key=lambda entry: entry.since_version) for name, entries in found.items()}


SCHEMAS = histories()
PAIRS = {(name, new.since_version): (old, new) for name, entries in SCHEMAS.items()
         for old, new in zip(entries, entries[1:]) if new.since_version > OLDEST}
ROWS = {(name, int(since)): change for name, since, change in
        re.findall(r'\{"(\w+)", (\d+), k(Types|Text|Added|Axis|Named|Form)\}', HISTORY)}
VALUES = [(name, int(since), attribute, value, bool(gone)) for name, since, attribute, value, gone in
          re.findall(r'\{"(\w+)", (\d+), "(\w+)", "(\w+)"(, true)?\}', HISTORY)]
SUCCESSORS = {(old, int(since)): new for old, new, since in re.findall(r'\{"(\w+)", "(\w+)", (\d+)\}', HISTORY)}
FUNCTIONS = {(name, int(since)): (up, down) for name, since, up, down in
             re.findall(r'\{"(\w+)", (\d+), (\w+), (\w+)\}', FORMS)}
INPUTS = [(name, int(since), attribute, int(place)) for name, since, attribute, place in
          re.findall(r'\{"(\w+)", (\d+), "(\w+)", (\d)[,}]', MOVED)]


def attributes(schema):
    return {name: (attribute.type, attribute.required, attribute.default_value.SerializeToString())
            for name, attribute in schema.attributes.items()}


def parameters(each):
    return [(parameter.option, parameter.is_homogeneous) for parameter in each]


def form(schema):
    """All but names, types and words."""
    return (attributes(schema), parameters(schema.inputs), parameters(schema.outputs), schema.min_input, schema.min_output)


def types(schema):
    """Of each parameter the types that are allowed, and which parameters share one."""
    allowed = {each.type_param_str: sorted(each.allowed_type_strs) for each in schema.type_constraints}
    return [(each.type_str, allowed.get(each.type_str)) for each in [*schema.inputs, *schema.outputs]]


def words(schema):
    return " ".join([schema.doc or "", *(each.description for each in schema.attributes.values()),
                     *(each.description for each in [*schema.inputs, *schema.outputs])])


def only_adds(old, new):
    """A node of the old schema is one of the new schema; what came has a default or can be left out."""
    before, after = attributes(old), attributes(new)
    kept = all(name in after and after[name][::2] == before[name][::2] and after[name][1] <= before[name][1]
               for name in before)
    optional = all(not after[name][1] for name in after.keys() - before.keys())
    for mine, theirs in ((old.inputs, new.inputs), (old.outputs, new.outputs)):
        same = [one.option == other.option or other.option == OpSchema.FormalParameterOption.Optional
                for one, other in zip(mine, theirs)]
        rest = [each.option == OpSchema.FormalParameterOption.Optional for each in theirs[len(mine):]]
        optional = optional and len(theirs) >= len(mine) and all(same) and all(rest)
    return kept and optional and new.min_input <= old.min_input and new.min_output <= old.min_output


def takes_negative(schema):
    """Whether its axes may be negative; None where it has none, or says neither."""
    axis = schema.attributes.get("axis") or schema.attributes.get("axes")
    return re.search(r"[Nn]egative value|\[-r", axis.description) is not None if axis else None


class HistoryTest(unittest.TestCase):
    def test_every_boundary_has_a_row_and_every_row_a_boundary(self):
        self.assertGreater(len(PAIRS), 360)
        self.assertEqual(ROWS.keys(), PAIRS.keys())

    def test_rows_are_sorted(self):
        self.assertEqual(list(ROWS), sorted(ROWS))

    def test_a_row_of_types_changes_nothing_but_types(self):
        for key, change in ROWS.items():
            if change == "Types":
                old, new = PAIRS[key]
                self.assertEqual(form(old), form(new), key)
                self.assertNotEqual(types(old), types(new), key)

    def test_a_row_of_words_changes_nothing_else(self):
        for key, change in ROWS.items():
            if change == "Text":
                old, new = PAIRS[key]
                self.assertEqual((form(old), types(old)), (form(new), types(new)), key)

    def test_a_row_of_additions_only_adds(self):
        for key, change in ROWS.items():
            if change == "Added":
                self.assertTrue(only_adds(*PAIRS[key]), key)
                self.assertNotEqual(form(PAIRS[key][0]), form(PAIRS[key][1]), key)

    def test_a_row_of_an_axis_is_where_negative_ones_came(self):
        for key, change in ROWS.items():
            if change == "Axis":
                self.assertTrue(only_adds(*PAIRS[key]), key)
                self.assertEqual([takes_negative(schema) for schema in PAIRS[key]], [False, True], key)

    def test_no_other_row_is_where_negative_axes_came(self):
        for key, pair in PAIRS.items():
            if [takes_negative(schema) for schema in pair] == [False, True]:
                self.assertIn(ROWS[key], ("Axis", "Form"), key)

    def test_an_operator_that_ended_has_a_successor(self):
        ended = {key for key, (old, new) in PAIRS.items() if new.deprecated}
        self.assertEqual({key for key, change in ROWS.items() if change == "Named"}, ended)
        self.assertEqual(SUCCESSORS.keys(), ended)
        for (name, since), successor in SUCCESSORS.items():
            first, last = SCHEMAS[successor][0], PAIRS[name, since][0]
            self.assertEqual(first.since_version, since)
            self.assertEqual(form(first), form(last), name)

    def test_a_row_of_a_form_has_a_function_and_no_other(self):
        self.assertEqual({key for key, change in ROWS.items() if change == "Form"}, FUNCTIONS.keys())

    def test_attributes_that_became_inputs_are_listed(self):
        listed = collections.defaultdict(dict)
        for name, since, attribute, place in INPUTS:
            listed[name, since][attribute] = place
        for key, (old, new) in PAIRS.items():
            gone = attributes(old).keys() - attributes(new).keys()
            if new.deprecated or not gone or len(new.inputs) <= len(old.inputs):
                self.assertNotIn(key, listed)
                continue
            self.assertEqual(listed[key].keys(), gone, key)
            for attribute, place in listed[key].items():
                names = {attribute, {"value": "constant_value", "k": "K"}.get(attribute)}
                self.assertIn(new.inputs[place].name, names, key)

    def test_values_came_or_went_where_the_words_say_so(self):
        for name, since, attribute, value, gone in VALUES:
            old, new = PAIRS[name, since]
            first, last = (new, old) if gone else (old, new)
            self.assertNotRegex(words(first), rf"\b{value}\b", (name, value))
            self.assertRegex(words(last), rf"\b{value}\b", (name, value))
            self.assertIn(attribute, last.attributes)


if __name__ == "__main__":
    unittest.main()
