"""The rules of spec/format/encoding.md: initializers whose bytes are records."""
import itertools
import math

from .types import TYPES, elements, require, unpack

C = "encoding.C%d"
CODE, SCALE, BASE = 0, 1, 2
INTEGERS = {2: False, 3: True}  # UINT8, INT8: signed or not
FLOATS = (1, 10, 16, 17, 18, 19, 20, 24)  # that factors may have
WITHOUT_SIGN = (24,)


class Field:
    """What one field keeps: where the bits of each value in a record are, and what they make."""

    def __init__(self, message, clause_place, values):
        self.message, self.place, self.values = message, clause_place, values
        self.bits = [[] for _ in range(values)]  # of each value: (bit of the record, bit of the value, width)
        self.width = 0

    def add(self, span, record_bits, taken):
        """encoding.C8, C9, S3."""
        width, value_bit, first = span.width or 0, span.value_bit or 0, span.first or 0
        require(width >= 1 and value_bit >= 0 and width + value_bit <= 32, C % 8, self.place)
        require(len(span.count) == len(span.stride) <= 8 and all(c >= 1 for c in span.count), C % 8, self.place)
        total = 1
        for c in span.count:
            total = min(total * c, 2 ** 40)
        require(first >= 0 and first + total <= self.values, C % 8, self.place)
        for k in range(total):
            at, rest = span.record_bit or 0, k
            for c, s in zip(span.count, span.stride):
                at += rest % c * s
                rest //= c
            require(0 <= at and at + width <= record_bits, C % 9, self.place)
            for b in range(at, at + width):
                require(b not in taken, C % 9, "bit %d of a record is given twice" % b)
                taken.add(b)
            self.bits[first + k].append((at, value_bit, width))

    def close(self, storage):
        """encoding.C10, C11."""
        m = self.message
        integer = m.elem_type in INTEGERS
        for pieces in self.bits:
            given = [v + i for _, v, w in pieces for i in range(w)]
            require(sorted(given) == list(range(len(given))) and given, C % 10, self.place)
            self.width = self.width or len(given)
            require(len(given) == self.width, C % 10, "values of %s have different widths" % self.place)
        if not integer:
            full = TYPES[m.elem_type].bits
            require(self.width == full or self.width == full - 1 and m.elem_type not in WITHOUT_SIGN, C % 10, self.place)
            return
        require(self.width <= 8, C % 10, self.place)
        least = (-(1 << self.width - 1) if INTEGERS[m.elem_type] else 0) + (m.bias or 0)
        greatest = least + (1 << self.width) - 1
        ranges = [(storage.lo, storage.hi)] if storage is not None else [(0, 255), (-128, 127)]
        require(any(lo <= least and greatest <= hi for lo, hi in ranges), C % 11, self.place)

    def read(self, word):
        """encoding.S4: the values of a record, an integer whose bit b is bit b of the record."""
        m, out = self.message, []
        for pieces in self.bits:
            value = 0
            for at, value_bit, width in pieces:
                value |= (word >> at & (1 << width) - 1) << value_bit
            if m.elem_type in INTEGERS:
                if INTEGERS[m.elem_type] and value >> self.width - 1:
                    value -= 1 << self.width
                out.append(value + (m.bias or 0))
            else:
                type_ = TYPES[m.elem_type]
                out.append(unpack(type_, value.to_bytes(max(type_.bits // 8, 1), "little"), 1)[0])
        return out


def level_block(levels, i, shape, axis, block):
    """The block of a level along each axis of the tensor: the dimension where the type does not name it."""
    own = list(levels[i].block_shape) or block
    require(len(own) == len(axis) and all(b >= 1 for b in own), "quantization.C14")
    out = list(shape)
    for a, b in zip(axis, own):
        out[a] = b
    return out


def check_elem_type(m, place, storage):
    """encoding.C7."""
    if m.role not in (SCALE, BASE):
        if storage.kind == "int":
            require(m.elem_type in INTEGERS, C % 7, place)
        else:
            require(m.elem_type == storage.storage, C % 7, place)
    else:
        require(m.elem_type in INTEGERS or m.elem_type in FLOATS, C % 7, place)
    require(m.elem_type in INTEGERS or not m.bias, C % 7, place)


class Encoding:
    """The encoding of a type of quantized storage `storage` with fixed dimensions."""

    def __init__(self, q, storage, shape, axis, block, annotation):
        e = q.encoding
        self.shape, self.axis = shape, axis
        self.data = None  # of the records
        self.bytes = e.record_bytes or 0
        require(1 <= self.bytes <= 4096, C % 3, "record_bytes %d" % self.bytes)
        require(not e.unknown, C % 12, "a field of an encoding is not known")
        self.record = list(e.record_shape)
        require(shape is not None and all(isinstance(d, int) for d in shape), C % 4, "a shape that is not fixed")
        require(len(self.record) == len(shape), C % 4, "record_shape %s" % self.record)
        require(all(r >= 1 and d % r == 0 for r, d in zip(self.record, shape)), C % 4, "record_shape %s" % self.record)
        require(elements(self.record) <= 32768, C % 4, "record_shape %s" % self.record)
        self.count = elements([d // r for d, r in zip(shape, self.record)])
        self.fields = {}
        levels = {SCALE: q.scale_levels, BASE: q.base_levels}
        require(len(e.field) <= 9 and any((f.role or 0) == CODE for f in e.field), C % 5, "fields of an encoding")
        taken = set()
        for i, f in enumerate(e.field):
            place = "field %d" % i
            role, level = f.role or 0, f.level or 0
            known = not f.unknown and not any(s.unknown for s in f.bits) and role in (CODE, SCALE, BASE)
            require(known, C % 12, place)
            require(level == 0 if role == CODE else 0 <= level < len(levels[role]), C % 5, place)
            require((role, level) not in self.fields, C % 5, place + " comes twice")
            if role == CODE:
                require(storage is not None and storage.kind in ("int", "small") and storage.bits <= 8, C % 7, place)
                n = elements(self.record)
            else:
                own = levels[role][level]
                require(annotation or not own.value and own.tensor is None, C % 5, place + " of a level beside it")
                sizes = level_block(levels[role], level, shape, axis, block)
                require(all(d == 0 or r % b == 0 for d, r, b in zip(shape, self.record, sizes)), C % 6, place)
                n = elements([max(self.record[a] // sizes[a], 1) for a in axis])
            check_elem_type(f, place, storage)
            field = Field(f, place, n)
            require(len(f.bits) <= 64, C % 8, place)
            for span in f.bits:
                field.add(span, 8 * self.bytes, taken)
            field.close(storage if role == CODE else None)
            self.fields[role, level] = field

    def words(self, data):
        for k in range(self.count):
            yield int.from_bytes(bytes(data[k * self.bytes:(k + 1) * self.bytes]), "little")

    def read_codes(self, data):
        """encoding.S1, S2: the stored values in row-major order."""
        out = [None] * elements(self.shape)
        steps = [math.prod(self.shape[a + 1:]) for a in range(len(self.shape))]
        inside = [sum(i * s for i, s in zip(p, steps)) for p in itertools.product(*map(range, self.record))]
        grid = itertools.product(*(range(0, d, r) for d, r in zip(self.shape, self.record)))
        for p, word in zip(grid, self.words(data)):
            start = sum(i * s for i, s in zip(p, steps))
            for i, value in zip(inside, self.fields[CODE, 0].read(word)):
                out[start + i] = value
        return out

    def read_factors(self, role, level, own, data):
        """encoding.S5: the factors in the order of quantization.S2; `own` are the level's blocks along the named axes."""
        counts = [self.shape[a] // b for a, b in zip(self.axis, own)]
        steps = [math.prod(counts[k + 1:]) for k in range(len(counts))]
        here = [self.record[a] // b for a, b in zip(self.axis, own)]
        inside = [sum(i * s for i, s in zip(p, steps)) for p in itertools.product(*map(range, here))]
        out = [None] * elements(counts)
        grid = itertools.product(*(range(d // r) for d, r in zip(self.shape, self.record)))
        for p, word in zip(grid, self.words(data)):
            start = sum(p[a] * h * s for a, h, s in zip(self.axis, here, steps))
            for i, value in zip(inside, self.fields[role, level].read(word)):
                out[start + i] = value
        return out


def read_encoding(q, type_, storage, shape, axis, block, records):
    """The encoding of a type, or None. `records` is the UINT8 tensor of its initializer; None for an annotation."""
    if q.encoding is None:
        return None
    encoding = Encoding(q, storage, shape, axis, block, not type_.quantized)
    if type_.quantized:
        require(records is not None, C % 1, "an encoding on a value that is no initializer")
        require(records.type.name == "UINT8" and records.dims == (encoding.count * encoding.bytes,), C % 2,
                "the initializer has dims %s" % (records.dims,))
        encoding.data = records.data
    return encoding
