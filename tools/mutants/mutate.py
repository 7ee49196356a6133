#!/usr/bin/python3
"""mutate.py --build FOLDER --output FOLDER [--seed TEXT] [--count N] [--equivalent FILE] TREE...

Writes mutated copies of the C++ sources below each TREE (a folder or one source, relative to the root) to OUTPUT/source, and the list
of mutants as OUTPUT/mutants.cc and OUTPUT/mutants.json. A mutant is one small fault (rules.py has the kinds), which its
number switches on at run time (mutant.h): all are compiled at once.

COUNT mutants a tree are chosen, spread over files and rules, by a hash of SEED and of the text that a mutant changes:
another seed gives others, and lines that move keep theirs. Of those chosen, clang compiles each copy, and what does not
compile is dropped. An entry of --equivalent that names no candidate is an error.
FOLDER of --build: a build of the preset `release`; its compile_commands.json says how the sources are compiled.
Status: 0 done, 1 stale entries or a copy that does not compile, 2 wrong usage.
"""

import argparse
import hashlib
import itertools
import json
import multiprocessing
import os
import pathlib
import shlex
import sys

from clang.cindex import Config, Index, TranslationUnit

import equivalent
import rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
SWITCH = pathlib.Path(__file__).resolve().parent / "mutant.h"
ROUNDS = 12  # of compiling and dropping
TABLE = """#include "mutants/mutant_table.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

using qtx::conformance::Mutant;
using qtx::conformance::MutantState;

MutantState qtx_mutant_states[STATES];

bool qtx_mutant_is_on(unsigned number) {
  if (qtx_mutant_states[number] == MutantState::kNoted) qtx_mutant_states[number] = MutantState::kOff;
  return qtx_mutant_states[number] == MutantState::kOn;
}

qtx::conformance::MutatedProgram qtx::mutants::Compiled() {
  static const Mutant kMutants[] = {
ROWS  };
  return {kMutants, qtx_mutant_states};
}

// QTX_MUTANT=N has mutant N on from the start, for whatever command.
static const bool kIsOnFromTheStart = [] {
  const char* text = std::getenv("QTX_MUTANT");
  const std::string_view digits = text == nullptr ? "" : text;
  unsigned number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (number > 0 && number < STATES) qtx_mutant_states[number] = MutantState::kOn;
  return number > 0;
}();
"""


def arguments_of(entry):
    """What clang needs of a compile command: no output, no precompiled header."""
    words = shlex.split(entry["command"])[1:]
    kept = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-c", "-include"):
            skip = True
        elif not word.startswith(("-W", "-fpch")):
            kept.append(word)
    return [*kept, "-w", "-ferror-limit=0"]


def parse(path, arguments, unsaved=None, record=False):
    options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD if record else 0
    return Index.create().parse(path, args=arguments, unsaved_files=unsaved or [], options=options)


def read(path):
    """Offsets of clang are bytes: a character is a byte here."""
    return pathlib.Path(path).read_bytes().decode("latin-1")


def find(work):
    """The candidates of one translation unit."""
    entry, names = work
    texts = {name: read(name) for name in names}
    return rules.candidates(parse(entry["file"], arguments_of(entry), record=True), texts, set())


def place(candidate, text):
    """The line of a candidate, from 1, and that line's text."""
    line = text.count("\n", 0, candidate.start)
    return line + 1, text.split("\n")[line].strip()


def marked(candidate, text):
    """The line of source in which a candidate begins, with [[ and ]] around what changes."""
    before = text[text.rfind("\n", 0, candidate.start) + 1:candidate.start]
    after = text[candidate.end:text.find("\n", candidate.end)]
    return " ".join(f"{before}[[{candidate.original}]]{after}".split())


def choose(found, texts, seed, count):
    """`count` of `found`, each file in proportion to what it has, and in a file each rule in turn."""
    def order(candidate):
        key = [seed, os.path.relpath(candidate.file, ROOT), candidate.rule, place(candidate, texts[candidate.file])[1],
               candidate.original, candidate.mutated]
        return hashlib.sha256("\0".join(key).encode()).digest()

    ranked = []
    for _, group in itertools.groupby(sorted(found, key=lambda c: c.file), key=lambda c: c.file):
        by_rule = {}
        for candidate in sorted(group, key=order):
            by_rule.setdefault(candidate.rule, []).append(candidate)
        turns = [c for c in itertools.chain(*itertools.zip_longest(*by_rule.values())) if c is not None]
        ranked.extend(((i + 0.5) / len(turns), candidate) for i, candidate in enumerate(turns))
    ranked.sort(key=lambda pair: (pair[0], order(pair[1])))
    return [candidate for _, candidate in ranked[:count or None]]


