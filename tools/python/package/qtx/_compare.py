"""Layer by layer: another executor's values beside the reference's."""

import dataclasses
import math
import os
import typing

import numpy as np

from qtx import _core, _table
from qtx._interpreter import Array, Interpreter
from qtx._model import Model, ModelLike, _path, load, lower
from qtx._tensor import Tensor


@dataclasses.dataclass(frozen=True)
class Layer:
    """How far a value of the session lies from the reference's.

    position: of the node that gives it, in the order of the graph. elements, differing: numbers.
    largest: the largest difference: in LSB of the value where its type is quantized, else relative to the largest magnitude
        of the reference's value; infinite where one side alone is NaN or infinite.
    at: the index of that element, a tuple; got, expected: both sides there, stored values where the type is quantized.
    """

    value: str
    op_type: str
    position: int
    type: str
    shape: tuple
    elements: int
    differing: int
    largest: float
    unit: str
    at: tuple
    got: float
    expected: float


class Comparison(list):
    """A Layer for each value that both sides have, the worst first. `str` is a table.

    arithmetic: the reference's. missing: values of the reference that the session does not give.
    """

    _HEADERS = ("value", "op", "node", "type", "shape", "differing", "of", "largest", "unit", "at", "got", "expected")

    def __init__(self, layers, arithmetic, missing):
        super().__init__(layers)
        self.arithmetic, self.missing = arithmetic, missing

    @property
    def first(self) -> Layer | None:
        """The first Layer in the order of the graph that differs, or None: where the difference comes from."""
        return min((layer for layer in self if layer.differing), key=lambda layer: layer.position, default=None)

    def _caption(self):
        differing = sum(1 for layer in self if layer.differing)
        first = self.first
        origin = f"; the first is {_table.short(first.value)}, {first.op_type}, node {first.position}" if first else ""
        return f"{differing} of {len(self)} values differ from the reference in {self.arithmetic}{origin}"

    def _rows(self):
        return [(layer.value, layer.op_type, layer.position, layer.type, str(list(layer.shape)), layer.differing,
                 layer.elements, layer.largest, layer.unit, str(list(layer.at)), layer.got, layer.expected) for layer in self]

    def text(self, listed: int | None = None) -> str:
        """The table: its first `listed` rows, or all."""
        return f"{self._caption()}\n{_table.text(self._HEADERS, self._rows()[:listed])}"

    def __str__(self):
        return self.text()

    def _repr_html_(self):
        return _table.markup(self._caption(), self._HEADERS, self._rows())

    def html(self, path: str | os.PathLike) -> None:
        """Writes the table as a page that works offline. Raises qtx.Error."""
        _core.write_file(_path(path), _table.page("qtx.compare", self._caption(), self._HEADERS, self._rows()).encode())


def compare(model: ModelLike, inputs: typing.Mapping[str, Array], session, *, arithmetic: str = "float32",
            profile: str | None = None) -> Comparison:
    """Compares each value that a session computes with the reference's, on the same inputs: a Comparison, worst first.

    session: an onnxruntime.InferenceSession, or a callable that takes the inputs by name and gives values by name: arrays of
        the storage type, reals as float arrays, or qtx.Tensors, of any values of the model.
    arithmetic: what the reference computes in; "float32" is that of stock QDQ, "exact" the normative one.
    profile: the deployed system whose kernels the reference computes in, as qtx.Interpreter has it; goes before `arithmetic`.

    An InferenceSession gives graph outputs alone. Those are its own; for the other values a second session of its providers
    and options is made, of the QDQ form of `model` with every value as a graph output. So the session's model must be `model`
    or a form of it, with the same inputs and outputs in the same order. Graph optimizations of the second session may differ,
    as it has to keep values that the first one fuses away: where an output differs and no value before it does, a fused kernel
    of the first session is the cause.
    Both sides run the whole model, so a difference goes on to the layers after it: `Comparison.first` is where it begins.
    Raises qtx.Error, TypeError for wrong inputs, and what the session raises.
    """
    model = load(model)
    if model.kind not in ("qtx", "onnx", "qdq"):
        raise ValueError(f"model: found kind {model.kind!r}, expected the extended form, qdq or float ONNX")
    expected = Interpreter(model, arithmetic, profile=profile).run(inputs, intermediates=True)
    if hasattr(session, "get_providers") and hasattr(session, "get_session_options"):
        found = _values_of_session(model, inputs, session)
    elif callable(session):
        found = session(dict(inputs))
    else:
        raise TypeError(f"session: found {type(session).__name__}, expected an onnxruntime.InferenceSession or a callable")
    if not hasattr(found, "keys"):
        raise TypeError(f"session: gave {type(found).__name__}, expected a dict of names to arrays")
    layers, missing = [], []
    for position, op_type, name in _produced(model):
        if name not in expected:
            continue
        if name in found:
            layers.append(_layer(name, op_type, position, found[name], expected[name]))
        else:
            missing.append(name)
    layers.sort(key=lambda layer: (-layer.largest, layer.position))
    return Comparison(layers, profile or arithmetic, missing)


