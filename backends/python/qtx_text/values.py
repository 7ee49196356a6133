"""Values of a model: their declared types, and the data of initializers."""
import struct

from .types import TYPES, Refusal, Tensor, byte_count, elements, invalid, require, unpack, unsupported
from .wire import encode

MOST_ELEMENTS = 1 << 24


def check_size(dims):
    if elements(dims) > MOST_ELEMENTS:
        raise Refusal("TOO_LARGE", "", "more than 2^24 elements")


def fits(dims, shape):
    """Whether dims are of a declared shape, whose symbols stand for any size."""
    return len(dims) == len(shape) and all(not isinstance(s, int) or d == s for d, s in zip(dims, shape))


def type_of_code(code):
    require(code != 101, "element_types.C1", "elem_type 101")
    if code not in TYPES:
        raise invalid("element_types.C1" if 1000 <= code < 2000 else "", "elem_type %d" % code)
    return TYPES[code]


def read_tensor(p, quantized=None, name=""):
    """A TensorProto, of plain values or of the stored values of a quantized type (element_types.C4)."""
    if p.data_location == 1:
        raise unsupported("external data of " + name)
    type_ = type_of_code(p.data_type or 0)
    require(not type_.quantized, "element_types.C4", "data_type %d" % type_.code)
    if type_.kind in ("string", "complex"):
        raise unsupported("an initializer of type " + type_.name)
    dims = tuple(p.dims)
    require(all(d >= 0 for d in dims), "shape.C1", "a negative dimension")
    check_size(dims)
    n = elements(dims)
    if p.raw_data is not None:
        raw = p.raw_data
    elif type_.name == "FLOAT":
        raw = struct.pack("<%df" % len(p.float_data), *p.float_data)
    elif type_.name == "DOUBLE":
        raw = struct.pack("<%dd" % len(p.double_data), *p.double_data)
    elif type_.name == "INT64":
        raw = struct.pack("<%dq" % len(p.int64_data), *p.int64_data)
    elif type_.name in ("UINT32", "UINT64"):
        size = type_.bits // 8
        raw = b"".join((v & (1 << type_.bits) - 1).to_bytes(size, "little") for v in p.uint64_data)
    else:
        size = max(type_.bits // 8, 1)
        raw = b"".join((v & (1 << 8 * size) - 1).to_bytes(size, "little") for v in p.int32_data)
    require(len(raw) == byte_count(type_, n), "", "%d bytes of data, not %d" % (len(raw), byte_count(type_, n)))
    if quantized is not None and quantized.kind == "bipolar":
        return Tensor(type_, dims, raw, None)
    return Tensor(type_, dims, unpack(type_, raw, n), None)


class Value:
    """The declared type of a value."""

    def __init__(self, name, type_, shape, message):
        self.name, self.type, self.shape, self.message, self.quant = name, type_, shape, message, None

    def same(self, other):
        return self is other or self.type is other.type and (self.message is None) == (other.message is None) and (
            self.shape is None or other.shape is None or self.shape == other.shape) and (
            self.message is None or encode("QUANTIZATION", self.message) == encode("QUANTIZATION", other.message))