class Copy:
    """A mutated file: its text, and where in it each mutant stands."""

    def __init__(self, text, mutants):
        self.text = ""
        self.places = []  # (start, end, mutants) of each alternative and of each place that has some
        spans = {}
        for number, mutant in mutants:
            spans.setdefault((mutant.start, -mutant.end), []).append((number, mutant))
        self.write(text, 0, len(text), sorted(spans.items(), key=lambda item: item[0]))

    def write(self, text, start, end, spans):
        """Appends text[start:end] with the mutants of `spans`, outermost first."""
        at = start
        while spans:
            (first, last), mutants = spans[0]
            last = -last
            within = list(itertools.takewhile(lambda item: item[0][0] < last, spans[1:]))
            spans = spans[1 + len(within):]
            # What overlaps and is not inside stands in a macro: it is left as it is.
            within = [item for item in within if -item[0][1] <= last]
            self.text += text[at:first]
            self.switch(text, first, last, mutants, within)
            at = last
        self.text += text[at:end]

    def switch(self, text, first, last, mutants, within):
        begin = len(self.text)
        removals = [number for number, mutant in mutants if mutant.removes]
        for number in removals:
            self.text += f"if (qtx_mutant({number})) {{}} else "
        expressions = [(number, mutant) for number, mutant in mutants if not mutant.removes]
        for number, mutant in expressions:
            opening = len(self.text)
            if mutant.inverts:
                self.text += f"(qtx_mutant({number}) != static_cast<bool>("
            else:
                self.text += f"(qtx_mutant({number}) ? ({mutant.mutated}) : ("
            self.places.append((opening, len(self.text), [number]))
        self.write(text, first, last, within)
        self.text += "))" * len(expressions)
        self.places.append((begin, len(self.text), [number for number, _ in mutants]))

    def blamed(self, offset):
        """The mutants of the smallest place around `offset`, else of the nearest; none where the file has none."""
        around = [(end - start, numbers) for start, end, numbers in self.places if start <= offset <= end]
        near = [(min(abs(start - offset), abs(end - offset)), numbers) for start, end, numbers in self.places]
        return min(around or near, default=(0, []))[1]


def mirrored(path, mirror):
    return str(mirror / os.path.relpath(path, ROOT))


def compile_copy(work):
    """The places of the errors of one mutated translation unit: [(file, offset)], outermost last, for each."""
    entry, mirror, names, trees = work
    unit = read(entry["file"])
    for name in names:
        unit = unit.replace(f'"{name}"', f'"{mirrored(name, mirror)}"')
    path = entry["file"]
    unsaved = [(path, unit)]
    if path in names:
        path, unsaved = mirrored(path, mirror), []
    arguments = arguments_of(entry)
    for folder in [word[2:] for word in arguments if word.startswith("-I")]:
        if any(str(ROOT / tree).startswith(folder) for tree in trees):
            arguments.insert(0, "-I" + mirrored(folder, mirror))
    errors = []
    for found in parse(path, [*arguments, "-include", str(SWITCH)], unsaved).diagnostics:
        if found.severity < 3:
            continue
        places = [found.location, *(child.location for child in found.children)]
        errors.append([(p.file.name, rules.file_offset(p)) for p in places if p.file] + [found.spelling])
    return errors


