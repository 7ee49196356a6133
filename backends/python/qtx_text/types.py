"""Element types, their bytes, quantization parameters, and tensors."""
import functools
import math
import struct
from bisect import bisect_left
from fractions import Fraction

from .reals import BFLOAT16, BINARY16, BINARY32, BINARY64, INF, NAN, exact, f32, is_nan, special


class Refusal(Exception):
    """A request that is answered with an error: a code of the protocol, and the clause that is broken."""

    CODES = {"INVALID": 0, "UNSUPPORTED": 1, "TOO_LARGE": 2, "IO": 3, "TIMEOUT": 4, "PROTOCOL": 5}

    def __init__(self, code, clause, message, where=""):
        super().__init__(message)
        self.code, self.clause, self.message, self.where = code, clause, message, where


def invalid(clause, message):
    return Refusal("INVALID", clause, message)


def unsupported(message):
    return Refusal("UNSUPPORTED", "", message)


def require(condition, clause, message=""):
    if not condition:
        raise invalid(clause, message or "breaks " + clause)


class SmallFloat:
    """A float of 4 or 8 bits: its values by code, and the nearest code (exact.S8, cast.S9)."""

    def __init__(self, bits, fraction, bias, infinity=None, nans=(), unsigned_zero=False):
        self.bits, self.values, self.infinity, self.nans = bits, [], infinity, nans
        sign = 1 << bits - 1
        for code in range(1 << bits):
            magnitude = code & sign - 1
            e, m = magnitude >> fraction, magnitude & (1 << fraction) - 1
            value = math.ldexp(m + (1 << fraction if e else 0), max(e, 1) - bias - fraction)
            if code in nans or unsigned_zero and code == sign:
                value = NAN
            elif infinity is not None and magnitude == infinity:
                value = INF
            self.values.append(-value if code & sign else value)
        finite = [v for v in self.values[:sign] if math.isfinite(v)]
        self.magnitudes = [Fraction(v) for v in finite]
        self.largest = finite[-1]
        self.past = self.magnitudes[-1] * 2 - self.magnitudes[-2]  # the value after the largest one
        self.codes = {}
        for code, value in enumerate(self.values):
            if not is_nan(value):
                self.codes[(value, math.copysign(1, value))] = code
        if unsigned_zero:
            self.codes[(0.0, -1.0)] = 0
        self.nan_code = min(nans) if nans else (sign if unsigned_zero else None)

    def nearest(self, x, saturating=True):
        """The nearest value; past the largest one that one, or an infinity where not saturating."""
        negative = x < 0
        if special(x):
            value = self.largest if saturating else INF
        else:
            x = abs(Fraction(x))
            i = bisect_left(self.magnitudes, x)
            if i == len(self.magnitudes):
                middle = (self.magnitudes[-1] + self.past) / 2
                beyond = x > middle or x == middle and (i - 1) & 1
                value = INF if beyond and not saturating else self.largest
            elif self.magnitudes[i] == x:
                value = float(x)
            else:
                middle = (self.magnitudes[i - 1] + self.magnitudes[i]) / 2
                up = x > middle or x == middle and (i - 1) & 1  # ties to the even code
                value = float(self.magnitudes[i if up else i - 1])
        return -value if negative else value

    def code(self, value):
        if is_nan(value):
            return self.nan_code if self.nan_code is not None else 0
        return self.codes[(value, math.copysign(1, value))]


E4M3FN = SmallFloat(8, 3, 7, nans=(0x7F, 0xFF))
E4M3FNUZ = SmallFloat(8, 3, 8, unsigned_zero=True)
E5M2 = SmallFloat(8, 2, 15, infinity=0x7C, nans=tuple(c | s for c in (0x7D, 0x7E, 0x7F) for s in (0, 128)))
E5M2FNUZ = SmallFloat(8, 2, 16, unsigned_zero=True)
E2M1 = SmallFloat(4, 1, 1)


