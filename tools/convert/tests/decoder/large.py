#!/usr/bin/env python3
"""large.py QTX [--tokens 32] [--arithmetics exact,ggml] [--folder F]

A llama of 110 M random parameters in Q4_K and Q6_K through `qtx convert`, `check` and `run`: sizes, times, largest memory.

12 layers of width 768, 12 heads, 4 of keys, 2048 wide in between, 32,000 tokens: as llama.cpp mixes Q4_K_M, the embedding, output and
half of attn_v and ffn_down are Q6_K, the rest Q4_K, and norms F32; the blocks are random ones whose factors give weights of about
0.02. The tokens go in at once, and then one more with the cache. Files are deleted. Needs numpy and gguf 0.19.
"""
import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import gguf
import numpy

import models

SIZES = models.Sizes(layers=12, width=768, heads=12, kv_heads=4, feed_forward=2048, vocabulary=32000)
TYPES = gguf.GGMLQuantizationType


def kind(name, shape):
    if len(shape) == 1:
        return TYPES.F32
    six = "embd" in name or name == "output.weight" or (("attn_v" in name or "ffn_down" in name) and int(name.split(".")[1]) % 2)
    return TYPES.Q6_K if six else TYPES.Q4_K


def records(rng, name, shape):
    """Random codes and block scales; factors of binary16 that give weights of about 0.02."""
    if len(shape) == 1:
        return (1 + rng.standard_normal(shape) / 10).astype(numpy.float32)
    block, size = gguf.GGML_QUANT_SIZES[kind(name, shape)]
    data = rng.integers(0, 256, (shape[0], shape[1] // block, size), numpy.uint8)

    def factor(value):
        return (value * (1 + rng.random(data.shape[:2]) / 4)).astype(numpy.float16)[..., None].view(numpy.uint8)

    if kind(name, shape) == TYPES.Q6_K:  # 6-bit codes less 32, int8 scales, d
        data[..., -2:] = factor(0.02 / 16 / 64)
    else:  # d, dmin, 6-bit scales and minima, 4-bit codes
        data[..., 0:2], data[..., 2:4] = factor(0.02 / 8 / 32), factor(0.02 / 32)
    return data.reshape(shape[0], -1)


def run(*command):
    begin = time.monotonic()
    process = subprocess.Popen([str(word) for word in command])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command} ends with {status}")
    return f"{time.monotonic() - begin:8.1f} s {usage.ru_utime + usage.ru_stime:8.1f} s of CPU {usage.ru_maxrss / 1024:8.0f} MiB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qtx")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--arithmetics", default="exact")
    parser.add_argument("--folder")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rng = numpy.random.default_rng(7)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        model, onnx, feed = folder / "model.gguf", folder / "model.onnx", folder / "in.npz"
        models.write("llama", model, SIZES, lambda name, shape: records(rng, name, shape), kind)
        count = sum(int(numpy.prod(shape)) for shape in models.shapes("llama", SIZES).values())
        print(f"{count / 1e6:.1f} M parameters in {model.stat().st_size / 1e6:.1f} MB", flush=True)
        print("convert      ", run(options.qtx, "convert", model, "-o", onnx, "-q"),
              f"{onnx.stat().st_size / 1e3:.0f} kB of ONNX", flush=True)
        print("check        ", run(options.qtx, "check", onnx, "-q"), flush=True)
        print("convert back ", run(options.qtx, "convert", onnx, "-o", folder / "back.gguf", "-q"), flush=True)
        print("             ", "same bytes" if (folder / "back.gguf").read_bytes() == model.read_bytes() else "OTHER BYTES")
        tokens = rng.integers(0, SIZES.vocabulary, options.tokens + 1)
        size = SIZES.width // SIZES.heads
        for arithmetic in options.arithmetics.split(","):
            cache = {f"past_key_values.{i}.{part}": numpy.zeros((1, SIZES.kv_heads, 0, size), numpy.float32)
                     for i in range(SIZES.layers) for part in ("key", "value")}
            for begin, end in ((0, options.tokens), (options.tokens, options.tokens + 1)):
                numpy.savez(feed, input_ids=tokens[None, begin:end], position_ids=numpy.arange(begin, end)[None], **cache)
                spent = run(options.qtx, "run", onnx, "--arithmetic", arithmetic, "--input", feed, "--output-dir", folder, "-q")
                print(f"{arithmetic:8} {end - begin:3} tokens", spent, flush=True)
                cache = {key: numpy.load(folder / f"{key.replace('past_key_values', 'present')}.npy") for key in cache}
            logits = numpy.load(folder / "logits.npy")
            print(f"         logits from {logits.min():.3f} to {logits.max():.3f}, all finite: {numpy.isfinite(logits).all()}")


if __name__ == "__main__":
    main()
