"""What was compared: blocks of cases that are done, counts by operator and arithmetic, and the differences."""
import collections
import json
import os
import pathlib

BLOCK = 500


class Ledger:
    """Counts of one comparison, in a file where one is named, so that a later session goes on where this one ends."""

    def __init__(self, path, options):
        """`options` are those that a later session must repeat. Raises ValueError where the file has others."""
        self.path = pathlib.Path(path) if path else None
        self.options, self.done = options, {}
        self.results, self.runs = collections.Counter(), collections.Counter()
        self.executed = collections.defaultdict(collections.Counter)
        self.declined, self.differences = collections.Counter(), []
        if self.path and self.path.exists():
            self.load(json.loads(self.path.read_text()))

    def load(self, own):
        if own["options"] != self.options:
            raise ValueError("%s: found options %s, expected %s" % (self.path, own["options"], self.options))
        self.done = {seed: set(blocks) for seed, blocks in own["done"].items()}
        self.results.update(own["results"])
        self.declined.update(own["declined"])
        for operator, counts in own["executed"].items():
            self.executed[operator].update(counts)
        self.differences = own["differences"]

    def left(self, seed, cases):
        """The blocks of cases of the seed that are not done."""
        done = self.done.get(str(seed), ())
        return [range(b * BLOCK, min(b * BLOCK + BLOCK, cases)) for b in range(-(-cases // BLOCK)) if b not in done]

    def add(self, seed, numbers, tally):
        """Adds the tally of a block."""
        if len(numbers) == BLOCK:
            self.done.setdefault(str(seed), set()).add(numbers[0] // BLOCK)
        self.results.update(tally.results)
        self.declined.update(tally.declined)
        for (operator, arithmetic), n in tally.executed.items():
            self.executed[operator][arithmetic] += n
        self.differences += tally.differences
        if self.path:
            self.save()

    def save(self):
        text = json.dumps({"options": self.options, "done": {s: sorted(b) for s, b in self.done.items()},
                           "results": self.results, "declined": self.declined, "executed": self.executed,
                           "differences": self.differences}, indent=1)
        new = self.path.with_suffix(".new")
        new.write_text(text)
        os.replace(new, self.path)

    def text(self):
        """Counts by operator and arithmetic, what was declined and the differences by their kind."""
        by_arithmetic = sum(self.executed.values(), collections.Counter())
        lines = ["executed %s" % ", ".join("%s %d" % pair for pair in sorted(counts.items()))
                 for counts in ({o: sum(c.values()) for o, c in self.executed.items()}, by_arithmetic)]
        lines += ["declined %5d  %s" % (n, why) for why, n in sorted(self.declined.items())]
        groups = collections.defaultdict(list)
        for d in self.differences:
            groups[d["operator"], d["arithmetic"], d["kind"]].append(d)
        for key, found in sorted(groups.items(), key=lambda g: -len(g[1])):
            lines.append("different %4d  %s [%s] %s: seed %d case %d, %s" % (
                len(found), *key, found[0]["seed"], found[0]["case"], found[0]["text"]))
        return "\n".join(lines + ["results %s" % dict(sorted(self.results.items()))])
