"""LOGISTIC, TANH and SOFTMAX of 16 bits (tflite_float64.S4, S5)."""
import functools
import math
from fractions import Fraction

from .. import reals as R


def takes(x, y):
    return all(t.type.code == 1005 and t.single and not t.offset for t in (x, y)) and y.scale == 2.0 ** -15


def exp(t):
    """exp of a rational to 60 digits: no entry of a table is that near to a tie."""
    term = total = Fraction(1)
    small = Fraction(t) / 64
    for n in range(1, 40):
        term = (term * small / n).limit_denominator(10 ** 90)
        total += term
    for _ in range(6):
        total = (total * total).limit_denominator(10 ** 90)
    return total


@functools.cache
def sigmoid_entry(i):
    def f(t):
        return 2 ** 16 / (1 + exp(-t / 24))
    i = Fraction(i)
    return 2 ** 16 - 1 if i == 255 else R.half_away(f(i) * Fraction(3, 4) - f(i + 1) / 4 + f(i + Fraction(1, 2)) / 2)


def of_table(name, scale):
    s, shift = scale * 12288, 0
    while s <= 32767 / 2 and shift < 31:
        s, shift = s * 2, shift + 1
    m, bits = math.floor(s), 8 if name == "tanh" else 9

    def one(stored):
        v = stored * m + (1 << shift - 1 if shift else 0) >> shift
        i, rest = abs(v) >> bits, abs(v) % (1 << bits)
        r = (65535 << 8 if name == "tanh" else 32767 << 10) if i >= 255 else (
            (sigmoid_entry(i) << bits) + rest * (sigmoid_entry(i + 1) - sigmoid_entry(i)))
        if name == "tanh":
            return (r - 2 ** 23 + 128 if v >= 0 else 2 ** 23 - r + 127) >> 8
        return (r + 512 if v >= 0 else 2 ** 25 - r + 511) >> 10
    return one


@functools.cache
def sample(kind, i):
    """Entry i of the table of exp over [-10, 0] or of 1 / (1 + t) over [0, 1]."""
    def f(t):
        return 2 ** 15 * exp(10 * (t - 512) / 512) if kind == "exp" else Fraction(2 ** 15) / (1 + t / 512)
    i = Fraction(i)
    if i == 512:
        return 2 ** 15 - 1 if kind == "exp" else 2 ** 14
    first = R.half_away(f(i))
    too_high = R.half_away((f(i + 1) + first) / 2) - R.half_away(f(i + Fraction(1, 2)))
    return R.saturate(first - R.half_away(Fraction(too_high, 2)), 16)


def look_up(kind, v):
    i = 256 + (v >> 7)
    return sample(kind, i) + ((sample(kind, i + 1) - sample(kind, i)) * (v % 128) + 64 >> 7)


def softmax(steps):
    """The row whose differences to its greatest value, in units of 10 / 65535, are `steps`."""
    e = [look_up("exp", R.saturate(d + 2 ** 15 - 1, 16)) for d in steps]
    total = sum(e)
    zeros = 32 - total.bit_length()
    inverse = look_up("1/(1+t)", R.saturate(((total << zeros - 1) + 2 ** 13 >> 14) - 2 ** 15 - 2 ** 16, 16))
    return [min(max(v * inverse + (1 << 30 - zeros) >> 31 - zeros, 0), 2 ** 15 - 1) for v in e]
