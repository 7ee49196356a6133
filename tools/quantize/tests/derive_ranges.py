"""Ranges of each method, by definition, for range_test.cc.

    python3 derive_ranges.py histograms > histograms.inc; python3 derive_ranges.py > ranges.inc

Plain Python with fractions for all but logarithms and powers. Histograms have few bins so that the
definitions can be followed; the entropy method has as many as NVIDIA's text says.
"""
import math
import struct
import sys
from fractions import Fraction as F


def f32_up(value):
    low, high = 1, 0x7F7FFFFF
    while low < high:
        middle = (low + high) // 2
        if F(struct.unpack("<f", struct.pack("<I", middle))[0]) >= value:
            high = middle
        else:
            low = middle + 1
    return F(struct.unpack("<f", struct.pack("<I", low))[0])


def half_even(value):
    return round(value)  # of a Fraction: exact, ties to even


def params(lo, hi, qmin, qmax, symmetric):
    lo, hi = min(F(lo), F(0)), max(F(hi), F(0))
    scale = max(hi / qmax, lo / qmin) if symmetric else (hi - lo) / (qmax - qmin)
    scale = f32_up(scale)
    offset = 0 if symmetric else max(qmin, min(qmax, half_even(qmin - lo / scale)))
    return scale, offset


class Histogram:
    def __init__(self, lower, upper, counts, lo, hi):
        self.lower, self.upper, self.lo, self.hi = F(lower), F(upper), F(lo), F(hi)
        width = (self.upper - self.lower) / len(counts)
        self.counts = [c if self.lower + width * (i + 1) > self.lo and self.lower + width * i < self.hi
                       else 0 for i, c in enumerate(counts)]

    def masses(self):
        width = (self.upper - self.lower) / len(self.counts)
        for i, count in enumerate(self.counts):
            if count:
                a, b = self.lower + width * i, self.lower + width * (i + 1)
                yield max(a, self.lo), min(b, self.hi), F(count)


def quantile(masses, wanted):
    seen = F(0)
    for a, b, count in masses:
        if seen + count >= wanted:
            return a + (b - a) * max(F(0), (wanted - seen) / count)
        seen += count


def magnitudes(masses):
    out = []
    for a, b, count in masses:
        if a >= 0:
            out.append((a, b, count))
        elif b <= 0:
            out.append((-b, -a, count))
        else:
            out += [(F(0), -a, count * -a / (b - a)), (F(0), b, count * b / (b - a))]
    return out


def percentile(h, percent, symmetric):
    masses = list(h.masses())
    total = sum(c for _, _, c in masses)
    outside = (100 - F(percent)) / 100 * total
    if not symmetric:
        return quantile(masses, outside / 2), quantile(masses, total - outside / 2)
    # The threshold within which total - outside lie: cut the line at every end of a mass.
    parts = magnitudes(masses)
    ends = sorted({e for a, b, _ in parts for e in (a, b)})
    seen = F(0)
    for a, b in zip(ends, ends[1:]):
        inside = sum(c * (b - a) / (y - x) for x, y, c in parts if x <= a and b <= y)
        if seen + inside >= total - outside:
            t = a + (b - a) * (total - outside - seen) / inside
            break
        seen += inside
    return max(-t, h.lo), min(t, h.hi)


