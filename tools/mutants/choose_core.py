#!/usr/bin/python3
"""choose_core.py MUTANTS.json VALIDATE.json [--budget CASES]

Which documents of other levels should be of level `core`? MUTANTS.json is of `qtx-mutants power --mutants
--all-that-notice --json`; VALIDATE.json, of `qtx validate --json`, names all cases with their level. Prints, by greedy
set cover, the documents that notice most of the mutants that `core` misses for each case they cost, up to BUDGET cases.
"""

import argparse
import collections
import json
import pathlib


def document(case_id):
    """The id of the document that a case was expanded from."""
    return case_id.split("[", 1)[0]


def cover(noticed, sizes, budget):
    """Yields (document, mutants it adds): the next that notices most per case, while the budget lasts."""
    left = {name: set(mutants) for name, mutants in noticed.items()}
    while True:
        affordable = {name: mutants for name, mutants in left.items() if mutants and sizes[name] <= budget}
        if not affordable:
            return
        best = max(affordable, key=lambda name: (len(affordable[name]) / sizes[name], name))
        gained = left.pop(best)
        budget -= sizes[best]
        for mutants in left.values():
            mutants -= gained
        yield best, gained


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("mutants", type=pathlib.Path)
    parser.add_argument("validate", type=pathlib.Path)
    parser.add_argument("--budget", type=int, default=1000)
    given = parser.parse_args()
    mutants = json.loads(given.mutants.read_text())["mutants"]
    levels = {case["id"]: case["level"] for case in json.loads(given.validate.read_text())["cases"]}
    sizes = collections.Counter(map(document, levels))
    noticed = collections.defaultdict(set)
    for number, mutant in enumerate(mutants):
        for case_id in mutant["noticed_by"]:
            noticed[document(case_id)].add(number)
    missed = set().union(*noticed.values())
    core = sum(mutant["killed_by_core"] for mutant in mutants)
    killed = core + len(missed)
    print(f"{killed} killed, {core} by core of {sum(level == 'core' for level in levels.values())} cases")
    for name, gained in cover(noticed, sizes, given.budget):
        core += len(gained)
        print(f"{100 * core / killed:5.1f} %  +{len(gained):<3} {sizes[name]:>4} cases  {name}")


if __name__ == "__main__":
    main()