def compiling(mutants, texts, mirror, units, trees, pool):
    """Writes the copies, and again without what does not compile. The mutants that stay, and how many do not."""
    dropped = 0
    for _ in range(ROUNDS):
        copies = {}
        for name, text in texts.items():
            copy = Copy(text, [(n, m) for n, m in mutants.items() if m.file == name])
            path = pathlib.Path(mirrored(name, mirror))
            copies[str(path)] = copy
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(copy.text.encode("latin-1"))
        # What compiles does so without some of its mutants, too.
        errors = pool.map(compile_copy, [(unit, mirror, list(texts), trees) for unit in units], 1)
        units = [unit for unit, some in zip(units, errors) if some]
        bad = set()
        for *places, message in itertools.chain(*errors):
            guilty = next((g for file, at in places if file in copies and (g := copies[file].blamed(at))), None)
            if guilty is None:
                print(f"mutate.py: {places}: {message}", file=sys.stderr)
                sys.exit(1)
            bad.update(guilty)
        if not any(errors):
            return mutants, dropped
        dropped += len(bad & mutants.keys())
        mutants = {number: mutant for number, mutant in mutants.items() if number not in bad}
    print("mutate.py: the copies do not compile", file=sys.stderr)
    sys.exit(1)


def rows(mutants, texts, proofs):
    """What a report says of each mutant."""
    table = []
    for number, mutant in sorted(mutants.items()):
        text = texts[mutant.file]
        row = {"id": number, "file": os.path.relpath(mutant.file, ROOT), "line": place(mutant, text)[0],
               "rule": mutant.rule, "place": marked(mutant, text), "original": " ".join(mutant.original.split()),
               "mutated": " ".join(mutant.mutated.split())}
        table.append({**row, "equivalent": proofs.get(equivalent.key(row), "")})
    return table


def write_table(table, output, most):
    """The list, for other programs and as a source: what mutants/mutant_table.h and mutant.h declare."""
    (output / "mutants.json").write_text(json.dumps(table, indent=1) + "\n")
    rows_of_source = []
    for row in table:
        texts = [json.dumps(row[name]) for name in ("file", "rule", "original", "mutated", "equivalent")]
        rows_of_source.append(f"    {{{row['id']}, {row['line']}, {', '.join(texts)}}},\n")
    source = TABLE.replace("STATES", str(most + 1)).replace("ROWS", "".join(rows_of_source))
    (output / "mutants.cc").write_text(source)


def sources_of(tree):
    """The files to mutate of a folder or a source."""
    if tree.is_file():
        return [str(tree)]
    return [str(path) for pattern in ("*.cc", "*.h") for path in sorted(tree.rglob(pattern)) if "tests" not in path.parts]


def options():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--seed", default="")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--equivalent", type=pathlib.Path)
    parser.add_argument("trees", nargs="+")
    return parser.parse_args()


def main():
    given = options()
    Config.set_library_file("libclang-14.so.1")
    database = json.loads((given.build / "compile_commands.json").read_text())
    files = [name for tree in given.trees for name in sources_of(ROOT / tree)]
    texts = {name: read(name) for name in files}
    units = [e for e in database if e["file"] in texts or
             (pathlib.Path(e["file"]).suffix == ".cxx" and any(f'"{name}"' in read(e["file"]) for name in texts))]
    # Headers are instantiated elsewhere, too.
    headers = any(name.endswith(".h") for name in texts)
    users = [e for e in database if headers and "/backends/x86/kernels/" in e["file"]]
    with multiprocessing.Pool() as pool:
        found = {}
        for some in pool.map(find, [(unit, files) for unit in units], 1):
            found.update({(c.file, c.start, c.end, c.mutated): c for c in some})
        proofs, stale = equivalent.match(given.equivalent, rows(dict(enumerate(found.values())), texts, {}),
                                         {os.path.relpath(name, ROOT) for name in files})
        for entry in stale:
            print(f"mutate.py: {given.equivalent}: names no mutant: {entry}", file=sys.stderr)
        if stale:
            return 1
        chosen = []
        for tree in given.trees:
            own = [c for c in found.values() if (c.file + "/").startswith(str(ROOT / tree) + "/")]
            some = choose(own, texts, given.seed, given.count)
            print(f"{tree}: {len(own)} candidates, {len(some)} chosen")
            chosen += sorted(some, key=lambda c: (c.file, c.start, -c.end, c.mutated))
        numbered = dict(enumerate(chosen, 1))
        mutants, dropped = compiling(numbered, texts, given.output.resolve() / "source", units + users, given.trees, pool)
    print(f"{len(mutants)} mutants, {dropped} that do not compile dropped")
    write_table(rows(mutants, texts, proofs), given.output, len(numbered))
    return 0


if __name__ == "__main__":
    sys.exit(main())