def error(h, p, qmin, qmax, symmetric):
    masses = list(h.masses())
    parts = -(-2048 // len(masses))
    points = [(a + (b - a) * F(2 * i + 1, 2 * parts), c / parts) for a, b, c in masses for i in range(parts)]

    def cost(lo, hi):
        scale, offset = params(lo, hi, qmin, qmax, symmetric)
        s = float(scale)
        total = []
        for x, c in points:
            x = float(x)
            stored = max(qmin - offset, min(qmax - offset, round(x / s)))
            total.append(float(c) * abs(x - stored * s) ** p)
        return math.fsum(total)

    steps = range(100, 0, -1)
    if not symmetric and h.lo < 0 < h.hi:
        grid = [(h.lo * j / 100, h.hi * k / 100) for j in steps for k in steps]
    else:
        top = max(-h.lo, h.hi)
        grid = [(max(h.lo, -top * k / 100), min(h.hi, top * k / 100)) for k in steps]
    return min(grid, key=lambda r: cost(*r))


def entropy(h, bits, symmetric):
    """The algorithm of the slides, over 2048 bins of |x|."""
    size = 2048
    top = max(-h.lo, h.hi)
    width = top / size
    bins = [F(0)] * size
    for a, b, c in magnitudes(h.masses()):
        first, last = min(size - 1, int(a / width)), min(size - 1, int(b / width))
        for i in range(first, last + 1):
            inside = min(b, width * (i + 1) if i < last else b) - max(a, width * i)
            bins[i] += c * inside / (b - a)
    # The statistics' own bin of zero, as far as it reaches on either side, counts as the next.
    reach = max((max(-a, b) for a, b, _ in h.masses() if a <= 0 <= b), default=F(0))
    covered = max(1, math.ceil(reach / width))
    bins[:covered] = [bins[covered]] * covered
    one_sided = h.lo >= 0 or h.hi <= 0
    levels = 2 ** (bits if one_sided and not symmetric else bits - 1)
    total = sum(bins)
    numbers = [float(b) for b in bins]
    best = None
    for kept in range(levels, size + 1):
        inside = math.fsum(numbers[:kept])
        outside = 0.0 if kept == size else float(total) - inside
        if inside < outside:
            continue
        p = numbers[:kept]
        p[-1] += outside
        divergence = []
        for j in range(levels):
            level = range(j * kept // levels, (j + 1) * kept // levels)
            filled = [i for i in level if numbers[i] > 0]
            if any(p[i] > 0 and numbers[i] == 0 for i in level):
                divergence = [math.inf]
                break
            mass = math.fsum(numbers[i] for i in level)
            for i in filled:
                pi = p[i] / float(total)
                divergence.append(pi * math.log(pi / (mass / len(filled) / inside)))
        value = math.fsum(divergence)
        if best is None or value <= best[0]:
            best = value, kept
    t = min(top, (F(best[1]) + F(1, 2)) * width)
    return max(h.lo, -t), min(h.hi, t)


def bell(lower, upper, bins, centre, spread, scale):
    width = (upper - lower) / bins
    return [int(scale * math.exp(-0.5 * ((lower + width * (i + 0.5) - centre) / spread) ** 2))
            for i in range(bins)]


HISTOGRAMS = {
    "kBell": Histogram(-8, 8, bell(-8, 8, 64, 0.5, 1.0, 40000), -3.75, 4.75),
    "kTail": Histogram(0, 16, [int(90000 * math.exp(-i / 3)) + 7 * i % 11 for i in range(32)], 0, 16),
    "kSkewed": Histogram(-2, 6, bell(-2, 6, 128, 1.0, 0.75, 30000), -2, 4.125),
    # After a Relu: half of all are 0, in a bin that covers six of those that are merged.
    "kRelu": Histogram(0, 8, [70000] + bell(0, 8, 512, 0, 1.0, 900)[1:], 0, 5),
}


def write_histograms():
    for name, h in HISTOGRAMS.items():
        print("const format::Statistics %s = Of(%s, %s, {%s}, %s, %s);"
              % (name, float(h.lower), float(h.upper), ", ".join(map(str, h.counts)), float(h.lo),
                 float(h.hi)))


def emit(name, method, storage, found):
    print("{%s, \"%s\", {ElementType::%s, Scheme::%s}, %s, %s},"
          % (name, method, storage[0], "kSymmetric" if storage[3] else "kAsymmetric",
             float(found[0]).hex(), float(found[1]).hex()))


def main():
    for name, h in HISTOGRAMS.items():
        for storage in (("kInt8", -128, 127, False), ("kInt8", -128, 127, True),
                        ("kInt4", -8, 7, False)):
            _, qmin, qmax, symmetric = storage
            emit(name, "minmax", storage, (h.lo, h.hi))
            for percent in ("99", "99.9"):
                emit(name, "percentile=" + percent, storage, percentile(h, float(percent), symmetric))
            for method, p in (("mse", 2), ("lp=1", 1), ("lp=2.5", 2.5)):
                if h.lo < 0 and not symmetric and p != 2:
                    continue  # 10,000 ranges each: minutes
                emit(name, method, storage, error(h, p, qmin, qmax, symmetric))
            emit(name, "entropy", storage, entropy(h, 8 if qmax > 7 else 4, symmetric))


if __name__ == "__main__":
    write_histograms() if sys.argv[1:] == ["histograms"] else main()
