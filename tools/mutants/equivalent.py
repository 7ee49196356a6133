"""Reads equivalent.txt: mutants that no input can tell from the original, each with its proof.

An entry is three lines: the file, the line of source with `[[` and `]]` around what changes, and `original -> mutated`; a
fourth line, after `proof: `, says why. Blank lines separate entries; lines that begin with # are comments.
"""

import pathlib


def entries(path):
    """[(file, place, change, proof)]. Raises ValueError for an entry of another form."""
    lines = [line for line in pathlib.Path(path).read_text().splitlines() if not line.startswith("#")]
    found = []
    for block in filter(None, "\n".join(lines).strip().split("\n\n")):
        parts = block.strip().split("\n")
        if len(parts) != 4 or not parts[3].startswith("proof: ") or " -> " not in parts[2]:
            raise ValueError(f"{path}: found entry {parts}, expected file, place, 'original -> mutated', 'proof: ...'")
        found.append((parts[0], parts[1], parts[2], parts[3][len("proof: "):]))
    return found


def key(row):
    """What identifies a mutant while lines move: its file, its place in a line of source, and its change."""
    return row["file"], row["place"], f"{row['original']} -> {row['mutated']}"


def match(path, table, files):
    """The proofs of the entries of `path` for `files` by key, and those of them that are of no mutant of `table`."""
    if path is None:
        return {}, []
    known = set(map(key, table))
    proofs = {entry[:3]: entry[3] for entry in entries(path) if entry[0] in files}
    return proofs, [" | ".join(name) for name in proofs if name not in known]
