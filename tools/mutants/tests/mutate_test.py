#!/usr/bin/python3
"""The mutants of sample.cc are those listed here, written down by hand from the rules; their copy compiles; another seed
chooses others; entries of equivalent.txt that match nothing are found. Skipped without python3-clang-14."""

import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
try:
    import mutate
    import equivalent
    import rules
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SAMPLE = str(HERE / "sample.cc")
ARGUMENTS = ["-std=c++20"]
CLAMP = "std::clamp<std::int64_t>"
NARROW = "static_cast<std::int64_t>(static_cast<std::int32_t>({}))"
EXPECTED = {
    (15, "constant", "0", "1"), (15, "constant", "0", "-1"),
    (16, "condition", "w.channel < offset", "!(w.channel < offset)"),
    (16, "relation", "w.channel < offset", "w.channel <= offset"),
    (16, "variable", "w.channel", "w.group"), (16, "variable", "offset", "sum"),
    (16, "statement", "return kTaps", ""),
    (17, "statement", "sum += w.group", ""), (17, "arithmetic", "sum += w.group", "sum -= w.group"),
    (17, "width", "sum += w.group", "sum = " + NARROW.format("sum + (w.group)")),
    (17, "variable", "sum", "offset"), (17, "variable", "w.group", "w.channel"),
    (18, "saturation", f"{CLAMP}(sum - offset, -128, 127)", "sum - offset"),
    (18, "order", f"{CLAMP}(sum - offset, -128, 127)", f"{CLAMP}(-128, sum - offset, 127)"),
    (18, "order", f"{CLAMP}(sum - offset, -128, 127)", f"{CLAMP}(sum - offset, 127, -128)"),
    (18, "arithmetic", "sum - offset", "sum + offset"), (18, "term", "sum - offset", "sum"),
    (18, "width", "sum - offset", NARROW.format("sum - offset")),
    (18, "variable", "sum", "offset"), (18, "variable", "offset", "sum"),
    (18, "negation", "-128", "128"),
    (18, "constant", "128", "129"), (18, "constant", "128", "127"),
    (18, "constant", "127", "128"), (18, "constant", "127", "126"),
    (29, "arithmetic", "x.value + 0.0", "x.value - 0.0"), (29, "term", "x.value + 0.0", "x.value"),
    (29, "variable", "x.value", "x.error"), (29, "constant", "0.0", "(0.0 + 1)"),
}


class MutateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        mutate.Config.set_library_file("libclang-14.so.1")
        cls.text = mutate.read(SAMPLE)
        cls.found = rules.candidates(mutate.parse(SAMPLE, ARGUMENTS, record=True), {SAMPLE: cls.text}, set())

    def test_rules(self):
        rows = {(mutate.place(c, self.text)[0], c.rule, c.original, c.mutated) for c in self.found}
        self.assertEqual(rows, EXPECTED)

    def test_copy_compiles(self):
        copy = mutate.Copy(self.text, list(enumerate(self.found, 1)))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "copy.cc"
            path.write_text(copy.text)
            unit = mutate.parse(str(path), [*ARGUMENTS, "-include", str(mutate.SWITCH)])
            self.assertEqual([d.spelling for d in unit.diagnostics if d.severity >= 3], [])

    def test_each_alternative_stands_beside_what_it_replaces(self):
        removed, changed = ([c for c in self.found if c.original == "sum += w.group" and c.rule == rule][0]
                            for rule in ("statement", "arithmetic"))
        copy = mutate.Copy(self.text, [(1, removed), (2, changed)])
        self.assertIn("\n  if (qtx_mutant(1)) {} else (qtx_mutant(2) ? (sum -= w.group) : (sum += w.group));\n", copy.text)

    def test_an_inverted_condition_keeps_its_type(self):
        text = "bool f(const std::optional<int>& x) { return !x; }"
        at = text.index("!x")
        copy = mutate.Copy(text, [(3, rules.Candidate("f.cc", at, at + 2, "negation", "!x", "x"))])
        self.assertIn("return (qtx_mutant(3) != static_cast<bool>(!x));", copy.text)

    def test_a_fault_of_the_compiler_blames_the_mutant_around_it(self):
        copy = mutate.Copy(self.text, [(7, next(c for c in self.found if c.rule == "term"))])
        self.assertEqual(copy.blamed(copy.text.index("qtx_mutant(7)")), [7])

    def test_a_seed_chooses(self):
        first, again, other = (mutate.choose(self.found, {SAMPLE: self.text}, seed, 8) for seed in ("a", "a", "b"))
        self.assertEqual(first, again)
        self.assertNotEqual(set(first), set(other))
        self.assertEqual(len({c.rule for c in first}), 8)  # each rule in turn

    def test_equivalent_entries(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "equivalent.txt"
            path.write_text("# why\na.cc\nif ([[a < b]]) {\na < b -> a <= b\nproof: a is never b\n\n"
                            "a.cc\nif ([[c]]) {\nc -> !(c)\nproof: none\n")
            table = [{"file": "a.cc", "place": "if ([[a < b]]) {", "original": "a < b", "mutated": "a <= b"}]
            proofs, stale = equivalent.match(path, table, {"a.cc"})
            self.assertEqual(equivalent.match(path, table, {"b.cc"}), ({}, []))  # of files that are not mutated
        self.assertEqual(proofs["a.cc", "if ([[a < b]]) {", "a < b -> a <= b"], "a is never b")
        self.assertEqual(stale, ["a.cc | if ([[c]]) { | c -> !(c)"])

    def test_a_tree_may_be_one_source(self):
        self.assertEqual(mutate.sources_of(mutate.ROOT / SAMPLE), [str(mutate.ROOT / SAMPLE)])

    def test_a_place_tells_equal_texts_of_a_line_apart(self):
        ends = {mutate.marked(c, self.text) for c in self.found if c.original == "127" and c.rule == "constant"}
        self.assertEqual(ends, {"return std::clamp<std::int64_t>(sum - offset, -128, [[127]]);"})


if __name__ == "__main__":
    unittest.main()
