#!/usr/bin/env python3
"""Gives `qtx` every file of corpus/, and each cut off and changed at a few places: replay.py QTX [--sanitized] [ROW]...

Each must end in an answer or in one line that says what is wrong with the file; a file named `seed` in an answer. The changes are the same in each run.
"""
import concurrent.futures
import os
import pathlib
import random
import sys

import readers

CHANGES = 3  # of each file


def inputs_of(row):
    """(name, bytes) of its files, and of what is made of them."""
    for path in readers.seeds_of(row):
        data = path.read_bytes()
        yield path.name, data
        draw = random.Random(path.name + row.name)
        for i in range(CHANGES if data else 0):
            at = draw.randrange(len(data))
            if i % 2 == 0:
                yield f"{path.name} cut at {at}", data[:at]
            else:
                value = draw.randrange(256)
                yield f"{path.name} with byte {at} = {value}", data[:at] + bytes([value]) + data[at + 1:]


def main():
    qtx, *rest = sys.argv[1:]
    sanitized = "--sanitized" in rest
    names = [name for name in rest if name != "--sanitized"]
    rows = [readers.reader(name) for name in names] or readers.READERS
    work = [(row, name, data) for row in rows for name, data in inputs_of(row)]
    without = [row.name for row in rows if not readers.seeds_of(row)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda item: readers.outcome_of(item[0], pathlib.Path(qtx).resolve(), item[2], sanitized), work))
    faults = [f"{row.name}: {name}: {fault}" for (row, name, _), (_, fault) in zip(work, results) if fault]
    # What no reader accepts shows nothing.
    faults += [f"{row.name}: {name}: status {status}, expected an answer" for (row, name, _), (status, _) in zip(work, results)
               if name == "seed" + row.extension and status not in (0, 1)]
    print("\n".join(faults), file=sys.stderr)
    print(f"{len(work)} inputs of {len(rows)} rows; without a file: {' '.join(without) or 'none'}; {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
