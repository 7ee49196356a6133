#!/usr/bin/python3
"""choose_core.py VALIDATE.json MUTANTS.json... [--budget SECONDS]

Which documents of other levels should be of level `core`? VALIDATE.json, of `qtx validate --json`, has the level of each
case and the time it takes; each MUTANTS.json is of `qtx-mutants power --mutants --all-that-notice --json`. Prints, by greedy
set cover, the documents that notice most of the mutants that `core` misses for the time they take, up to BUDGET seconds.
"""

import argparse
import collections
import json
import pathlib


def document(case_id):
    """The id of the document that a case was expanded from."""
    return case_id.split("[", 1)[0]


LEAST = 0.02  # seconds: below this a document costs nothing that one would notice


def cover(noticed, seconds, budget):
    """Yields (document, mutants it adds): the next that notices most per second, while the budget lasts."""
    left = {name: set(mutants) for name, mutants in noticed.items()}
    while True:
        affordable = {name: mutants for name, mutants in left.items() if mutants and seconds[name] <= budget}
        if not affordable:
            return
        best = max(affordable, key=lambda name: (len(affordable[name]) / max(seconds[name], LEAST), name))
        gained = left.pop(best)
        budget -= seconds[best]
        for mutants in left.values():
            mutants -= gained
        yield best, gained


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("validate", type=pathlib.Path)
    parser.add_argument("mutants", type=pathlib.Path, nargs="+")
    parser.add_argument("--budget", type=float, default=3)
    given = parser.parse_args()
    rows = json.loads(given.validate.read_text())["backends"]
    cases = [case for row in rows for case in row["cases"]]
    core = {document(case["id"]) for case in cases if case["level"] == "core"}
    seconds = collections.Counter()
    for case in cases:
        seconds[document(case["id"])] += case["seconds"]
    mutants = [m for path in given.mutants for m in json.loads(path.read_text())["mutants"]]
    noticed = collections.defaultdict(set)
    for number, mutant in enumerate(mutants):
        for name in map(document, mutant["noticed_by"] or filter(None, [mutant["killed_by"].split(": ")[-1]])):
            if not mutant["killed_by_core"]:
                noticed[name].add(number)
    killed_by_core = sum(m["killed_by_core"] for m in mutants)
    killed = killed_by_core + len(set().union(*noticed.values()))
    print(f"{killed} killed, {killed_by_core} of them by core: {sum(seconds[name] for name in core):.1f} s of "
          f"{sum(seconds.values()):.1f} s")
    for name, gained in cover(noticed, seconds, given.budget):
        killed_by_core += len(gained)
        print(f"{100 * killed_by_core / killed:5.1f} %  +{len(gained):<3} {seconds[name]:6.2f} s  {name}")


if __name__ == "__main__":
    main()
