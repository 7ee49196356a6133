"""Parameters of ranges, in rational arithmetic, for parameters_test.cc.

    python3 derive_parameters.py > parameters.inc

The definitions are those of spec/format/quantization.md and, for what lies in the range, of Jacob
et al. 2018 and Glow (chooseQuantizationParams); fractions are exact, and a binary32 is found by
bisection over its bit patterns.
"""
import struct
from fractions import Fraction

STORAGES = {"kInt2": (-2, 1), "kUint2": (0, 3), "kInt4": (-8, 7), "kUint4": (0, 15),
            "kInt8": (-128, 127), "kUint8": (0, 255), "kInt16": (-32768, 32767),
            "kUint16": (0, 65535)}
RANGES = [(-1.0, 2.0), (0.0, 6.0), (0.25, 4.0), (-3.5, -0.5), (0.0, 0.0), (5.0, 5.0),
          (-0.1, 0.30000001192092896), (-1e-42, 1e-42), (-2.5, 2.5), (0.0, 1.401298464324817e-45),
          (-3.4028234663852886e38, 3.4028234663852886e38), (-1.5, 253.5), (-127.0, 1.0)]


def floats(bits):
    return Fraction(struct.unpack("<f", struct.pack("<I", bits))[0])


def round_up(value):
    """The least positive binary32 >= value, or None past the largest."""
    low, high = 1, 0x7F7FFFFF
    if floats(high) < value:
        return None
    while low < high:
        middle = (low + high) // 2
        if floats(middle) >= value:
            high = middle
        else:
            low = middle + 1
    return floats(low)


def power_up(value):
    power = Fraction(1, 2**149)
    while power < value:
        power *= 2
    return power if power < 2**128 else None


def half_even(value):
    low = value.numerator // value.denominator
    rest = value - low
    return low + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2 == 1))


def parameters(lo, hi, storage, scheme, narrow):
    qmin, qmax = STORAGES[storage]
    if narrow and qmin < 0:
        qmin = -qmax
    lo, hi = min(Fraction(lo), 0), max(Fraction(hi), 0)
    centred = scheme.startswith("kSymmetric") and (scheme != "kSymmetricUint8" or lo < 0)
    if centred:
        if qmin == 0 and lo < 0:
            return None
        scale = max(hi / qmax, lo / qmin if qmin else Fraction(0))
    else:
        scale = (hi - lo) / (qmax - qmin)
    if scale == 0:
        scale = Fraction(1)
    scale = (power_up if scheme.endswith("Pow2") else round_up)(scale)
    if scale is None:
        return None
    offset = 0 if centred else max(qmin, min(qmax, half_even(qmin - lo / scale)))
    return float(scale), offset


def main():
    for storage in STORAGES:
        for scheme in ("kAsymmetric", "kSymmetric", "kAsymmetricPow2", "kSymmetricPow2",
                       "kSymmetricUint8"):
            if scheme == "kSymmetricUint8" and storage not in ("kInt8", "kUint8"):
                continue
            for narrow in ((False, True) if storage == "kInt8" else (False,)):
                for lo, hi in RANGES:
                    found = parameters(lo, hi, storage, scheme, narrow)
                    scale, offset = found if found else (0.0, 0)
                    print("{%s, %s, {ElementType::%s, Scheme::%s, %s}, %sF, %d},"
                          % (lo.hex(), hi.hex(), storage, scheme, str(narrow).lower(),
                             scale.hex(), offset))


main()
