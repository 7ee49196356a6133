"""A reader of the extended form that shares no code with qtx: protobuf by hand, reals as binary64.

Source: onnx.proto, proto/qtx/quantization.proto, spec/format/.
"""
import pathlib
import struct

import numpy

FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL, FLOAT16, DOUBLE = 1, 2, 3, 4, 5, 6, 7, 9, 10, 11
BFLOAT16, E4M3, E5M2, UINT4, INT4, E2M1, E8M0, UINT2, INT2 = 16, 17, 19, 21, 22, 23, 24, 25, 26
BITS = {UINT4: 4, INT4: 4, E2M1: 4, UINT2: 2, INT2: 2}
PLAIN = {FLOAT: '<f4', UINT8: 'u1', INT8: 'i1', UINT16: '<u2', INT16: '<i2', INT32: '<i4', INT64: '<i8', BOOL: '?',
         FLOAT16: '<f2', DOUBLE: '<f8'}


def fields(data):
    """Yields (number, value) of a message: integers, bytes of what has a length."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            value = varint()
        elif kind == 2:
            size = varint()
            value = data[at:at + size]
            at += size
        else:
            size = 4 if kind == 5 else 8
            value = data[at:at + size]
            at += size
        yield tag >> 3, value


def all_of(message, number):
    return [value for n, value in fields(message) if n == number]


def one(message, number, default=None):
    found = all_of(message, number)
    return found[-1] if found else default


def text(message, number):
    return bytes(one(message, number, b'')).decode()


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def zigzag(value):
    return value >> 1 ^ -(value & 1)


def integers(message, number, convert=signed):
    """A repeated integer, packed or not."""
    values = []
    for value in all_of(message, number):
        if isinstance(value, int):
            values.append(convert(value))
            continue
        number_, shift = 0, 0
        for byte in value:
            number_ |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                values.append(convert(number_))
                number_ = shift = 0
    return values


def small_float(codes, exponent, mantissa, bias):
    """The values of codes of a float format without infinities (E4M3FN, E2M1); other codes apart."""
    codes = codes.astype(numpy.int64)
    e = codes >> mantissa & (1 << exponent) - 1
    m = codes & (1 << mantissa) - 1
    value = numpy.where(e == 0, m * 2.0**(1 - bias - mantissa), (m + (1 << mantissa)) * 2.0**(e - bias - mantissa))
    return numpy.where(codes >> exponent + mantissa & 1, -value, value)


def values_of(raw, kind, count):
    """`count` values of an ONNX type as binary64, exactly."""
    if kind in PLAIN:
        return numpy.frombuffer(raw, PLAIN[kind])[:count].astype(numpy.float64)
    codes = numpy.frombuffer(raw, numpy.uint8)
    if kind == BFLOAT16:
        return (numpy.frombuffer(raw, '<u2').astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    if kind == E8M0:
        return numpy.where(codes == 255, numpy.nan, 2.0**(codes.astype(numpy.float64) - 127))
    if kind == E4M3:
        return numpy.where(codes & 127 == 127, numpy.nan, small_float(codes, 4, 3, 7))
    if kind == E5M2:
        return (codes.astype(numpy.uint16) << 8).view(numpy.float16).astype(numpy.float64)
    bits = BITS[kind]
    split = numpy.stack([codes >> s & (1 << bits) - 1 for s in range(0, 8, bits)], axis=-1).reshape(-1)[:count]
    if kind == E2M1:
        return small_float(split, 2, 1, 1)
    values = split.astype(numpy.int64)
    if kind in (INT4, INT2):
        values = numpy.where(values >> bits - 1, values - (1 << bits), values)
    return values.astype(numpy.float64)


class Model:
    """Initializers of an extended model, as the reals that they stand for."""

    def __init__(self, path):
        path = pathlib.Path(path)
        self.folder = path.parent
        self.bytes = path.read_bytes()
        graph = one(self.bytes, 7)
        self.initializers = {text(t, 8): t for t in all_of(graph, 5)}
        self.types = {}
        for value in all_of(graph, 13):
            self.types[text(value, 1)] = one(one(value, 2), 1)
        # Weights whose rows are those of an initializer in another order.
        self.rows = {text(node, 2): [bytes(i).decode() for i in all_of(node, 1)]
                     for node in all_of(graph, 1) if text(node, 4) == 'Gather'}

    def __contains__(self, name):
        return name in self.types or name in self.rows

    def raw(self, name):
        tensor = self.initializers[name]
        if one(tensor, 14, 0) == 1:
            where = {text(entry, 1): text(entry, 2) for entry in all_of(tensor, 13)}
            with open(self.folder / where['location'], 'rb') as file:
                file.seek(int(where['offset']))
                return file.read(int(where['length']))
        return bytes(one(tensor, 9, b''))

    def values(self, name):
        tensor = self.initializers[name]
        dims = integers(tensor, 1)
        return values_of(self.raw(name), one(tensor, 2), int(numpy.prod(dims, dtype=numpy.int64)))

    def levels(self, quantization, number, dims, axes, block):
        """The exact product of the factors of each element's blocks; the caller rounds it."""
        product = numpy.ones(dims)
        for level in all_of(quantization, number):
            shape = integers(level, 3) or block
            raw = one(level, 1)
            factors = self.values(text(level, 2)) if raw is None else numpy.frombuffer(raw, '<f4').astype(float)
            product = product * self.spread(factors, dims, axes, shape)
        return product

    @staticmethod
    def spread(parameters, dims, axes, block):
        """A parameter for each element."""
        counts = [-(-dims[axis] // size) for axis, size in zip(axes, block)]
        index = numpy.zeros(dims, numpy.int64)
        stride = 1
        for axis, size, count in reversed(list(zip(axes, block, counts))):
            along = numpy.arange(dims[axis]) // size * stride
            index = index + along.reshape([-1 if i == axis else 1 for i in range(len(dims))])
            stride *= count
        return numpy.asarray(parameters)[index]

    def codes(self, name, kind, dims, encoding):
        count = int(numpy.prod(dims, dtype=numpy.int64))
        if encoding is None:
            return values_of(self.raw(name), kind, count).reshape(dims)
        records = numpy.frombuffer(self.raw(name), numpy.uint8).reshape(-1, one(encoding, 1))
        bits = numpy.unpackbits(records, axis=1, bitorder='little').astype(numpy.int64)
        shape = integers(encoding, 2)
        field = one(encoding, 3)
        per_record = int(numpy.prod(shape))
        values = numpy.zeros((len(records), per_record), numpy.int64)
        for span in all_of(field, 5):
            width = one(span, 2)
            counts, strides = integers(span, 5), integers(span, 6, lambda v: signed(v))
            total = int(numpy.prod(counts, dtype=numpy.int64))
            for i in range(total):
                at, rest = one(span, 4, 0), i
                for count_, stride in zip(counts, strides):
                    at += rest % count_ * stride
                    rest //= count_
                for b in range(width):
                    values[:, one(span, 3, 0) + i] |= bits[:, at + b] << one(span, 1, 0) + b
        values += zigzag(one(field, 4, 0))
        grid = [d // s for d, s in zip(dims, shape)]
        values = values.reshape(grid + shape)
        order = [i // 2 + (len(dims) if i % 2 else 0) for i in range(2 * len(dims))]
        return values.transpose(order).reshape(dims).astype(numpy.float64)

    def reals(self, name):
        """scale * (stored - offset), or scale * table[code], as binary64: exact for what is here."""
        if name in self.rows:
            table, places = self.rows[name]
            return self.reals(table)[self.values(places).astype(numpy.int64)]
        kind = self.types[name]
        elem = one(kind, 1)
        dims = [one(d, 1, 0) for d in all_of(one(kind, 2), 1)]
        quantization = one(kind, 1001)
        storage = elem - 1000
        axes, block = integers(quantization, 3), integers(quantization, 4)
        block = block or [1] * len(axes)
        if one(quantization, 5):
            scale = self.spread(self.values(text(quantization, 5)), dims, axes, block)
        else:
            # At most 24 + 24 bits, or 4 + 24 + 24: exact before it is rounded once.
            scale = self.levels(quantization, 12, dims, axes, block).astype(numpy.float32).astype(float)
        codes = self.codes(name, storage, dims, one(quantization, 18))
        if one(quantization, 6):
            codes = codes - self.spread(self.values(text(quantization, 6)), dims, axes, block)
        if one(quantization, 16):
            codes = self.values(text(quantization, 16))[codes.astype(numpy.int64)]
        return scale * codes


def casts(model, names):
    """The model with a Cast to FLOAT of each weight as a graph output, for `qtx run`."""

    def field(number, payload):
        if isinstance(payload, int):
            return varint(number << 3) + varint(payload)
        return varint(number << 3 | 2) + varint(len(payload)) + payload

    def varint(value):
        out = b''
        while value > 127:
            out += bytes([value & 127 | 128])
            value >>= 7
        return out + bytes([value])

    graph = b''
    for i, name in enumerate(names):
        attribute = field(1, b'to') + field(3, FLOAT) + field(20, 2)
        output = f'y{i}'.encode()
        node = field(1, name.encode()) + field(2, output) + field(4, b'Cast') + field(5, attribute)
        value = field(1, output) + field(2, field(1, field(1, FLOAT)))
        graph += field(1, node) + field(12, value)
    return model.bytes + field(7, graph)
