"""Random models on the wire, sent to two backends whose answers are compared.

The generator makes bytes of its own: of this package it uses wire.py alone. Each case is one node: a random operator,
shapes, element types, parameters, arithmetic and inputs. Outputs are compared element by element as
spec/conformance_cases.md says (NaN equals NaN, the two zeros are equal), everything else byte for byte; errors by
their code. A case in which one side says UNSUPPORTED is declined. Differences are written to --out and grouped by
operator, arithmetic and kind.
"""
import argparse
import collections
import pathlib
import time

from qtx_text.wire import encode, frame

from .compare import Side, compare
from .operators import WEIGHTED, Maker

ARITHMETICS = ("exact float32 float32-fma onnxruntime onnx-reference tflite tflite-double tflite-single cmsis-nn "
               "fixed-point fixed-point-double fixed-point-16 pow2 pow2-half-up xnnpack xnnpack-rndnu fbgemm qnnpack "
               "onednn onednn-avx2 glow tvm-upward tvm-to-nearest").split()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--left", required=True)
    parser.add_argument("--right", required=True)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--timeout", type=float, default=20.0)
    parser.add_argument("--operators", help="only these, separated by commas")
    parser.add_argument("--arithmetics", help="only these, separated by commas")
    parser.add_argument("--out", default="fuzz_differences")
    options = parser.parse_args()
    operators = options.operators.split(",") if options.operators else WEIGHTED
    arithmetics = options.arithmetics.split(",") if options.arithmetics else ARITHMETICS
    print("seed", options.seed, flush=True)
    left, right = Side(options.left, options.timeout), Side(options.right, options.timeout)
    folder = pathlib.Path(options.out)
    declined, groups, results = collections.Counter(), collections.defaultdict(list), collections.Counter()
    for k in range(options.cases):
        seed = options.seed * 1000003 + k
        maker = Maker(seed, operators, arithmetics)
        prepare, tensors = maker.frames()
        a, b = left.case(prepare, tensors), right.case(prepare, tensors)
        found = compare(a, b)
        if found is None:
            results["equal, " + (a[0] if a[0] == "run" else a[1])] += 1
        elif found[0] == "declined":
            results["declined"] += 1
            declined[maker.op, found[1]] += 1
        else:
            results["different"] += 1
            groups[maker.op, maker.arithmetic, found[0]].append((k, found[1]))
            folder.mkdir(exist_ok=True)
            base = folder / ("%d_%d_%s_%s" % (options.seed, k, maker.op, maker.arithmetic))
            run = encode("REQUEST", {"run": {"handle": 1, "inputs": tensors}})
            base.with_suffix(".frames").write_bytes(frame(prepare) + frame(run))
            inputs = "\n".join("%s codes %s" % (v[0], v[4][:64]) for v in maker.inputs if v)
            base.with_suffix(".txt").write_text("seed %d case %d\n%s\n%s\n%s\n%s\n" % (
                options.seed, k, maker.description(), found[0], found[1], inputs))
    left.close()
    right.close()
    for (op, reason), n in sorted(declined.items()):
        print("declined %5d  %s: %s" % (n, op, reason))
    for (op, arithmetic, kind), cases in sorted(groups.items(), key=lambda g: -len(g[1])):
        print("different %4d  %s [%s] %s: case %d, %s" % (len(cases), op, arithmetic, kind, *cases[0]))
    print("seed %d: %s" % (options.seed, dict(results)))
    return 1 if groups else 0


if __name__ == "__main__":
    raise SystemExit(main())
