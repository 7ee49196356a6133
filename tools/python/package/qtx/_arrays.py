"""Element types as numpy has them, and arrays to and from tensors of the extension.

bfloat16, float8, float4 and integers of 4 and 2 bits are the types of ml_dtypes where that package is installed. Without it
they are raw: bfloat16 as uint16 and small floats as uint8 codes, integers of 4 and 2 bits as int8 or uint8. Bipolar bits are
int8, -1 and +1. Both forms are taken as inputs in either case.
"""

import numpy as np

from qtx import _core

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

_NATIVE = {
    "FLOAT": "float32", "UINT8": "uint8", "INT8": "int8", "UINT16": "uint16", "INT16": "int16", "INT32": "int32",
    "INT64": "int64", "BOOL": "bool", "FLOAT16": "float16", "DOUBLE": "float64", "UINT32": "uint32", "UINT64": "uint64",
    "COMPLEX64": "complex64", "COMPLEX128": "complex128",
}
# The raw form, and the name that ml_dtypes has.
_OTHER = {
    "BFLOAT16": ("uint16", "bfloat16"), "FLOAT8E4M3FN": ("uint8", "float8_e4m3fn"),
    "FLOAT8E4M3FNUZ": ("uint8", "float8_e4m3fnuz"), "FLOAT8E5M2": ("uint8", "float8_e5m2"),
    "FLOAT8E5M2FNUZ": ("uint8", "float8_e5m2fnuz"), "FLOAT8E8M0": ("uint8", "float8_e8m0fnu"),
    "FLOAT4E2M1": ("uint8", "float4_e2m1fn"), "UINT4": ("uint8", "uint4"), "INT4": ("int8", "int4"),
    "UINT2": ("uint8", "uint2"), "INT2": ("int8", "int2"), "BIPOLAR1": ("int8", None),
}
_SMALL_INTEGERS = ("UINT4", "INT4", "UINT2", "INT2")


def _ml_dtype(name):
    """The numpy dtype of a name of ml_dtypes, or None without one."""
    scalar = getattr(ml_dtypes, name, None) if ml_dtypes and name else None
    return None if scalar is None else np.dtype(scalar)


def dtypes_of(storage):
    """The numpy dtypes of a storage type, that of results first; empty for STRING and unknown types."""
    if storage in _NATIVE:
        return [np.dtype(_NATIVE[storage])]
    if storage not in _OTHER:
        return []
    raw, name = _OTHER[storage]
    own = _ml_dtype(name)
    return [np.dtype(raw)] if own is None else [own, np.dtype(raw)]


def type_of(dtype):
    """The element type that results of this dtype have, or None."""
    dtype = np.dtype(dtype)
    for storage in (*_NATIVE, *_OTHER):
        if dtypes_of(storage)[0] == dtype and (storage in _NATIVE or dtype != _OTHER[storage][0]):
            return storage
    return None


def array_of(value, place):
    """`value` as an array whose bytes are in the machine's order.

    Raises TypeError for what is no array: a list or a number has no element type of its own.
    """
    if not hasattr(value, "__array__"):
        raise TypeError(f"{place}: found {type(value).__name__}, expected a numpy array or qtx.Tensor")
    array = np.asarray(value)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def bytes_of(array, storage):
    """The elements of `array`, one of dtypes_of(storage), as the extension takes them: C order, a byte or more each.

    Arrays in C order are borrowed; others are copied.
    """
    raw = _OTHER.get(storage, (None, None))[0]
    if raw and array.dtype != raw and storage in _SMALL_INTEGERS:
        array = array.astype(raw)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def stored_of(tensor):
    """The stored values of a tensor of the extension; borrows its bytes, except of elements of less than a byte."""
    storage = _core.storage_of(tensor.type)
    dtype = dtypes_of(storage)[0]
    data = tensor.data()
    if storage in _SMALL_INTEGERS:
        data = data.view(_OTHER[storage][0]).astype(dtype, copy=False)
    return data.view(dtype).reshape(tensor.dims)


def expected(storage, reals=False):
    """The dtypes that are taken, for people: "int8 or float32"."""
    names = [dtype.name for dtype in dtypes_of(storage)]
    return " or ".join(names + (["float32 (reals)"] if reals else []))
