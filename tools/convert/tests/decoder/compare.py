#!/usr/bin/env python3
"""compare.py QTX [--arithmetics exact,float32] [--cases llama,...]

Small decoders of each architecture, as GGUF files with random F32 weights, through `qtx convert` and `qtx run`, against llama.cpp.

Each case: 8 tokens at once, then 4 tokens one by one with the cache. Prints the largest difference of a logit, relative to the
largest logit, and holds it to BOUNDS; and that `qtx convert` gives the GGUF file back byte for byte.
Needs numpy, gguf 0.19 and llama-cpp-python 0.3.36. Status: 1 a difference; 77 a package is missing.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy

    import models
    import llama_cpp  # noqa: F401, models uses it
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SIZES = models.Sizes(layers=2, width=64, heads=4, kv_heads=2, feed_forward=176, vocabulary=320)
PROMPT, STEPS = 8, 4
# Sums of up to 176 products in another order; ggml's GELU, of Gemma, reads a table of binary16 by a binary16 argument.
BOUNDS = {"gemma": 3e-3, "": 1e-5}


def decode(qtx, model, folder, arithmetic, tokens, layers, kv_heads, size):
    """Logits [tokens, vocabulary] of `qtx run`: PROMPT tokens, then one by one."""
    cache = {f"past_key_values.{i}.{part}": numpy.zeros((1, kv_heads, 0, size), numpy.float32)
             for i in range(layers) for part in ("key", "value")}
    rows, seen = [], 0
    for part in [tokens[:PROMPT]] + [[token] for token in tokens[PROMPT:]]:
        positions = numpy.arange(seen, seen + len(part))[None]
        numpy.savez(folder / "in.npz", input_ids=numpy.array([part]), position_ids=positions, **cache)
        subprocess.run([qtx, "run", model, "--arithmetic", arithmetic, "--input", folder / "in.npz",
                        "--output-dir", folder, "-q"], check=True)
        rows.append(numpy.load(folder / "logits.npy")[0])
        cache = {name: numpy.load(folder / f"{name.replace('past_key_values', 'present')}.npy") for name in cache}
        seen += len(part)
    return numpy.concatenate(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qtx")
    parser.add_argument("--arithmetics", default="exact,float32")
    parser.add_argument("--cases", default=",".join(models.CASES))
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in options.cases.split(","):
            rng = numpy.random.default_rng(len(case))
            tokens = rng.integers(0, SIZES.vocabulary, PROMPT + STEPS).tolist()

            def random(tensor, shape):
                values = rng.standard_normal(shape).astype(numpy.float32) / numpy.sqrt(shape[-1], dtype=numpy.float32)
                if "norm" in tensor or "freqs" in tensor:
                    values = 1 + abs(values)
                return values if "embd" not in tensor else 4 * values

            models.write(case, folder / "model.gguf", SIZES, random)
            llama = models.LlamaCpp(folder / "model.gguf")
            expected = numpy.concatenate([llama(tokens[:PROMPT])] + [llama([token]) for token in tokens[PROMPT:]])
            subprocess.run([options.qtx, "convert", folder / "model.gguf", "-o", folder / "model.onnx", "-q"], check=True)
            subprocess.run([options.qtx, "convert", folder / "model.onnx", "-o", folder / "back.gguf", "-q"], check=True)
            same = (folder / "back.gguf").read_bytes() == (folder / "model.gguf").read_bytes()
            size = models.CASES[case][1].get("attention.key_length", SIZES.width // SIZES.heads)
            for arithmetic in options.arithmetics.split(","):
                found = decode(options.qtx, folder / "model.onnx", folder, arithmetic, tokens, SIZES.layers,
                               SIZES.kv_heads, size)
                error = abs(found - expected).max() / abs(expected).max()
                bound = BOUNDS["gemma" if case.startswith("gemma") else ""]
                agrees = found.shape == expected.shape and error <= bound
                failed |= not (agrees and same)
                print(f"{case:22} {arithmetic:8} {error:.2e} {'' if agrees else 'TOO FAR '}"
                      f"{'same bytes back' if same else 'OTHER BYTES BACK'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
