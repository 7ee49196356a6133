#!/usr/bin/env python3
"""Measures what `qtx` does with a llama of 1.1 billion parameters: started by hand.

    llama.py QTX FOLDER [--keep]

TinyLlama's sizes (22 layers of width 2048, 32 heads on 4, 5632 in between, 32,000 tokens), types as
llama.cpp's Q4_K_M has them, random records whose factors give weights of about 0.02: 0.67 GB.  Needs
gguf 0.19.0 and numpy, and 4 GB of space.  Each step has its seconds, those of cp of the bytes that it writes
(of those it reads, where it writes none) and the peak of anonymous memory (RssAnon).  What is lifted
must be the model that was lowered, and what is written as GGUF the file.
"""
import argparse
import filecmp
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T

from size import measure

sys.path.insert(0, str(Path(__file__).parent.parent / "decoder"))
import models

SIZES = models.Sizes(layers=22, width=2048, heads=32, kv_heads=4, feed_forward=5632, vocabulary=32000)


def more_bits(layer):
    """Source: llama.cpp, use_more_bits of llama-quant.cpp."""
    eighth = SIZES.layers // 8
    return layer < eighth or layer >= 7 * SIZES.layers // 8 or (layer - eighth) % 3 == 2


def kind(name, shape):
    if len(shape) == 1:
        return T.F32
    mixed = ("attn_v" in name or "ffn_down" in name) and more_bits(int(name.split(".")[1]))
    return T.Q6_K if mixed or name == "output.weight" else T.Q4_K


def records(rng, name, shape):
    if len(shape) == 1:
        return (1 + rng.standard_normal(shape) / 10).astype(np.float32)
    block, size = gguf.GGML_QUANT_SIZES[kind(name, shape)]
    data = rng.integers(0, 256, (shape[0], shape[1] // block, size), np.uint8)

    def factor(value):
        return (value * (1 + rng.random(data.shape[:2]) / 4)).astype(np.float16)[..., None].view(np.uint8)

    if kind(name, shape) == T.Q6_K:  # d at the end, below it 16 int8 scales
        data[..., -2:] = factor(0.02 / 16 / 64)
    else:  # d and dmin, then 6-bit scales and minima
        data[..., 0:2], data[..., 2:4] = factor(0.02 / 8 / 32), factor(0.02 / 32)
    return data.reshape(shape[0], -1)


def copied(paths, folder):
    """Seconds that cp of the files takes, whose pages are in memory."""
    copy = folder / "copy"
    copy.mkdir()
    took = measure(["cp", "--reflink=never", *paths, copy])[:2]
    subprocess.run(["rm", "-r", copy], check=True)
    return took


class Steps:
    def __init__(self, qtx, folder):
        self.qtx, self.folder = qtx, folder

    def run(self, name, arguments, bytes_of):
        took, busy, peak = measure([self.qtx, *arguments])
        paths = [p for p in bytes_of if p.exists()]
        size = sum(p.stat().st_size for p in paths)
        cp, cp_busy = copied(paths, self.folder)
        print(f"{name:18}{took:6.1f} s, {busy:6.1f} s of processor time; cp of {size / 1e6:6.0f} MB {cp:.2f} s, "
              f"{cp_busy:.2f} s: {took / cp:5.1f} times, {busy / cp_busy:5.1f} times; {peak} MB", flush=True)


def same(one, other):
    print("same bytes" if filecmp.cmp(one, other, shallow=False) else "OTHER BYTES", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("qtx", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--steps", default="convert,check,gguf,lower,check_lowered,lift,diff,back")
    options = parser.parse_args()
    source, model, low, lifted, back = (
        options.folder / n for n in ("llama.gguf", "llama.onnx", "low.onnx", "lifted.onnx", "back.gguf"))
    beside = [low.with_name(low.name + ".data"), lifted.with_name(lifted.name + ".data")]
    steps = Steps(options.qtx.resolve(), options.folder)
    try:
        if not source.exists():
            rng = np.random.default_rng(7)
            models.write("llama", source, SIZES, lambda name, shape: records(rng, name, shape), kind)
        count = sum(int(np.prod(shape)) for shape in models.shapes("llama", SIZES).values())
        print(f"{count / 1e6:.1f} M parameters in {source.stat().st_size / 1e6:.1f} MB", flush=True)
        source.read_bytes()
        written = {
            "convert": (["convert", source, "-o", model, "-q"], [source]),
            "check": (["check", model, "-q"], [source]),
            "gguf": (["convert", model, "--to", "gguf", "-o", back, "-q"], [back]),
            "lower": (["lower", model, "-o", low, "-q"], [low, beside[0]]),
            "check_lowered": (["check", low, "-q"], [low, beside[0]]),
            "lift": (["lift", low, "-o", lifted, "-q"], [lifted, beside[1]]),
            "diff": (["diff", model, lifted, "-q"], [source, lifted, beside[1]]),
            "back": (["convert", lifted, "--to", "gguf", "-o", back, "-q"], [back]),
        }
        for name in options.steps.split(","):
            steps.run(name, *written[name])
            if name in ("gguf", "back"):
                same(source, back)
    finally:
        if not options.keep:
            for path in (source, model, low, lifted, back, *beside):
                path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
