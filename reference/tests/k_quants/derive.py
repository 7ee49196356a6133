#!/usr/bin/env python3
"""Super-blocks of ggml's K-quants and their reals: python3 derive.py

Writes TYPE_blocks.npy (UINT8 [rows, bytes]) and TYPE_reals.npy (FLOAT [rows, weights]) beside this file: blocks of
random bytes with random binary16 factors, and what gguf.quants.dequantize of ggml's authors makes of them. Some blocks
have a factor of 0, and those of Q3_K and Q6_K factors below 0.
Needs numpy and gguf (0.19.0).
"""
import os

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS, SUPER_BLOCKS = 3, 2

# Where the binary16 factors of a super-block lie, and whether they may be negative.
FACTORS = {"Q2_K": ([80, 82], False), "Q3_K": ([108], True), "Q4_K": ([0, 2], False), "Q5_K": ([0, 2], False),
           "Q6_K": ([208], True)}


def factor(random, signed):
    if random.integers(8) == 0:
        return np.float16(0)
    # Subnormal ones and ones of an actual network's size.
    magnitude = np.float16(2.0 ** random.uniform(-24, -4) * random.uniform(1, 2))
    return -magnitude if signed and random.integers(2) else magnitude


def blocks_of(name, random):
    weights, size = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    assert weights == 256
    places, signed = FACTORS[name]
    blocks = random.integers(0, 256, (ROWS * SUPER_BLOCKS, size), dtype=np.uint8)
    for block in blocks:
        for place in places:
            block[place:place + 2] = np.array([factor(random, signed)]).view(np.uint8)
    # The last block has sub-blocks of scale 0, whatever the bytes mean.
    if name != "Q3_K":
        scales = {"Q2_K": slice(0, 16), "Q4_K": slice(4, 16), "Q5_K": slice(4, 16), "Q6_K": slice(192, 208)}[name]
        blocks[-1, scales][::3] = 0
    return blocks.reshape(ROWS, SUPER_BLOCKS * size)


for seed, name in enumerate(sorted(FACTORS)):
    data = blocks_of(name, np.random.default_rng(20260000 + seed))
    reals = dequantize(data, GGMLQuantizationType[name])
    assert reals.dtype == np.float32 and np.isfinite(reals).all()
    np.save(os.path.join(HERE, name.lower() + "_blocks.npy"), data)
    np.save(os.path.join(HERE, name.lower() + "_reals.npy"), reals)