def _produced(model):
    return [(position, op_type, name) for position, (_, op_type, _, _, outputs) in enumerate(model._core.nodes)
            for name in outputs if name]


def _values_of_session(model, inputs, session):
    """The graph outputs of the session, and all other values by a second one like it."""
    stock = lower(model) if model.kind == "qtx" else model
    names = [name for _, _, name in _produced(model)]
    wide = Model._of(_core.with_outputs(stock._core, names))
    second = type(session)(wide.to_bytes(), session.get_session_options(), providers=session.get_providers(),
                           provider_options=_options_of(session))
    reals = {}
    for declared in wide.inputs:
        value = inputs[declared.name]
        if isinstance(value, Tensor):
            value = value.real().astype(np.float32)
        reals[declared.name] = np.asarray(value)
    _dequantize_stored(model, reals)
    outputs = [output.name for output in second.get_outputs()]
    found = dict(zip(outputs, second.run(None, reals)))
    found.update(zip((output.name for output in model.outputs), session.run(None, _feeds_of(model, inputs, reals, session))))
    return found


def _feeds_of(model, inputs, reals, session):
    """The session's inputs, by order: reals where it takes float, else the stored values that were given."""
    slots = session.get_inputs()
    if len(slots) != len(model.inputs):
        raise ValueError(f"session: found {len(slots)} inputs, expected the model's {len(model.inputs)}")
    return {slot.name: reals[declared.name] if slot.type == "tensor(float)" else np.asarray(inputs[declared.name])
            for slot, declared in zip(slots, model.inputs)}


def _options_of(session):
    options = session.get_provider_options()
    return [options.get(provider, {}) for provider in session.get_providers()]


def _dequantize_stored(model, reals):
    """Stored integers given for a quantized input become the reals that the lowered model takes, which it quantizes back."""
    for declared in model._core.inputs:
        storage = _core.storage_of(declared.type)
        array = reals[declared.name]
        if storage == declared.type or array.dtype == np.float32:
            continue
        tensor = Tensor(array, declared.scale, declared.offset or 0, declared.axis or None,
                        declared.type, declared.block_shape or None)
        reals[declared.name] = tensor.real().astype(np.float32)


def _layer(name, op_type, position, found, expected):
    """The Layer of one value."""
    is_quantized = isinstance(expected, Tensor)
    wanted = np.asarray(expected)
    got = _stored(found, expected) if is_quantized else np.asarray(found)
    if got.shape != wanted.shape:
        raise ValueError(f"value {name!r}: found shape {list(got.shape)}, expected {list(wanted.shape)}")
    distance = _distance(got.astype(np.float64), wanted.astype(np.float64), is_quantized)
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(distance)), wanted.shape)) if wanted.size else ()
    return Layer(value=name, op_type=op_type, position=position,
                 type=expected.type if is_quantized else wanted.dtype.name, shape=wanted.shape, elements=int(wanted.size),
                 differing=int(np.count_nonzero(distance)), largest=float(distance[at]) if wanted.size else 0.0,
                 unit="LSB" if is_quantized else "relative", at=at,
                 got=_element(got, at, is_quantized), expected=_element(wanted, at, is_quantized))


def _element(values, at, is_quantized):
    """An element as a number of Python: of stored values an int, where it is finite."""
    value = values[at].item() if values.size else math.nan
    return int(value) if is_quantized and math.isfinite(value) else value


def _stored(found, expected):
    """What a session gave for a quantized value, in stored units: itself, or the nearest to its reals."""
    if isinstance(found, Tensor) or np.asarray(found).dtype == expected.stored.dtype:
        return np.asarray(found)
    reals = np.asarray(found)
    if reals.dtype not in (np.float32, np.float64):
        raise TypeError(f"session: gave an array of {reals.dtype} for a value of type {expected.type}")
    return np.rint(reals.astype(np.float64) / _along(expected.scale, expected) + _along(expected.offset, expected))


def _along(parameters, tensor):
    """Parameters so that numpy broadcasts them over the tensor."""
    if tensor.axis is None:
        return parameters
    if tensor.block_shape is None and isinstance(tensor.axis, int):
        shape = [1] * len(tensor.shape)
        shape[tensor.axis] = -1
        return np.reshape(parameters, shape)
    raise ValueError(f"a value with blocks along {tensor.axis} has to be given as stored values")


def _distance(got, wanted, is_quantized):
    """The difference of each element: stored units, or relative to the largest finite magnitude that is wanted."""
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(got - wanted)
    if not is_quantized:
        finite = np.abs(wanted[np.isfinite(wanted)])
        largest = finite.max() if finite.size and finite.max() > 0 else 1.0
        distance = distance / largest
    return np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))
