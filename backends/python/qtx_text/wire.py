"""The protobuf wire format, by hand: decoding and encoding by tables of field numbers (proto/qtx/*.proto)."""
import struct
from types import SimpleNamespace


class WireError(Exception):
    """Bytes are not the message they should be."""


# Message tables: number -> (name, kind, repeated). A kind in capitals is the name of another table.
def _fields(text):
    fields = {}
    for entry in text.split():
        number, name, kind = entry.split(":")
        fields[int(number)] = (name.rstrip("*"), kind, name.endswith("*"))
    return fields


SCHEMAS = {name: _fields(text) for name, text in {
    "REQUEST": "1:describe:EMPTY 2:prepare:PREPARE 3:run:RUN 4:release:HANDLE",
    "EMPTY": "",
    "PREPARE": "1:model:bytes 2:arithmetic:string",
    "RUN": "1:handle:uint64 2:inputs*:TENSOR 3:repetitions:uint32",
    "HANDLE": "1:handle:uint64",
    "TENSOR": "1:elem_type:int32 2:dims*:int64 3:data:bytes 4:quantization:bytes",
    "RESPONSE": "1:error:ERROR 2:describe:DESCRIPTION 3:prepare:HANDLE 4:run:RESULT 5:release:EMPTY",
    "ERROR": "1:code:int32 2:where:string 3:message:string 4:clause:string",
    "DESCRIPTION": "1:name:string 2:version:string 3:arithmetics*:string 4:device:string",
    "RESULT": "1:outputs*:TENSOR 2:seconds*:double",
    "MODEL": "1:ir_version:int64 7:graph:GRAPH 8:opset_import*:OPSET",
    "OPSET": "1:domain:string 2:version:int64",
    "GRAPH": "1:node*:NODE 2:name:string 5:initializer*:TENSORPROTO 11:input*:VALUE 12:output*:VALUE "
             "13:value_info*:VALUE 15:sparse_initializer*:bytes",
    "NODE": "1:input*:string 2:output*:string 3:name:string 4:op_type:string 5:attribute*:ATTRIBUTE 7:domain:string "
            "1001:origin:ORIGIN",
    "ORIGIN": "1:group:string 2:framework:string 3:domain:string 4:op_type:string 5:name:string 6:attributes*:bytes",
    "ATTRIBUTE": "1:name:string 2:f:float 3:i:int64 4:s:bytes 5:t:TENSORPROTO 6:g:bytes 7:floats*:float 8:ints*:int64 "
                 "9:strings*:bytes 20:type:int32 21:ref_attr_name:string",
    "VALUE": "1:name:string 2:type:TYPE",
    "TYPE": "1:tensor_type:TENSORTYPE 4:sequence_type:bytes 5:map_type:bytes 8:sparse_type:bytes 9:optional_type:bytes",
    "TENSORTYPE": "1:elem_type:int32 2:shape:SHAPE 1001:quantization:QUANTIZATION 1002:statistics:STATISTICS",
    "SHAPE": "1:dim*:DIMENSION",
    "DIMENSION": "1:dim_value:int64 2:dim_param:string",
    "TENSORPROTO": "1:dims*:int64 2:data_type:int32 4:float_data*:float 5:int32_data*:int32 6:string_data*:bytes "
                   "7:int64_data*:int64 8:name:string 9:raw_data:bytes 10:double_data*:double 11:uint64_data*:uint64 "
                   "13:external_data*:bytes 14:data_location:int32",
    "QUANTIZATION": "1:scale*:float 2:offset*:sint32 3:axis*:int64 4:block_shape*:int64 5:scale_tensor:string "
                    "6:offset_tensor:string 7:quant_min:sint64 8:quant_max:sint64 9:scheme:int32 "
                    "10:requantization:REQUANTIZATION 11:storage_type:int32 12:scale_levels*:LEVEL "
                    "13:base_levels*:LEVEL "
                    "14:must_understand*:int32 15:code_book*:float 16:code_book_tensor:string "
                    "18:encoding:ENCODING",
    "ENCODING": "1:record_bytes:int32 2:record_shape*:int64 3:field*:ENCODEDFIELD",
    "ENCODEDFIELD": "1:role:int32 2:level:int32 3:elem_type:int32 4:bias:sint32 5:bits*:BITSPAN",
    "BITSPAN": "1:value_bit:int32 2:width:int32 3:first:int32 4:record_bit:int32 5:count*:int32 6:stride*:int32",
    "LEVEL": "1:value*:float 2:tensor:string 3:block_shape*:int64",
    "REQUANTIZATION": "1:multiplier*:sint32 2:shift*:sint32",
    "STATISTICS": "1:min*:double 2:max*:double 3:mean*:double 4:std*:double 5:count:uint64 6:nan_count:uint64 "
                  "7:infinity_count:uint64 8:axis*:int64 9:histogram:HISTOGRAM 10:source:string 11:moments*:MOMENTS",
    "HISTOGRAM": "1:lower:double 2:upper:double 3:counts*:uint64 4:below:uint64 5:above:uint64",
    "MOMENTS": "1:count:uint64 2:sum:EXACT 3:sum_of_squares:EXACT",
    "EXACT": "1:exponent:sint32 2:integer:bytes",
}.items()}

