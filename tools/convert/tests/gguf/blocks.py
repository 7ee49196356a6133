"""Blocks of ggml's types, as bytes: random ones, and those at the edges of what their bits can say."""
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES

PLAIN = [T.F32, T.F16, T.BF16, T.F64, T.I8, T.I16, T.I32, T.I64]
OPAQUE = [T.Q8_K, T.Q1_0]

# Bytes at which a record has a binary16, by type.
HALVES = {
    T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0],
    T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208],
    T.IQ4_NL: [0], T.IQ4_XS: [0], T.TQ1_0: [52], T.TQ2_0: [64],
    T.IQ2_XXS: [0], T.IQ2_XS: [0], T.IQ2_S: [0], T.IQ3_XXS: [0], T.IQ3_S: [0], T.IQ1_S: [0],
}
# Bytes that are a factor of 8 bits, and the codes that are finite and not negative.
BYTES = {T.MXFP4: ([0], 255), T.NVFP4: ([0, 1, 2, 3], 127)}
QUANTIZED = [*HALVES, T.IQ1_M, *BYTES]

# 0, -0, both least subnormals, 1, -1, the greatest, the least normal, a number of 11 bits.
EDGE_HALVES = [0x0000, 0x8000, 0x0001, 0x8001, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x0400, 0x83FF, 0x3555]


def set_half(blocks, qtype, which, codes):
    """Writes binary16 codes into the `which`-th place of all records."""
    codes = np.asarray(codes, dtype=np.uint16)
    if qtype == T.IQ1_M:  # 4 bits at the top of each of four words
        words = blocks[:, 48:56].copy().view(np.uint16) & np.uint16(0x0FFF)
        for i in range(4):
            words[:, i] |= ((codes >> np.uint16(4 * i)) & np.uint16(15)) << np.uint16(12)
        blocks[:, 48:56] = words.view(np.uint8)
        return
    at = HALVES[qtype][which]
    blocks[:, at:at + 2] = codes.reshape(-1, 1).view(np.uint8).reshape(-1, 2)


def random_halves(rng, count):
    codes = rng.integers(0, 1 << 16, count, dtype=np.uint16)
    return np.where((codes & 0x7C00) == 0x7C00, codes & np.uint16(0xBFFF), codes)


def set_factors(blocks, qtype, rng, edges):
    count = len(blocks)
    if qtype in BYTES:
        places, limit = BYTES[qtype]
        for at in places:
            codes = rng.integers(0, limit, count, dtype=np.uint8)
            if edges:
                codes = rng.choice(np.array([0, 1, 2, limit - 1], dtype=np.uint8), count)
            blocks[:, at] = codes
        return
    for which in range(len(HALVES.get(qtype, [0]))):
        codes = random_halves(rng, count)
        if edges:
            codes = rng.choice(np.array(EDGE_HALVES, dtype=np.uint16), count)
        set_half(blocks, qtype, which, codes)


def ternary(blocks):
    """Only bytes that a quantizer of TQ1_0 writes: fractions of five digits, of four at the end."""
    for at in range(52):
        number = blocks[:, at].astype(np.uint32) * (81 if at >= 48 else 243) // 256
        number = number * (3 if at >= 48 else 1)
        blocks[:, at] = (number * 256 + 242) // 243


def make(qtype, count, rng, bits="random", edges=False):
    """`count` records; `bits` is random, zeros or ones, `edges` chooses the factors."""
    size = GGML_QUANT_SIZES[qtype][1]
    fill = {"zeros": 0, "ones": 255}
    blocks = np.full((count, size), fill.get(bits, 0), dtype=np.uint8)
    if bits == "random":
        blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    if qtype == T.TQ1_0:
        ternary(blocks)
    if qtype in QUANTIZED:
        set_factors(blocks, qtype, rng, edges)
    return blocks


def reals(blocks, qtype):
    """What the gguf package makes of the records, in binary32."""
    with np.errstate(all="ignore"):
        return quants.dequantize(blocks, qtype).astype(np.float32).reshape(-1)
