#!/usr/bin/env python3
"""What `fuzz` makes of libFuzzer's words and of its own ledger."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

FUZZ = pathlib.Path(__file__).resolve().parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ.parent))
loader = importlib.machinery.SourceFileLoader("fuzz", str(FUZZ))
fuzz = importlib.util.module_from_spec(importlib.util.spec_from_loader("fuzz", loader))
loader.exec_module(fuzz)

LOG = """#61\tINITED cov: 3991 ft: 9055 corp: 50/14509b exec/s: 0 rss: 46Mb
#62\tNEW    cov: 3991 ft: 9059 corp: 51/15201b lim: 4096 exec/s: 0 rss: 47Mb L: 692/2361 MS: 1 CustomCrossOver-
\tNEW_FUNC[1/1]: 0x55b44277bdb0 in qtx::overlay::TypeProto
#65\tNEW    cov: 4032 ft: 9110 corp: 52/15431b lim: 4096 exec/s: 0 rss: 47Mb L: 230/2361 MS: 5 ChangeBinInt-
#80\tREDUCE cov: 4032 ft: 9998 corp: 62/18Kb lim: 4096 exec/s: 0 rss: 49Mb L: 292/2361 MS: 1 CustomCrossOver-
#128\tpulse  cov: 4032 ft: 9998 corp: 62/18Kb lim: 4096 exec/s: 9 rss: 49Mb
"""


def line(target, executions, grew_at=0, seconds=10.0, processor=5.0):
    return {"slice": f"{target}{executions}{grew_at}{seconds}", "target": target, "commit": "c", "seconds": seconds, "processor": processor,
            "executions": executions, "findings": 0, "coverage": 7, "grew_at": grew_at}


class Growth(unittest.TestCase):
    def test_is_the_execution_that_reached_the_last_of_the_code(self):
        self.assertEqual(fuzz.growth(LOG), (4032, 65))

    def test_is_none_where_the_corpus_at_the_start_reached_all(self):
        self.assertEqual(fuzz.growth("\n".join(LOG.splitlines()[:2])), (3991, 0))
        self.assertEqual(fuzz.growth(""), (0, 0))

    def test_counts_executions_of_all_slices(self):
        # 500 + 300 of 1000 are no more than four fifths; one more is.
        self.assertFalse(fuzz.sums([line("a", 500, 10), line("a", 500, 300)])["a"].grows)
        self.assertTrue(fuzz.sums([line("a", 500, 10), line("a", 500, 301)])["a"].grows)
        self.assertFalse(fuzz.sums([line("a", 500, 10), line("a", 500)])["a"].grows)


class Ledger(unittest.TestCase):
    def test_takes_a_line_once_and_leaves_out_what_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "ledger.jsonl"
            path.write_text(2 * (json.dumps(line("a", 500)) + "\n") + '{"slice": 1\n[]\n')
            with contextlib.redirect_stderr(io.StringIO()) as said:
                lines = fuzz.read_ledger([path, path])
        self.assertIn("ledger.jsonl:3: found no line of a ledger", said.getvalue())
        self.assertEqual(fuzz.sums(lines)["a"].executions, 500)
        self.assertEqual(fuzz.sums(lines)["a"].rate, 100)


class Next(unittest.TestCase):
    TARGETS = [types.SimpleNamespace(name=name) for name in ("a", "b", "c")]

    def next(self, lines, goal=0):
        return fuzz.next_of(self.TARGETS, fuzz.sums(lines), goal).name

    def test_has_the_fewest_seconds(self):
        self.assertEqual(self.next([line("a", 1), line("b", 1, seconds=9.0)]), "c")
        self.assertEqual(self.next([line("a", 1), line("b", 1, seconds=9.0), line("c", 1)]), "b")

    def test_comes_to_its_goal_first(self):
        # 500 and 100 executions a second: 1 and 4 seconds more; c has reached it.
        lines = [line("a", 600, processor=6.0), line("b", 500, processor=1.0), line("c", 1000)]
        self.assertEqual(self.next(lines, 1000), "b")
        self.assertEqual(self.next(lines[:2], 1000), "c")
        self.assertEqual(self.next([line(name, 1000, seconds=seconds) for name, seconds in (("a", 2.0), ("b", 1.0), ("c", 3.0))], 1000), "b")


if __name__ == "__main__":
    unittest.main()