_VARINT = {"int32", "int64", "uint32", "uint64", "sint32", "sint64"}
# What an empty message has, and the fields in the order in which they are written.
_SINGLE = {table: {name: None for name, _, many in fields.values() if not many} for table, fields in SCHEMAS.items()}
_REPEATED = {table: [name for name, _, many in fields.values() if many] for table, fields in SCHEMAS.items()}
_BYTE = [bytes([n]) for n in range(128)]
_IN_ORDER = {table: sorted(fields.items()) for table, fields in SCHEMAS.items()}


def read_varint(data, at, limit=10):
    if at < len(data) and data[at] < 128:
        return data[at], at + 1
    value = shift = 0
    for count in range(limit):
        if at >= len(data):
            raise WireError("a varint ends early")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value & (2 ** 64 - 1), at
    raise WireError("a varint is too long")


def write_varint(value):
    if 0 <= value < 128:
        return _BYTE[value]
    value &= 2 ** 64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(kind, raw):
    if kind in ("sint32", "sint64"):
        if kind == "sint32":
            raw &= 2 ** 32 - 1
        return raw >> 1 ^ -(raw & 1)
    bits = 32 if kind.endswith("32") else 64
    raw &= 2 ** bits - 1
    if kind[0] == "i" and raw >> (bits - 1):
        raw -= 2 ** bits
    return raw


def decode(table, data, depth=0):
    """A namespace with every field of the table: a list where repeated, None where absent. `unknown`: there are others."""
    fields = SCHEMAS[table]
    out = SimpleNamespace(unknown=False, **_SINGLE[table], **{name: [] for name in _REPEATED[table]})
    if depth > 50:
        raise WireError("messages are nested too deeply")
    at, end = 0, len(data)
    while at < end:
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0 or number >= 2 ** 29:
            raise WireError("a field has number %d" % number)
        if wire == 0:
            raw, at = read_varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            raw, at = data[at:at + size], at + size
        elif wire == 2:
            size, at = read_varint(data, at)
            raw, at = data[at:at + size], at + size
        else:
            raise WireError("wire type %d" % wire)
        if at > end:
            raise WireError("a field ends early")
        if number not in fields:
            out.unknown = True
            continue
        name, kind, many = fields[number]
        values = _values(kind, wire, raw, many, depth)
        if values is None:
            out.unknown = True
            continue  # another wire type than the field's: an unknown field
        if many:
            getattr(out, name).extend(values)
        elif values:
            old = getattr(out, name)
            if kind.isupper() and old is not None:  # a message that comes twice is merged
                for _, (key, _, list_) in SCHEMAS[kind].items():
                    new = getattr(values[-1], key)
                    if list_:
                        getattr(old, key).extend(new)
                    elif new is not None:
                        setattr(old, key, new)
            else:
                setattr(out, name, values[-1])
    return out


def _values(kind, wire, raw, many, depth):
    if kind in _VARINT:
        if wire == 0:
            return [_number(kind, raw)]
        if wire == 2 and many:
            values, at = [], 0
            while at < len(raw):
                value, at = read_varint(raw, at)
                values.append(_number(kind, value))
            return values
    elif kind in ("float", "double"):
        size, code, own = (4, "f", 5) if kind == "float" else (8, "d", 1)
        if wire == own:
            return [struct.unpack("<" + code, raw)[0]]
        if wire == 2 and many:
            if len(raw) % size:
                raise WireError("packed %ss end early" % kind)
            return list(struct.unpack("<%d%s" % (len(raw) // size, code), raw))
    elif wire == 2:
        if kind == "bytes":
            return [bytes(raw)]
        if kind == "string":
            return [bytes(raw).decode("utf-8", "surrogateescape")]
        return [decode(kind, raw, depth + 1)]
    return None


def encode(table, message):
    """The bytes of a namespace or dict; absent fields are None or missing."""
    own = message if isinstance(message, dict) else vars(message)
    out = bytearray()
    for number, (name, kind, many) in _IN_ORDER[table]:
        value = own.get(name)
        if value is None or many and not value:
            continue
        values = value if many else [value]
        if kind in _VARINT or kind in ("float", "double"):
            body = b"".join(_scalar(kind, v) for v in values)
            wire = 0 if kind in _VARINT else 5 if kind == "float" else 1
            if many:
                out += write_varint(number << 3 | 2) + write_varint(len(body)) + body
            else:
                out += write_varint(number << 3 | wire) + body
            continue
        for v in values:
            body = v if kind == "bytes" else v.encode("utf-8", "surrogateescape") if kind == "string" else encode(kind,
                                                                                                                  v)
            out += write_varint(number << 3 | 2) + write_varint(len(body)) + body
    return bytes(out)


def _scalar(kind, value):
    if kind == "float":
        return struct.pack("<f", value)
    if kind == "double":
        return struct.pack("<d", value)
    if kind.startswith("sint"):
        return write_varint(value << 1 if value >= 0 else (-value << 1) - 1)
    return write_varint(value)


def frame(body):
    return write_varint(len(body)) + body