class ElementType:
    def __init__(self, code, name, kind, bits, lo=None, hi=None, small=None, fmt=None, storage=None):
        self.code, self.name, self.kind, self.bits = code, name, kind, bits
        self.lo, self.hi, self.small, self.format, self.storage = lo, hi, small, fmt, storage
        self.quantized = storage is not None
        # A real operand (glossary): quantized, FLOAT, FLOAT16 or BFLOAT16.
        self.real = self.quantized or code in (1, 10, 16)
        # A plain type: DOUBLE, or an integer type that is not quantized; BOOL is none.
        self.plain = not self.quantized and (code == 11 or kind == "int")
        self.integer = self.quantized and kind == "int"  # a quantized type of integer storage
        self.eight = code in (1002, 1003)  # the 8-bit types of the kernels

    def __repr__(self):
        return self.name


def _table():
    plain = [
        (1, "FLOAT", "float", 32, BINARY32), (10, "FLOAT16", "float", 16, BINARY16),
             (16, "BFLOAT16", "float", 16, BFLOAT16),
        (11, "DOUBLE", "float", 64, BINARY64)]
    types = [ElementType(c, n, k, b, fmt=f) for c, n, k, b, f in plain]
    for code, bits in ((2, 8), (4, 16), (12, 32), (13, 64), (21, 4), (25, 2)):
        types.append(ElementType(code, "UINT%d" % bits, "int", bits, 0, (1 << bits) - 1))
    for code, bits in ((3, 8), (5, 16), (6, 32), (7, 64), (22, 4), (26, 2)):
        types.append(ElementType(code, "INT%d" % bits, "int", bits, -(1 << bits - 1), (1 << bits - 1) - 1))
    types.append(ElementType(9, "BOOL", "bool", 8, 0, 1))
    for code, name, small in ((17, "FLOAT8E4M3FN", E4M3FN), (18, "FLOAT8E4M3FNUZ", E4M3FNUZ), (19, "FLOAT8E5M2", E5M2),
                              (20, "FLOAT8E5M2FNUZ", E5M2FNUZ), (23, "FLOAT4E2M1", E2M1)):
        types.append(ElementType(code, name, "small", small.bits, -small.largest, small.largest, small))
    types.append(ElementType(24, "FLOAT8E8M0", "e8m0", 8))
    types += [ElementType(8, "STRING", "string", 0), ElementType(14, "COMPLEX64", "complex", 64),
              ElementType(15, "COMPLEX128", "complex", 128)]
    by_code = {t.code: t for t in types}
    for code in (2, 3, 4, 5, 6, 17, 18, 19, 20, 21, 22, 23, 25, 26):
        s = by_code[code]
        by_code[1000 + code] = ElementType(1000 + code, s.name + "Q", s.kind, s.bits, s.lo, s.hi, s.small, storage=code)
    by_code[1101] = ElementType(1101, "BIPOLAR1Q", "bipolar", 1, -1, 1, storage=101)
    return by_code


TYPES = _table()
BY_NAME = {t.name: t for t in TYPES.values()}
FLOAT, DOUBLE, INT64, BOOL = TYPES[1], TYPES[11], TYPES[7], TYPES[9]


def byte_count(type_, n):
    return (n * type_.bits + 7) // 8


