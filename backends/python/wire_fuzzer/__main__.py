"""Random models on the wire, sent to two backends whose answers are compared.

The generator makes bytes of its own: of this package it uses wire.py alone. Each case is one node: a random operator,
shapes, element types, parameters, arithmetic and inputs. Outputs are compared element by element as
spec/conformance_cases.md says (NaN equals NaN, the two zeros are equal), everything else byte for byte; errors by
their code. A case in which one side says UNSUPPORTED is declined. Differences are written to --out, and grouped by
operator, arithmetic and kind at the end.
"""
import argparse
import collections
import functools
import multiprocessing
import pathlib
import sys
import time

from qtx_text.wire import encode, frame

from .compare import compare
from .ledger import Ledger
from .operators import WEIGHTED, Maker
from .sides import Pair

ARITHMETICS = ("exact float32 float32-fma onnxruntime onnx-reference tflite tflite-double tflite-single "
               "tflite-half-up tflite-float64 cmsis-nn fixed-point fixed-point-double fixed-point-16 pow2 pow2-half-up "
               "xnnpack xnnpack-rndnu fbgemm qnnpack onednn onednn-avx2 glow tvm-upward tvm-to-nearest "
               "ggml ggml-avx2").split()
BATCH = 25


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--left", required=True, help="the command of a backend")
    parser.add_argument("--right", required=True, help="the command of the other one")
    parser.add_argument("--cases", type=int, default=1000, help="of the seed, with those that the ledger has")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", type=lambda text: [int(k) for k in text.split(",")], default=[],
                        help="only these cases of the seed, separated by commas")
    parser.add_argument("--runs", type=int, default=1, help="of each node, with other inputs")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no block of cases starts later")
    parser.add_argument("--jobs", type=int, default=1, help="pairs of processes")
    parser.add_argument("--ledger", help="a file that keeps what is done; a later call with it goes on")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for an answer")
    parser.add_argument("--operators", type=lambda text: text.split(","), default=WEIGHTED,
                        help="only these, separated by commas")
    parser.add_argument("--arithmetics", type=lambda text: text.split(","), default=ARITHMETICS,
                        help="only these, separated by commas")
    parser.add_argument("--out", default="fuzz_differences", help="the folder of differences")
    return parser.parse_args()


class Case:
    """A random node as requests."""

    def __init__(self, options, k):
        self.number, self.maker = k, Maker(options.seed * 1000003 + k, options.operators, options.arithmetics)
        self.prepare, self.runs = self.maker.frames(options.runs)


class Tally:
    """What a block of cases gave."""

    def __init__(self):
        self.results, self.executed, self.declined = (collections.Counter() for _ in range(3))
        self.differences = []

    def add(self, options, case, left, right):
        maker = case.maker
        for k, (a, b) in enumerate(zip(left, right)):
            found = compare(a, b)
            if found is None and a[0] == "run":
                self.executed[maker.op, maker.arithmetic] += 1
            if found is None:
                self.results["equal, " + ("run" if a[0] == "run" else a[1])] += 1
            elif found[0] == "declined":
                self.results["declined"] += 1
                self.declined["%s: %s" % (maker.op, found[1])] += 1
            else:
                self.results["different"] += 1
                self.differences.append({"operator": maker.op, "arithmetic": maker.arithmetic, "kind": found[0],
                                         "seed": options.seed, "case": case.number, "text": found[1]})
                write(options, case, k, found)


def write(options, case, k, found):
    """A difference as frames, and as text."""
    folder, maker = pathlib.Path(options.out), case.maker
    folder.mkdir(exist_ok=True)
    base = folder / ("%d_%d_%s_%s" % (options.seed, case.number, maker.op, maker.arithmetic))
    run = encode("REQUEST", {"run": {"handle": 1, "inputs": case.runs[k]}})
    base.with_suffix(".frames").write_bytes(frame(case.prepare) + frame(run))
    inputs = "\n".join(["%s codes %s" % (v[0], v[4][:64]) for v in maker.inputs if v and v[3]] +
                       ["input %s data %s" % (m["dims"], m["data"][:256].hex()) for m in case.runs[k]])
    base.with_suffix(".txt").write_text("seed %d case %d\n%s\n%s\n%s\n%s\n" % (
        options.seed, case.number, maker.description(), found[0], found[1], inputs))


@functools.lru_cache(None)
def pair(*options):
    """The pair of backends of this process."""
    return Pair(*options)


def block(work):
    """The tally of some cases; None where the time is over."""
    options, numbers, end = work
    if time.time() > end:
        return work, None
    tally, both, answered = Tally(), pair(options.left, options.right, options.timeout), []
    batches = ([Case(options, k) for k in numbers[i:i + BATCH]] for i in range(0, len(numbers), BATCH))
    batch = next(batches, None)
    while batch:
        both.begin(batch)
        for case, (left, right) in answered:  # while both sides prepare
            tally.add(options, case, left, right)
        upcoming = next(batches, None)
        answered = list(zip(batch, both.finish()))
        batch = upcoming
    for case, (left, right) in answered:
        tally.add(options, case, left, right)
    return work, tally


def main():
    options = parse()
    kept = {name: getattr(options, name) for name in ("operators", "arithmetics", "runs")}
    try:
        ledger = Ledger(None if options.only else options.ledger, kept)
    except ValueError as e:
        print(e, file=sys.stderr)
        return 2
    print("seed", options.seed, flush=True)
    blocks = [options.only] if options.only else ledger.left(options.seed, options.cases)
    end = time.time() + 60 * options.minutes
    with multiprocessing.Pool(options.jobs) as pool:
        for (_, numbers, _), tally in pool.imap_unordered(block, [(options, b, end) for b in blocks]):
            if tally is None:
                continue
            ledger.add(options.seed, numbers, tally)
            for d in tally.differences:
                print("%(operator)s [%(arithmetic)s] %(kind)s: seed %(seed)d case %(case)d, %(text)s" % d, flush=True)
    print(ledger.text())
    return 1 if ledger.differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
