"""The rules of spec/format/quantization.md, statistics.md, requantization.md and shape.md."""
import math
from fractions import Fraction

from . import reals as R
from .encoding import BASE, SCALE, read_encoding
from .types import TYPES, Quant, elements, is_power_of_two, require

STORAGES = {t.storage: t for t in TYPES.values() if t.quantized}
FACTOR_TYPES = ("FLOAT", "FLOAT16", "BFLOAT16", "FLOAT8E8M0", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2",
                "FLOAT8E5M2FNUZ", "UINT8", "INT8", "UINT4", "INT4", "UINT2", "INT2")


HALVES = ("FLOAT16", "BFLOAT16")
REALS = ("FLOAT",) + HALVES


def check_axes(axis, shape, clause):
    """quantization.C7, statistics.C3, shape.C3."""
    if not axis:
        return
    require(shape is not None, "shape.C3", "a type with axes has no shape")
    require(all(0 <= a < len(shape) for a in axis) and len(set(axis)) == len(axis), clause, "axes %s" % axis)
    require(all(isinstance(shape[a], int) for a in axis), "shape.C3" if clause != "statistics.C3" else clause,
            "an axis has no fixed size")


def blocks(shape, axis, block):
    return elements([-(-shape[a] // b) for a, b in zip(axis, block)])


def read_quantization(m, type_, shape, initializers, is_initializer, records=None):
    """The checked parameters of a type, None for an annotation, and the version of the format that it asks for.
    `records` is the UINT8 tensor of an initializer with an encoding."""
    C = "quantization.C%d"
    storage = type_
    if type_.quantized:
        require(m.storage_type is None, C % 12, "storage_type beside a quantized type")
    elif m.storage_type is not None:
        require(m.storage_type in STORAGES, C % 12, "storage_type %d" % m.storage_type)
        storage = STORAGES[m.storage_type]
    else:
        storage = None
    if m.real_type is not None:
        known = [TYPES[c].name for c in (m.real_type,) if c in TYPES]
        require(known and known[0] in (REALS if type_.quantized else (type_.name,)), C % 22, "real_type %d" % m.real_type)
    check_axes(m.axis, shape, C % 7)
    block = list(m.block_shape) or [1] * len(m.axis)
    require(not m.block_shape or len(m.block_shape) == len(m.axis) and min(m.block_shape) >= 1, C % 8)
    n = blocks(shape, m.axis, block) if m.axis else 1
    sources = bool(m.scale) + (m.scale_tensor is not None) + bool(m.scale_levels)
    require(sources == 1 or sources == 0 and n == 0, C % 1, "%d sources of scales" % sources)
    require(not (m.offset and m.offset_tensor is not None), C % 1, "offset and offset_tensor")
    positive = type_.quantized and not is_initializer  # scales of 0 and below are for constants
    for levels in (m.scale_levels, m.base_levels):
        require(len(levels) <= 4, C % 13, "more than 4 levels")
    encoding = read_encoding(m, type_, storage, shape, m.axis, block, records)
    of_scales, of_bases = None, None
    if m.scale_levels:
        scales, of_scales = level_product(m.scale_levels, m.axis, block, shape, n, initializers, True, positive, encoding)
    elif m.scale_tensor is not None:
        t = initializers.get(m.scale_tensor)
        require(t is not None and t.type.name == "FLOAT", C % 11, "scale_tensor is no FLOAT initializer")
        scales = list(t.data)
    else:
        scales = list(m.scale)
    require(len(scales) == n, C % 3, "%d scales, not %d" % (len(scales), n))
    require(all(math.isfinite(s) and (s > 0 or not positive) for s in scales), C % 2, "a scale is not finite and above 0")
    book = read_code_book(m, type_, storage, initializers, is_initializer)
    if m.offset_tensor is not None:
        t = initializers.get(m.offset_tensor)
        require(t is not None and t.type.plain and t.type.kind == "int" and t.type.bits <= 32, C % 11, "offset_tensor")
        offsets = list(t.data)
        require(all(o < 2 ** 31 for o in offsets), C % 11)
        require(len(offsets) == n, C % 4)
    else:
        offsets = list(m.offset)
        require(not offsets or len(offsets) == n, C % 4, "%d offsets for %d scales" % (len(offsets), n))
    offsets = offsets or [0] * n
    lo, hi = (storage.lo, storage.hi) if storage is not None else (-2 ** 63, 2 ** 63)
    if storage is not None:
        if storage.kind == "int":
            require(all(lo <= o <= hi for o in offsets), C % 5, "an offset is outside the storage")
        else:
            require(not any(offsets), C % 6, "an offset of %s" % storage)
        least = lo if m.quant_min is None else m.quant_min
        greatest = hi if m.quant_max is None else m.quant_max
        if storage.kind == "small":
            require(m.quant_min is None and m.quant_max is None, C % 9)
        elif storage.kind == "bipolar":
            require(least in (-1, 1) and greatest in (-1, 1) and least <= greatest, C % 9)
        else:
            require(lo <= least <= greatest <= hi, C % 9, "the range %d to %d" % (least, greatest))
        lo, hi = least, greatest
    check_scheme(m, storage, scales, offsets)
    bases = None
    if m.base_levels:
        require(storage is None or storage.kind == "int", C % 17)
        require(not type_.quantized or is_initializer, C % 17, "a base on a value that is no initializer")
        bases, of_bases = level_product(m.base_levels, m.axis, block, shape, n, initializers, False, False, encoding)
        for s, o, b in zip(scales, offsets, bases):
            if b and book is not None:
                require(all(is_binary64(Fraction(s) * Fraction(v) + Fraction(b)) for v in book), C % 21, "a sum")
            elif b and s:
                check_base(abs(Fraction(s)), o, Fraction(b), lo, hi)
    if m.requantization is not None:
        r = m.requantization
        require(len(r.multiplier) == len(r.shift) >= 1, "requantization.C1")
        require(all(v >= 2 ** 30 for v in r.multiplier) and all(-62 <= s <= 62 for s in r.shift), "requantization.C2")
    signed = any(s <= 0 for s in scales)
    version = 3 if signed or book is not None or encoding is not None else 2 if m.scale_levels or m.base_levels else 1
    if not type_.quantized:
        return None, version
    quant = Quant(type_, scales, offsets, list(m.axis), list(m.block_shape), lo, hi, bases, m.requantization, m,
                  book, encoding, signed)
    quant.of_scales, quant.of_bases = of_scales, of_bases
    return quant, version


def read_code_book(m, type_, storage, initializers, is_initializer):
    """quantization.C19: the values of all codes, or None."""
    C19 = "quantization.C19"
    if not m.code_book and m.code_book_tensor is None:
        return None
    require(not m.code_book or m.code_book_tensor is None, C19, "code_book and code_book_tensor")
    require(not type_.quantized or is_initializer, C19, "a code book on a value that is no initializer")
    require(storage is not None and storage.name in ("UINT2Q", "UINT4Q", "UINT8Q"), C19, "a code book on %s" % storage)
    beside = (m.offset, m.offset_tensor is not None, m.quant_min is not None, m.quant_max is not None, m.scheme)
    require(not any(beside), C19, "an offset, a range or a scheme beside a code book")
    book = m.code_book
    if m.code_book_tensor is not None:
        t = initializers.get(m.code_book_tensor)
        require(t is not None and t.type.name == "FLOAT", C19, "code_book_tensor is no FLOAT initializer")
        book = t.data
    require(len(book) == 2 ** storage.bits, C19, "%d values in a code book of %s" % (len(book), storage))
    require(all(math.isfinite(v) for v in book), C19, "a value of a code book is not finite")
    return list(book)


def is_binary64(x):
    return Fraction(R.float64(x)) == x


def check_scheme(m, storage, scales, offsets):
    """quantization.C10."""
    scheme = m.scheme or 0
    clause = "quantization.C10"
    require(0 <= scheme <= 5, clause, "scheme %d" % scheme)
    if scheme in (2, 4):
        require(not any(offsets), clause, "an offset of a symmetric scheme")
    if scheme in (3, 4):
        require(all(is_power_of_two(s) for s in scales), clause, "a scale is no power of two")
    if scheme == 5:
        int8 = storage is not None and storage.name == "INT8Q"
        require(all(o == 0 or o == -128 and int8 for o in offsets), clause)
    require(scheme not in (2, 4, 5) or not m.base_levels, clause, "a base of a symmetric scheme")


def level_product(levels, axis, block, shape, n, initializers, is_scale, positive=False, encoding=None):
    """quantization.S6, C13 to C16: the parameters, and of each the factor of the first level and the product of the
    others, a binary32 too."""
    C = "quantization.C%d"
    totals, signs = [Fraction(1)] * n, [1.0] * n
    first, others = [0.0] * n, [Fraction(1)] * n
    fine = block
    for k, level in enumerate(levels):
        own = list(level.block_shape) or block
        require(not level.block_shape or len(level.block_shape) == len(axis) and min(level.block_shape) >= 1, C % 14)
        if k == 0 and is_scale:
            require(own == block, C % 14, "the first level has other blocks than the type")
        require(all(b % f == 0 or b >= shape[a] for a, b, f in zip(axis, own, fine)), C % 14, "blocks %s" % own)
        fine = own
        count = blocks(shape, axis, own) if axis else 1
        role = SCALE if is_scale else BASE
        in_records = encoding is not None and encoding.data is not None and (role, k) in encoding.fields
        sources = bool(level.value) + (level.tensor is not None) + in_records
        require(sources == 1 or sources == 0 and count == 0, C % 13)
        if level.tensor is not None:
            t = initializers.get(level.tensor)
            require(t is not None and t.type.name in FACTOR_TYPES and t.quant is None, C % 15, "a tensor of a level")
            values = t.data
        elif in_records:
            values = encoding.read_factors(role, k, own, encoding.data)
        else:
            values = level.value
        require(len(values) == count, C % 13, "%d factors, not %d" % (len(values), count))
        for v in values:
            require(math.isfinite(v), C % 16)
            require(v > 0 or not positive, C % 16)
        for p in range(n):
            at, rest, step = 0, p, 1
            for a, b, o in reversed(list(zip(axis, block, own))):
                size = -(-shape[a] // b)
                at += rest % size * b // o * step
                rest //= size
                step *= -(-shape[a] // o)
            totals[p] *= Fraction(values[at])
            if k == 0:
                first[p] = float(values[at])
            else:
                others[p] *= Fraction(values[at])
            signs[p] *= math.copysign(1, values[at])
    out = [math.copysign(R.float32(t), s) for t, s in zip(totals, signs)]
    require(all(math.isfinite(v) and (v > 0 or not positive) for v in out), C % 16, "a product of factors")
    return out, (first, [R.float32(t) for t in others])


def check_base(s, offset, b, lo, hi):
    """quantization.C18."""
    def lowest(x):
        return R.pow2((abs(x.numerator) & -abs(x.numerator)).bit_length() - x.denominator.bit_length())
    u = min(lowest(s), lowest(b))
    require(s * max(abs(lo - offset), abs(hi - offset)) + abs(b) <= 2 ** 53 * u, "quantization.C18")


def check_statistics(m, type_, shape):
    """statistics.C1 to C6."""
    C = "statistics.C%d"
    require(type_.quantized or type_.name in REALS, C % 5, "statistics on " + type_.name)
    check_axes(m.axis, shape, C % 3)
    n = elements([shape[a] for a in m.axis]) if m.axis else 1
    parts = [m.min, m.max, m.mean, m.std]
    require(all(len(v) in (0, n) for v in parts), C % 1)
    require(all(math.isfinite(x) for v in parts for x in v), C % 2)
    require(all(x >= 0 for x in m.std), C % 2)
    for a, b in ((m.min, m.max), (m.min, m.mean), (m.mean, m.max)):
        require(all(p <= q for p, q in zip(a, b)), C % 2)
    if m.min and m.max:
        require(all(s <= R.float64((Fraction(q) - Fraction(p)) / 2) for p, q, s in zip(m.min, m.max, m.std)), C % 2)
    h, count = m.histogram, m.count or 0
    if h is not None:
        lower, upper = h.lower or 0.0, h.upper or 0.0
        require(math.isfinite(lower) and math.isfinite(upper) and lower < upper and 1 <= len(h.counts) <= 2 ** 20,
                C % 4)
        total = sum(h.counts) + (h.below or 0) + (h.above or 0)
        require(total < 2 ** 64 and (count == 0 or total == count), C % 4, "%d in the histogram of %d" % (total, count))
    require(len(m.moments) in (0, n), C % 6)
    if m.moments:
        total = sum(p.count or 0 for p in m.moments)
        require(total < 2 ** 64 and (count == 0 or total == count), C % 6)
        for p in m.moments:
            for e in (p.sum, p.sum_of_squares):
                if e is None:
                    continue
                raw, exponent = e.integer or b"", e.exponent or 0
                require(-1024 <= exponent <= 1024 and len(raw) <= 128, C % 6)
                require(raw[0] & 1 if raw else exponent == 0, C % 6)
                if len(raw) > 1:
                    require(not (raw[-1] == 0 and raw[-2] < 128 or raw[-1] == 255 and raw[-2] >= 128), C % 6)