def unpack(type_, data, n):
    """The stored values of n elements (element_types.S1 to S3)."""
    kind, bits = type_.kind, type_.bits
    if bits < 8:
        per = 8 // bits
        mask = (1 << bits) - 1
        codes = [data[i // per] >> i % per * bits & mask for i in range(n)]
        if kind == "bipolar":
            return [1 if c else -1 for c in codes]
    elif kind == "float":
        if type_.code == 16:
            raw = struct.unpack("<%dH" % n, data)
            return list(struct.unpack("<%df" % n, struct.pack("<%dI" % n, *(c << 16 for c in raw))))
        return list(struct.unpack("<%d%s" % (n, {16: "e", 32: "f", 64: "d"}[bits]), data))
    else:
        codes = struct.unpack("<%d%s" % (n, {8: "B", 16: "H", 32: "I", 64: "Q"}[bits]), data)
    if kind == "small":
        return [type_.small.values[c] for c in codes]
    if kind == "e8m0":
        return [NAN if c == 255 else math.ldexp(1.0, c - 127) for c in codes]
    if kind == "bool":
        return [int(c != 0) for c in codes]
    if type_.lo < 0:
        half = 1 << bits - 1
        return [c - 2 * half if c >= half else c for c in codes]
    return list(codes)


def pack(type_, values):
    kind, bits, n = type_.kind, type_.bits, len(values)
    if kind == "float":
        if type_.code == 16:
            raw = struct.unpack("<%dI" % n, struct.pack("<%df" % n, *values))
            return struct.pack("<%dH" % n, *((c >> 16) if (c & 0x7FFFFF) == 0 or (c >> 23 & 255) != 255 else 0x7FC0
                                             for c in raw))
        return struct.pack("<%d%s" % (n, {16: "e", 32: "f", 64: "d"}[bits]), *values)
    if kind == "small":
        codes = [type_.small.code(v) for v in values]
    elif kind == "e8m0":
        codes = [255 if is_nan(v) else math.frexp(v)[1] - 1 + 127 for v in values]
    elif kind == "bipolar":
        codes = [int(v > 0) for v in values]
    else:
        codes = [v & (1 << bits) - 1 for v in values]
    if bits < 8:
        per = 8 // bits
        out = bytearray(byte_count(type_, n))
        for i, c in enumerate(codes):
            out[i // per] |= c << i % per * bits
        return bytes(out)
    return struct.pack("<%d%s" % (n, {8: "B", 16: "H", 32: "I", 64: "Q"}[bits]), *codes)


def elements(dims):
    n = 1
    for d in dims:
        n *= d
    return n


def strides(dims):
    out, step = [], 1
    for d in reversed(dims):
        out.append(step)
        step *= d
    return out[::-1]


HALF_FLOATS = {10: BINARY16, 16: BFLOAT16}  # by the code of real_type


class Quant:
    """The parameters of a quantized value: scales as binary32 numbers, offsets, bases, a code book."""

    def __init__(self, type_, scales, offsets, axis, block, lo, hi, bases=None, requantization=None, message=None,
                 book=None, encoding=None, signed=False):
        self.type, self.scales, self.offsets, self.axis, self.block = type_, scales, offsets, axis, block
        self.lo, self.hi, self.bases, self.requantization, self.message = lo, hi, bases, requantization, message
        self.book, self.encoding = book, encoding
        self.integer_form = bases is None and book is None and not signed  # quantization.S8; alpha may have any sign
        self.reals = [exact(s) for s in scales]  # an infinity where alpha has carried a scale beyond binary32
        self._index = None
        self.of_scales = self.of_bases = None  # of parameters with levels: those of the first, products of the others
        self.half = HALF_FLOATS.get(getattr(message, "real_type", None))  # of the reals (quantization.S13); else None

    def in_reals(self, value):
        """A binary32 as the type of the reals has it (quantization.S13)."""
        return value if self.half is None or not math.isfinite(value) else self.half.round(exact(value))

    @property
    def single(self):
        """One scale: there is no axis, not even one of a single parameter (definitions.S4)."""
        return not self.axis

    def along(self, axis):
        """Whether the parameters are one per index of this axis, or one for all (definitions.S5)."""
        return self.single or (list(self.axis) == [axis] and self.block in ([], [1]))

    def index(self, dims):
        """The number of the parameter of each element, row-major (quantization.S2, exact.S7); None where there is
        one."""
        if len(self.scales) == 1:
            return None
        if self._index is None or self._index[0] != dims:
            self._index = dims, parameter_index(dims, self.axis, self.block)
        return self._index[1]

    def at(self, dims):
        """For each element (scale, offset)."""
        index = self.index(dims)
        if index is None:
            return [(self.scales[0], self.offsets[0])] * elements(dims)
        pairs = list(zip(self.scales, self.offsets))
        return [pairs[i] for i in index]


def parameter_index(dims, axis, block):
    out = [0] * elements(dims)
    if not out:
        return out
    steps = strides(dims)
    count = 1
    for a, b in reversed(list(zip(axis, block or [1] * len(axis)))):
        size = dims[a]
        for i in range(len(out)):
            out[i] += (i // steps[a] % size) // b * count
        count *= -(-size // b)
    return out


class Tensor:
    """A value: stored numbers, row-major. data is None where it is not known yet, dims or a dim too."""

    in_accumulator_units = False  # the bias of a QLinearConv is (q_linear_conv.S2)

    def __init__(self, type_, dims, data=None, quant=None, initializer=False):
        self.type, self.dims, self.data, self.quant, self.initializer = type_, dims, data, quant, initializer
        self._reals = self._floats = None

    @property
    def single(self):
        return self.quant is not None and self.quant.single and self.quant.integer_form

    @property
    def integers(self):
        """Stored values are integers, those of BIPOLAR1Q too, and have an integer form (quantization.S8)."""
        return self.quant is not None and self.type.kind in ("int", "bipolar") and self.quant.integer_form

    @property
    def scale(self):
        return self.quant.scales[0]

    @property
    def offset(self):
        return self.quant.offsets[0]

    def reals(self):
        """The exact number of each element (quantization.S1, S7, S9)."""
        if self._reals is None:
            q = self.quant
            if q is None:
                self._reals = self.data if self.type.kind in ("int", "bool") else [exact(v) for v in self.data]
            elif q.single and q.integer_form and self.type.kind != "small":
                s, o = q.reals[0], q.offsets[0]
                table = {v: s * (v - o) for v in set(self.data)}
                self._reals = [table[v] for v in self.data]
            else:
                index = q.index(self.dims) or [0] * len(self.data)
                bases = q.bases or [0] * len(q.scales)
                self._reals = [v if type(v) is float and not math.isfinite(v) else
                               q.reals[p] * self.steps(v, p) + Fraction(bases[p])
                               for v, p in zip(self.data, index)]
        return self._reals

    def steps(self, v, p):
        """What the scale of parameter p multiplies for a stored v."""
        q = self.quant
        return Fraction(v) - q.offsets[p] if q.book is None else Fraction(q.book[v])

    def floats(self):
        """The binary32 of each element (float32.S1, quantization.S8)."""
        if self._floats is None:
            q = self.quant
            if q is None:
                self._floats = self.data if self.type.code in (1, 10, 16) else [BINARY32.round(x) for x in self.reals()]
            else:
                index = q.index(self.dims) or [0] * len(self.data)
                if q.book is not None:
                    products = [q.in_reals(f32(q.book[v] * q.scales[p])) for v, p in zip(self.data, index)]
                elif q.bases is None:
                    products = [q.in_reals(f32(f32(v - q.offsets[p]) * q.scales[p])) for v, p in zip(self.data, index)]
                else:
                    products = [q.in_reals(BINARY32.round(q.reals[p] * (v - q.offsets[p])))
                                for v, p in zip(self.data, index)]
                if q.bases is not None:
                    products = [q.in_reals(f32(v + q.bases[p])) for v, p in zip(products, index)]
                self._floats = products
        return self._floats

    def differences(self):
        """stored - offset of each element."""
        q = self.quant
        index = q.index(self.dims)
        if index is None:
            o = q.offsets[0]
            return [v - o for v in self.data]
        return [v - q.offsets[p] for v, p in zip(self.data, index)]


def scaled(numbers):
    """(integers, exponent) with numbers = integers * 2^exponent, for numbers whose denominators are powers of two;
    else None."""
    width = 0
    for x in numbers:
        if type(x) is float:
            return None
        d = x.denominator
        if d & d - 1:
            return None
        width = max(width, d.bit_length() - 1)
    return [x.numerator << width - (x.denominator.bit_length() - 1) for x in numbers], -width


@functools.lru_cache(1 << 12)
def is_power_of_two(scale):
    return math.frexp(scale)[0] == 0.5


def name_of(code):
    return TYPES[code].name if code in TYPES else str(code)
