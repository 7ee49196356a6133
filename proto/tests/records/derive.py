#!/usr/bin/env python3
"""Records of ggml's formats and their reals: python3 derive.py [FOLDER [RECORDS]]

Writes TYPE_records.npy (UINT8 [rows, bytes]) and TYPE_reals.npy (FLOAT [rows, values]) into the folder, or beside this
file: records of random bytes, of all bits and of none, with binary16 factors of every size, and what
gguf.quants.dequantize of ggml's authors makes of them. Factors that are infinite or NaN are left out: a type with one
is refused.
Needs numpy and gguf (0.19.0).
"""
import os
import sys

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

# Where the binary16 factors of a record lie.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "TQ2_0": [64], "MXFP4": [],
          "NVFP4": []}
ROWS = 2
# Zeros, the least and the greatest subnormal, the least normal, one and the greatest, of both signs.
CODES = [0x0000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0x7bff]


def half(random, record):
    if record < 2 * len(CODES):
        return CODES[record // 2] | (0x8000 if record % 2 else 0)
    exponent = random.integers(0, 31)  # not 31: infinities and NaN
    return int(random.integers(0, 2) << 15 | exponent << 10 | random.integers(0, 1024))


def records_of(name, count, random):
    values, size = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    records = random.integers(0, 256, (count, size), dtype=np.uint8)
    records[0], records[1] = 0, 255
    for i, record in enumerate(records):
        for k, place in enumerate(HALVES[name]):
            record[place:place + 2] = np.array([half(random, i + k)], np.uint16).view(np.uint8)
        if name == "MXFP4":
            record[0] = min(record[0], 254)  # 255 is NaN
        if name == "NVFP4":
            nan = (record[:4] & 0x7f) == 0x7f
            record[:4][nan] &= 0xfe
    return records.reshape(ROWS, -1)


def main(folder, count):
    for seed, name in enumerate(HALVES):
        random = np.random.default_rng(20261127 + seed)
        records = records_of(name, count, random)
        with np.errstate(all="ignore"):
            reals = dequantize(records, GGMLQuantizationType[name])
        assert reals.dtype == np.float32 and not np.isnan(reals).any()
        np.save(os.path.join(folder, name.lower() + "_records.npy"), records)
        np.save(os.path.join(folder, name.lower() + "_reals.npy"), reals)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)),
         int(sys.argv[2]) if len(sys.argv) > 2 else 14)
