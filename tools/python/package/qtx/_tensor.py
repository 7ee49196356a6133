"""Tensors of quantized types."""

import typing

import numpy as np

from qtx import _core
from qtx._arrays import array_of, bytes_of, dtypes_of, expected, stored_of, type_of


def _vector(values, dtype, name):
    array = np.atleast_1d(np.asarray(values))
    if array.dtype.kind not in ("iuf" if dtype == np.float32 else "iu"):
        raise TypeError(f"{name}: found {array.dtype}, expected numbers of {np.dtype(dtype).name}")
    cast = array.astype(dtype).ravel()
    if dtype != np.float32 and not np.array_equal(cast, array.ravel()):
        raise ValueError(f"{name}: found a number beyond {np.dtype(dtype).name}")
    return cast.tolist()


class Parameters:
    """What makes reals of stored integers, of a tensor or of a declared value: that of `_core`, which the extension has."""

    __slots__ = ()
    _core: typing.Any

    @property
    def scale(self):
        """Real units per LSB: a float32, or an array of one for each parameter; None of a type without parameters."""
        return self._parameter(np.array(self._core.scale, np.float32))

    @property
    def offset(self):
        """The stored value of real zero: an int32, or an array of one for each parameter; None of a type without parameters."""
        return self._parameter(np.array(self._core.offset or [0] * len(self._core.scale), np.int32))

    @property
    def axis(self):
        """The axis that scale and offset are along, a tuple where there are several, None where there is none."""
        axis = self._core.axis
        return None if not axis else axis[0] if len(axis) == 1 else tuple(axis)

    @property
    def block_shape(self):
        """Elements along each axis that share a parameter, or None where each has its own."""
        return tuple(self._core.block_shape) or None

    def _parameter(self, values):
        return values if self.axis is not None else values[0] if len(values) else None


class Tensor(Parameters):
    """A tensor of a quantized type: stored integers, and the parameters that make reals of them.

        real = scale * (stored - offset)

    Tensor(stored, scale=0.5, offset=3) is of the quantized type over stored's dtype; `type` names another over the same
    storage: "INT4Q" for an int8 array of -8 to 7. `axis` is the axis along which scale and offset have a value each, a tuple
    of axes where they have blocks of `block_shape` elements; None: one value for the tensor. The constructor copies `stored`.
    Raises qtx.Error where the parameters do not fit, TypeError for another dtype.
    """

    __slots__ = ("_core",)

    def __init__(self, stored, scale, offset=0, axis=None, type=None, block_shape=None):  # pylint: disable=redefined-builtin
        array = array_of(stored, "stored")
        if type is None:
            storage = type_of(array.dtype)
            if storage is None:
                raise TypeError(f"stored: found an array of {array.dtype}, which no quantized type stores")
            type = f"{storage}Q"
        storage = _core.storage_of(type)
        if array.dtype not in dtypes_of(storage):
            raise TypeError(f"stored: found an array of {array.dtype}, expected {expected(storage)} for {type}")
        scales, offsets = _vector(scale, np.float32, "scale"), _vector(offset, np.int32, "offset")
        if len(offsets) == 1 and len(scales) > 1:
            offsets *= len(scales)
        axes = [] if axis is None else _vector(axis, np.int64, "axis")
        blocks = [] if block_shape is None else _vector(block_shape, np.int64, "block_shape")
        self._core = _core.Tensor.make(type, list(array.shape), bytes_of(array, storage),
                                       (scales, offsets if any(offsets) else [], axes, blocks))

    @property
    def type(self) -> str:
        """The element type: "INT8Q"."""
        return self._core.type

    @property
    def shape(self) -> tuple:
        """The dimensions, a tuple."""
        return tuple(self._core.dims)

    @property
    def stored(self) -> np.ndarray:
        """The stored values as a numpy array of `shape`, in units of one LSB; borrows the tensor's memory.

        bfloat16, float8, float4 and integers of 4 and 2 bits are types of ml_dtypes where that is installed, else raw: uint16,
        uint8 codes, int8 or uint8. Bipolar bits are int8, -1 and +1.
        """
        return stored_of(self._core)

    def real(self) -> np.ndarray:
        """The real values, scale * (stored - offset), as float64: exact for storage of up to 16 bits, else rounded once."""
        return self._core.reals().reshape(self.shape)

    def __array__(self, dtype=None, copy=None):
        stored = self.stored
        if dtype is not None and stored.dtype != dtype:
            return stored.astype(dtype)
        return stored.copy() if copy else stored

    def __len__(self):
        return len(self.stored)

    def __repr__(self):
        stored = self.stored
        is_small = stored.size <= 16
        stored = stored.tolist() if is_small else np.array2string(stored, threshold=16, edgeitems=2, separator=", ",
                                                                  prefix=" " * 11)
        along = "" if self.axis is None else f", axis={self.axis}"
        blocks = "" if self.block_shape is None else f", block_shape={self.block_shape}"
        return f"qtx.Tensor({stored}, {self.type}{list(self.shape)}, scale={self.scale!s}, offset={self.offset!s}{along}{blocks})"


def wrapped(tensor):
    """A tensor of the extension for users: a Tensor where its type is quantized, else an array."""
    if not tensor.is_quantized:
        return stored_of(tensor)
    made = object.__new__(Tensor)
    made._core = tensor
    return made


def given(value, declared, place):
    """What a caller gives for a declared value, as a tensor of the extension.

    A Tensor as it is; an array of the storage type as stored values; for a quantized type, an array of float32 as reals.
    Raises TypeError for others.
    """
    if isinstance(value, Tensor):
        return value._core
    array = array_of(value, place)
    storage = _core.storage_of(declared.type)
    is_quantized = storage != declared.type
    if array.dtype in dtypes_of(storage):
        found = storage
    elif is_quantized and array.dtype == np.float32:
        found = "FLOAT"
    else:
        raise TypeError(f"{place}: found an array of {array.dtype}, expected {expected(storage, is_quantized)}")
    return _core.Tensor.make(found, list(array.shape), bytes_of(array, found), ([], [], [], []))
