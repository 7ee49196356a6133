#!/usr/bin/env python3
"""Holds `qtx run --profile` to LiteRT on random models of one operator: started by hand.

    kernels_litert.py QTX KIND [COUNT] [SEED]

Needs ai-edge-litert 2.3.0 and numpy. KIND: resize (tflite_float64.S6, tflite_half_up.S6, xnnpack.S10), added (tflite.S12), softmax
(tflite_float64.S8, tflite.S8), table (tflite_float64.S9 to S11), total (tflite_half_up.S9, xnnpack.S7), norm (tflite_float64.S12),
quantize (tflite_float64.S13, tflite_half_up.S12), added_bytes (tflite_half_up.S13), divided (tflite_float64.S14), conv or connected: FLOAT by int8
weights (tflite_float64.S7, tflite_half_up.S7, xnnpack.S9). Each model runs in LiteRT with its
reference kernels, its builtin ones and its delegate, and in `qtx` with the profile of each; every element must be equal. Prints for each
profile how many elements were compared, how many differ, and how many `exact` gives otherwise.
"""
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from litert_file import KERNELS, TYPES, File, by_litert, operator

NUMPY = {TYPES.INT8: np.int8, TYPES.UINT8: np.uint8, TYPES.INT16: np.int16}


def drawn(rng, shape, data_type):
    """Integers over their whole range, now and then of few values or at its ends."""
    ends = np.iinfo(NUMPY[data_type])
    least, greatest = [(ends.min, ends.max), (ends.min, ends.max), (0, 3), (ends.max - 2, ends.max)][rng.integers(4)]
    return rng.integers(least, greatest + 1, shape, dtype=NUMPY[data_type])


def resize(rng):
    data_type = int(rng.choice([TYPES.INT8, TYPES.UINT8, TYPES.INT16]))
    batches, channels = int(rng.integers(1, 3)), int(rng.choice([1, 3, 8, 16, 21]))
    height, width = (int(rng.integers(1, 14)) for _ in range(2))
    to = [int(rng.integers(1, 50)) for _ in range(2)]
    if rng.integers(3) == 0:
        times = int(rng.integers(2, 9))  # 8 times is a kernel of its own
        to = [height * times, width * times]
    corners, centers = [(False, False), (True, False), (False, True)][rng.integers(3)]
    scale, offset = float(rng.choice([0.1, 0.0173, 2.0])), 0 if data_type == TYPES.INT16 else int(rng.integers(0, 100))
    file = File()
    x = file.tensor("x", [batches, height, width, channels], data_type, scale, offset)
    sizes = file.tensor("sizes", [2], TYPES.INT32, data=np.int32(to))
    y = file.tensor("y", [batches, *to, channels], data_type, scale, offset)
    one = operator([x, sizes], [y], "ResizeBilinearOptions", alignCorners=corners, halfPixelCenters=centers)
    return file.bytes("RESIZE_BILINEAR", one, [x], [y], 3), [drawn(rng, [batches, height, width, channels], data_type)]


def scales(rng, count):
    return np.float32(rng.uniform(0.001, 0.1, count))


def floats(rng, shape):
    x = np.float32(rng.normal(0, 1, shape) * rng.choice([0.01, 1, 30]))
    return [x, x, np.abs(x), -np.abs(x)][rng.integers(4)]


