#!/usr/bin/env python3
"""Holds `qtx run` to LiteRT on random LSTMs of int8 (tflite.S18): started by hand.

    lstm_litert.py QTX [COUNT] [SEED]

Needs ai-edge-litert 2.3.0 and numpy. Writes TFLite files with one UNIDIRECTIONAL_SEQUENCE_LSTM each: 1 to 5 steps, 1 to 3
sequences, a scale for all gates or for each, with biases and cell_clip or without. Each runs in LiteRT with its reference and
its builtin kernels, and in `qtx`; every element must be equal. Prints how many elements `exact` gives otherwise: what the
kernel's formulas decide.
"""
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from ai_edge_litert.schema_py_generated import ActivationFunctionType

from litert_file import TYPES, File, by_litert, operator

KERNELS = ("reference", "x86")
ARITHMETICS = ("tflite", "tflite-double", "tflite-half-up")
X_SCALE, X_OFFSET = 2.0**-5, 3


def lstm(rng, shape, units):
    """The bytes of a file; its input is int8 of `shape`: steps, sequences, elements."""
    file = File()
    hidden_scale = float(rng.choice([2.0**-7, 0.0061, 0.00747]))
    hidden_offset = int(rng.choice([0, -1, 9]))
    cell_scale = 2.0 ** int(rng.integers(-15, -8))
    one_scale = bool(rng.integers(2))
    w_scales = np.float32([0.011] * 4 if one_scale else [0.01, 0.013, 0.03, 0.02])
    r_scales = np.float32([0.017] * 4 if one_scale else [0.017, 0.02, 0.011, 0.013])
    largest_bias = int(rng.choice([1, 6000]))

    def matrices(name, columns, scales):
        return [
            file.tensor(f"{name}{gate}", [units, columns], TYPES.INT8, scale,
                        data=rng.integers(-127, 128, (units, columns), dtype=np.int8))
            for gate, scale in enumerate(scales)
        ]

    x = file.tensor("x", shape, TYPES.INT8, X_SCALE, X_OFFSET)
    w = matrices("w", shape[2], w_scales)
    r = matrices("r", units, r_scales)
    b = [
        file.tensor(f"b{gate}", [units], TYPES.INT32, np.float32(X_SCALE) * scale,
                    data=rng.integers(-largest_bias, largest_bias, units, dtype=np.int32))
        for gate, scale in enumerate(w_scales)
    ]
    hidden = file.tensor("h", [shape[1], units], TYPES.INT8, hidden_scale, hidden_offset, is_state=True)
    cell = file.tensor("c", [shape[1], units], TYPES.INT16, cell_scale, is_state=True)
    y = file.tensor("y", [*shape[:2], units], TYPES.INT8, hidden_scale, hidden_offset)

    one = operator([x, *w, *r, -1, -1, -1, *b, -1, -1, hidden, cell, -1, -1, -1, -1], [y], "UnidirectionalSequenceLSTMOptions",
                   fusedActivationFunction=ActivationFunctionType.TANH, timeMajor=True, cellClip=float(rng.choice([0, 0.9])))
    one.intermediates = [file.tensor(f"i{k}", [], TYPES.INT16, 2.0**-12) for k in range(4)]
    one.intermediates.append(file.tensor("i4", [], TYPES.INT8, hidden_scale, hidden_offset))
    return file.bytes("UNIDIRECTIONAL_SEQUENCE_LSTM", one, [x], [y], 2)


def main():
    qtx = sys.argv[1]
    count, seed = (int(given) for given in (sys.argv[2:] + ["100", "1"][len(sys.argv) - 2:])[:2])
    rng = np.random.default_rng(seed)
    elements, others, differ = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lstm.tflite")

        def by_qtx(arithmetic):
            subprocess.run([qtx, "run", path, "--arithmetic", arithmetic, "--input", path.with_name("x.npy"),
                            "--output-dir", folder, "--quiet"], check=True)
            return np.load(path.with_name("y.npy"))

        for number in range(count):
            shape = [int(rng.integers(1, last)) for last in (6, 4, 20)]
            path.write_bytes(lstm(rng, shape, int(rng.integers(1, 12))))
            x = rng.integers(-128, 128, shape, dtype=np.int8)
            np.save(path.with_name("x.npy"), x)
            expected = {kernels: by_litert(path, kernels, x) for kernels in KERNELS}
            elements += expected["reference"].size
            others += np.count_nonzero(by_qtx("exact") != expected["reference"])
            for arithmetic, (name, y) in itertools.product(ARITHMETICS, expected.items()):
                wrong = np.count_nonzero(by_qtx(arithmetic) != y)
                differ += wrong
                if wrong:
                    print(f"LSTM {number} {shape}: {wrong} of {y.size} differ, {arithmetic} and LiteRT's {name} kernels")
    print(f"{count} LSTMs, {elements} elements: {differ} differ; {others} differ from exact")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
