#!/usr/bin/env python3
"""Writes all_types.gguf, a tensor of each type of ggml, and all_types.f32, the reals that the gguf
package (0.19.0) gives them, one tensor after the other in binary32.  Use: golden.py FOLDER"""
import sys
from pathlib import Path

import numpy as np

import blocks as make_blocks
from gguf.constants import GGML_QUANT_SIZES
from hold import write


def main():
    folder = Path(sys.argv[1])
    rng = np.random.default_rng(29)
    tensors, reals = {}, []
    for qtype in make_blocks.PLAIN + make_blocks.OPAQUE + make_blocks.QUANTIZED:
        count = max(256 // GGML_QUANT_SIZES[qtype][0], 1)
        plain = qtype in make_blocks.PLAIN
        data = make_blocks.make(qtype, 8 if plain else count, rng)
        if not plain and qtype not in make_blocks.OPAQUE:
            reals.append(make_blocks.reals(data, qtype))
        tensors[qtype.name] = (data.reshape(2 if plain or count % 2 == 0 else 1, -1), qtype)
    write(folder / "all_types.gguf", tensors)
    np.concatenate(reals).tofile(folder / "all_types.f32")


if __name__ == "__main__":
    main()