def conv(rng):
    """CONV_2D or DEPTHWISE_CONV_2D of FLOAT by int8."""
    depthwise = bool(rng.integers(2))
    channels, kernel, stride, times = int(rng.integers(1, 20)), int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    batches, height, width = int(rng.integers(1, 3)), int(rng.integers(3, 12)), int(rng.integers(3, 12))
    outputs = channels * times if depthwise else int(rng.integers(1, 20))
    w_shape = [1, kernel, kernel, outputs] if depthwise else [outputs, kernel, kernel, channels]
    same = bool(rng.integers(2))
    to = [-(-size // stride) if same else (size - kernel) // stride + 1 for size in (height, width)]
    file = File()
    x = file.tensor("x", [batches, height, width, channels], TYPES.FLOAT32)
    w_scales = scales(rng, outputs if depthwise or rng.integers(4) else 1)
    w = file.tensor("w", w_shape, TYPES.INT8, w_scales, data=rng.integers(-127, 128, w_shape, dtype=np.int8), axis=3 if depthwise else 0)
    b = file.tensor("b", [outputs], TYPES.FLOAT32, data=np.float32(rng.normal(0, 3, outputs)))
    y = file.tensor("y", [batches, *to, outputs], TYPES.FLOAT32)
    options = {"padding": 0 if same else 1, "strideH": stride, "strideW": stride, "dilationHFactor": 1, "dilationWFactor": 1}
    if depthwise:
        options["depthMultiplier"] = times
    one = operator([x, w, b], [y], "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions", **options)
    name = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    return file.bytes(name, one, [x], [y], 6 if depthwise else 5), [floats(rng, [batches, height, width, channels])]


def connected(rng):
    """FULLY_CONNECTED of FLOAT by int8 with a scale for each row."""
    rows, depth, outputs = int(rng.integers(1, 8)), int(rng.integers(1, 90)), int(rng.integers(2, 30))
    file = File()
    x = file.tensor("x", [rows, depth], TYPES.FLOAT32)
    w = file.tensor("w", [outputs, depth], TYPES.INT8, scales(rng, outputs), data=rng.integers(-127, 128, (outputs, depth), dtype=np.int8))
    b = file.tensor("b", [outputs], TYPES.FLOAT32, data=np.float32(rng.normal(0, 3, outputs))) if rng.integers(2) else -1
    y = file.tensor("y", [rows, outputs], TYPES.FLOAT32)
    one = operator([x, w, b], [y], "FullyConnectedOptions", asymmetricQuantizeInputs=True)
    return file.bytes("FULLY_CONNECTED", one, [x], [y], 9), [floats(rng, [rows, depth])]


def added(rng):
    """ADD or SUB of int16, mostly of scales that are powers of two, with either value of `pot_scale_int16`; an ADD of such scales has one shape."""
    name, general = ["ADD", "SUB"][rng.integers(2)], bool(rng.integers(2))
    a_shape = b_shape = shape = [int(rng.integers(1, 6)), int(rng.integers(1, 60))]
    y_scale, other = 2.0 ** -int(rng.integers(5, 15)), 2.0 ** -int(rng.integers(0, 16))
    a_scale, b_scale = [y_scale, y_scale * other][::int(rng.choice([1, -1]))]
    if rng.integers(2) == 0:
        a_scale *= 0.7
        shape = a_shape = b_shape = [3, int(rng.integers(1, 1000))]
    elif name == "SUB" or general:
        a_shape, b_shape = [(shape, shape), (shape, shape[1:]), ([shape[0], 1], shape)][rng.integers(3)]
    file = File()
    a = file.tensor("x", a_shape, TYPES.INT16, a_scale)
    b = file.tensor("w", b_shape, TYPES.INT16, b_scale)
    y = file.tensor("y", shape, TYPES.INT16, y_scale)
    one = operator([a, b], [y], "AddOptions" if name == "ADD" else "SubOptions", potScaleInt16=not general)
    return file.bytes(name, one, [a, b], [y], 4 if name == "ADD" else 5), [drawn(rng, one, TYPES.INT16) for one in (a_shape, b_shape)]


def added_bytes(rng):
    """ADD or SUB of 8 bits, of all pairs of values or broadcast; or of zeros and much smaller steps, which shows each rounding."""
    name, data_type = ["ADD", "ADD", "SUB"][rng.integers(3)], int(rng.choice([TYPES.INT8, TYPES.UINT8]))
    ends = np.iinfo(NUMPY[data_type])
    a_scale, b_scale = scales(rng, 2)
    if rng.integers(2):
        b_scale = a_scale * rng.choice([1, 0.5, 4, 1 / 64, 1 / 1000, 3])
    y_scale = max(a_scale, b_scale) * (rng.choice([1, 2, 0.5, 1.5]) if rng.integers(2) else rng.uniform(0.3, 2))
    a_offset, fine = int(rng.integers(ends.min, ends.max)), bool(rng.integers(2))
    if fine:
        b_scale = a_scale / rng.uniform(1000, 30000)
        y_scale = b_scale * rng.uniform(0.5, 1.5)
    all_of_them = np.arange(ends.min, ends.max + 1, dtype=NUMPY[data_type])
    n, m, c = (int(rng.integers(1, size)) for size in (4, 9, 50))
    shapes = [([n, m, m, c], [c]), ([n, m, m, c], [1]), ([1], [n, m, m, c]), ([n, m, m, c], [n, 1, 1, c]), ([n, m, 1, c], [1, m, m, c]),
              ([n, 1, m, 1], [n, m, m, c]), ([n, 1, m, 1], [1, m, 1, c]), ([n, m, m, c], [n, m, m, 1]), ([n, m, c], [n, m, c])]
    a_shape, b_shape = ([256, 256], [256, 256]) if not fine and rng.integers(2) else shapes[rng.integers(len(shapes))]
    file = File()
    a = file.tensor("x", a_shape, data_type, a_scale, a_offset)
    b = file.tensor("w", b_shape, data_type, b_scale, int(rng.integers(ends.min, ends.max + 1)))
    y = file.tensor("y", np.broadcast_shapes(a_shape, b_shape), data_type, y_scale, int(rng.integers(ends.min, ends.max + 1)))
    model = file.bytes(name, operator([a, b], [y], "AddOptions" if name == "ADD" else "SubOptions"), [a, b], [y], 2)
    if a_shape == [256, 256]:
        return model, [one.copy() for one in np.meshgrid(all_of_them, all_of_them)]
    if fine:
        return model, [np.full(a_shape, a_offset, NUMPY[data_type]), drawn(rng, b_shape, data_type)]
    return model, [drawn(rng, one, data_type) for one in (a_shape, b_shape)]


def near_ties(rng, count, scale):
    """Floats at and beside ties of steps of `scale`."""
    x = np.float32((rng.integers(-200, 201, count) + rng.choice([0.5, -0.5, 0.25], count)) * np.float64(scale))
    for _ in range(2):
        x = np.where(rng.integers(2, size=count), x, np.nextafter(x, np.float32(rng.choice([np.inf, -np.inf]))))
    return x


def quantize(rng):
    """QUANTIZE of FLOAT, 8 bits or int16."""
    kinds = [TYPES.INT8, TYPES.UINT8, TYPES.INT16]
    x_type, y_type = int(rng.choice([TYPES.FLOAT32, TYPES.FLOAT32, *kinds])), int(rng.choice(kinds))
    if x_type == TYPES.INT16 and y_type == TYPES.UINT8:
        y_type = TYPES.INT8
    y_scale, count = float(rng.choice([rng.uniform(0.001, 0.1), 2.0 ** -int(rng.integers(1, 9))])), int(rng.choice([rng.integers(1, 40), 2000]))
    offset = {kind: 0 if kind == TYPES.INT16 else int(rng.integers(np.iinfo(NUMPY[kind]).min, np.iinfo(NUMPY[kind]).max + 1)) for kind in kinds}
    file = File()
    if x_type == TYPES.FLOAT32:
        x = file.tensor("x", [count], x_type)
        value = near_ties(rng, count, y_scale)
        if rng.integers(3) == 0:
            value[rng.integers(0, count, 3)] = rng.choice(np.float32([np.nan, np.inf, -np.inf, 3e9, -3e9, 1e30]), 3)
    else:
        x = file.tensor("x", [count], x_type, y_scale * float(rng.choice([1, 2, 0.5, 0.25, 0.125, rng.uniform(0.01, 4)])), offset[x_type])
        value = drawn(rng, [count], x_type)
    y = file.tensor("y", [count], y_type, y_scale, offset[y_type])
    return file.bytes("QUANTIZE", operator([x], [y]), [x], [y], 3), [value]


def divided(rng):
    """DIV of 8 bits and int16, by numbers that are not 0."""
    data_type = int(rng.choice([TYPES.INT8, TYPES.UINT8, TYPES.INT16]))
    ends = np.iinfo(NUMPY[data_type])
    a_scale, b_scale = scales(rng, 2)
    y_scale = a_scale / b_scale * rng.uniform(0.005, 0.5) * (0.01 if data_type == TYPES.INT16 else 1)
    offsets = [0 if data_type == TYPES.INT16 else int(rng.integers(ends.min, ends.max)) for _ in range(3)]
    shape = [int(rng.integers(1, 9)), int(rng.integers(1, 300))]
    b_shape = [shape, shape[1:], [1]][rng.integers(3)]
    file = File()
    a = file.tensor("x", shape, data_type, a_scale, offsets[0])
    b = file.tensor("w", b_shape, data_type, b_scale, offsets[1])
    y = file.tensor("y", shape, data_type, y_scale, offsets[2])
    divisors = drawn(rng, b_shape, data_type)
    divisors[divisors == offsets[1]] = offsets[1] + 1
    return file.bytes("DIV", operator([a, b], [y], "DivOptions"), [a, b], [y], 2), [drawn(rng, shape, data_type), divisors]


def norm(rng):
    """L2_NORMALIZATION of 8 bits."""
    data_type = int(rng.choice([TYPES.INT8, TYPES.UINT8]))
    ends = np.iinfo(NUMPY[data_type])
    shape = [int(rng.integers(1, 60)), int(rng.choice([1, 2, 3, 7, 33, 400, 8256]))]
    file = File()
    x = file.tensor("x", shape, data_type, 0.1, int(rng.integers(ends.min, ends.max + 1)))
    y = file.tensor("y", shape, data_type, 2.0 ** -7, 0 if data_type == TYPES.INT8 else 128)
    return file.bytes("L2_NORMALIZATION", operator([x], [y], "L2NormOptions"), [x], [y], 2), [drawn(rng, shape, data_type)]


def softmax(rng):
    """SOFTMAX of 8 bits; logits that lie close together show where sums and quotients round."""
    data_type = int(rng.choice([TYPES.INT8, TYPES.UINT8]))
    scale = float(rng.choice([rng.uniform(0.1, 0.35), rng.uniform(0.001, 2), 2.0 ** -int(rng.integers(0, 12)), 40]))
    shape = [int(rng.integers(1, 90)), int(rng.choice([1, 2, 3, 5, 10, 100, 1001]))]
    file = File()
    x = file.tensor("x", shape, data_type, scale, 3)
    y = file.tensor("y", shape, data_type, 2.0 ** -8, -128 if data_type == TYPES.INT8 else 0)
    one = operator([x], [y], "SoftmaxOptions", beta=1.0)
    greatest = np.iinfo(NUMPY[data_type]).max
    logits = rng.integers(greatest - int(rng.choice([10, 30, 255])), greatest + 1, shape, dtype=NUMPY[data_type])
    return file.bytes("SOFTMAX", one, [x], [y], 2), [logits]


TABLES = {"EXP": ("ExpOptions", {}), "GELU": ("GeluOptions", {"approximate": False}), "HARD_SWISH": (None, {}),
          "LOG_SOFTMAX": ("LogSoftmaxOptions", {})}


def table(rng):
    """EXP, GELU, HARD_SWISH or LOG_SOFTMAX, of int8 or int16."""
    name = str(rng.choice(list(TABLES)))
    data_type = int(rng.choice([TYPES.INT8, TYPES.INT16])) if name in ("EXP", "GELU") else TYPES.INT8
    x_scale = float(rng.uniform(0.005, 0.1)) if data_type == TYPES.INT8 else float(rng.uniform(0.00002, 0.0003))
    y_scale = x_scale * float(rng.uniform(0.3, 1.5)) * (8 if name == "EXP" else 1)
    x_offset, y_offset = (0, 0) if data_type == TYPES.INT16 else (int(rng.integers(-128, 128)) for _ in range(2))
    shape = [int(rng.integers(1, 40)), int(rng.integers(1, 60))]
    file = File()
    x = file.tensor("x", shape, data_type, x_scale, x_offset)
    y = file.tensor("y", shape, data_type, *((1 / 16, 127) if name == "LOG_SOFTMAX" else (y_scale, y_offset)))
    kind, options = TABLES[name]
    if name == "GELU" and data_type == TYPES.INT8:
        options = {"approximate": bool(rng.integers(2))}
    version = 1 if name == "HARD_SWISH" else 2
    return file.bytes(name, operator([x], [y], kind, **options), [x], [y], version), [drawn(rng, shape, data_type)]


def total(rng):
    """SUM, often by a power of two, so that there are ties."""
    data_type = int(rng.choice([TYPES.INT8, TYPES.UINT8, TYPES.INT16]))
    ends = np.iinfo(NUMPY[data_type])
    x_scale = float(np.float32(rng.uniform(0.001, 1)))
    y_scale = x_scale * float(rng.choice([rng.uniform(1, 20), 2, 4, 8, 16]))
    x_offset, y_offset = (0, 0) if data_type == TYPES.INT16 else (int(rng.integers(ends.min, ends.max)) for _ in range(2))
    shape, keep = [int(rng.integers(1, 9)) for _ in range(4)], bool(rng.integers(2))
    axes = [[1, 2], [1], [3], [2, 3]][rng.integers(4)]
    to = [1 if i in axes else size for i, size in enumerate(shape) if keep or i not in axes]
    file = File()
    x = file.tensor("x", shape, data_type, x_scale, x_offset)
    along = file.tensor("axes", [len(axes)], TYPES.INT32, data=np.int32(axes))
    y = file.tensor("y", to, data_type, y_scale, y_offset)
    one = operator([x, along], [y], "ReducerOptions", keepDims=keep)
    return file.bytes("SUM", one, [x], [y], 2), [drawn(rng, shape, data_type)]


KINDS = {"resize": resize, "conv": conv, "connected": connected, "added": added, "softmax": softmax, "table": table, "total": total,
         "added_bytes": added_bytes, "quantize": quantize, "norm": norm, "divided": divided}


class Comparison:
    def __init__(self, qtx, folder):
        self.qtx, self.folder, self.path = qtx, folder, folder / "model.tflite"

    def by_qtx(self, inputs, *how):
        """The output, and whether the profile knows the kernel."""
        words = []
        for i, value in enumerate(inputs):
            np.save(self.folder / f"in{i}.npy", value)
            words += ["--input", f"{'xwz'[i]}={self.folder / f'in{i}.npy'}"]
        subprocess.run([self.qtx, "run", self.path, *how, *words, "--output-dir", self.folder, "--json", self.folder / "run.json",
                        "--quiet"], check=True)
        report = json.loads((self.folder / "run.json").read_text())
        return np.load(self.folder / "y.npy"), not report["unmodelled"]


def main():
    qtx, kind = sys.argv[1:3]
    count, seed = (int(given) for given in (sys.argv[3:] + ["100", "1"][len(sys.argv) - 3:])[:2])
    rng = np.random.default_rng(seed)
    elements, wrong, others, unknown = (collections.Counter() for _ in range(4))
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(qtx, Path(folder))
        for number in range(count):
            model, inputs = KINDS[kind](rng)
            comparison.path.write_bytes(model)
            exact, _ = comparison.by_qtx(inputs, "--arithmetic", "exact")
            for kernels in KERNELS:
                theirs = by_litert(comparison.path, kernels, *inputs)
                ours, known = comparison.by_qtx(inputs, "--profile", f"litert-{kernels}")
                unknown[kernels] += not known
                if not known:
                    continue
                elements[kernels] += theirs.size
                differ = np.count_nonzero(ours != theirs)
                wrong[kernels] += differ
                others[kernels] += np.count_nonzero(exact != theirs)
                if differ:
                    print(f"{kind} {number}, litert-{kernels}: {differ} of {theirs.size} differ")
    for kernels in KERNELS:
        print(f"{kind}, litert-{kernels}: {elements[kernels]} elements, {wrong[kernels]} differ; {others[kernels]} differ from exact; "
              f"{unknown[kernels]} of {count} models without a kernel")
    return 1 if sum(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
