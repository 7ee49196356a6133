"""Backends: built-in ones by name, and Python callables."""

import os
import time
import traceback
import typing

from qtx import _core
from qtx._arrays import array_of, bytes_of, dtypes_of, type_of
from qtx._errors import Error, Unsupported
from qtx._interpreter import Array
from qtx._model import texts
from qtx._tensor import Tensor, wrapped


Run = typing.Callable[[dict[str, Array]], typing.Mapping[str, Array]]
Backend = typing.Union[str, typing.Callable[[bytes], Run]]


def _place(fault):
    """The last line of Python that an exception passed: "backend.py:12"."""
    frames = traceback.extract_tb(fault.__traceback__)
    return f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""


class Adapter:
    """A callable as the extension's backend: `prepare(model: bytes)` gives `run(inputs: dict)`, which gives outputs by name."""

    def __init__(self, prepare, arithmetics=None):
        self._prepare = prepare
        self.name = str(getattr(prepare, "name", None) or getattr(prepare, "__name__", None) or type(prepare).__name__)
        claimed = arithmetics if arithmetics is not None else getattr(prepare, "arithmetics", None)
        self._arithmetics = texts(claimed, "arithmetics") or ["exact"]
        self._version = str(getattr(prepare, "version", ""))
        self._device = str(getattr(prepare, "device", "Python"))
        self.interrupt = None

    def description(self):
        """For the extension: name, version, arithmetics, device."""
        return self.name, self._version, self._arithmetics, self._device

    def prepare(self, model, arithmetic):
        """For the extension: a Prepared, or an Answer."""
        if arithmetic not in ("", *self._arithmetics):
            return _core.Answer("unsupported", "arithmetic", f"found {arithmetic!r}, expected {', '.join(self._arithmetics)}", "")
        run = self.ask(lambda: self._prepare(model.serialize()))
        if isinstance(run, _core.Answer):
            return run
        if not callable(run):
            return _core.Answer("protocol", self.name, f"prepare gave {type(run).__name__}, expected a callable", "")
        return Prepared(self, run, model)

    def ask(self, request):
        """What `request()` gives, or the Answer that its exception is."""
        if self.interrupt is not None:
            return _core.Answer("unsupported", self.name, "interrupted", "")
        try:
            return request()
        except Unsupported as fault:
            return _core.Answer("unsupported", fault.where or self.name, fault.message or "declined", "")
        except Error as fault:
            return _core.Answer(fault.code, fault.where or self.name, fault.message, fault.clause)
        except Exception as fault:  # pylint: disable=broad-exception-caught  # any of them is an answer
            return _core.Answer("internal", self.name, f"{type(fault).__name__}: {fault}{_place(fault)}", "")
        except BaseException as fault:  # pylint: disable=broad-exception-caught  # raised again by `raise_interrupt`
            self.interrupt = fault
            return _core.Answer("unsupported", self.name, "interrupted", "")

    def raise_interrupt(self):
        """Raises KeyboardInterrupt or SystemExit that the callable has let pass."""
        if self.interrupt is not None:
            raise self.interrupt


class Prepared:
    """What an Adapter's callable has prepared, for the extension: each answer is what it asks for, or an Answer."""

    def __init__(self, adapter, run, model):
        self._ask, self._run = adapter.ask, run
        self._inputs, self._outputs = model.inputs, model.outputs

    def run(self, tensors):
        """The outputs, in order, of inputs in order."""
        return self._ask(lambda: _results(self._run(self._feeds(tensors)), self._outputs))

    def measure(self, tensors, repetitions):
        """Seconds of each of so many runs: `run.measure(inputs, repetitions)` where the callable has that, else of `run(inputs)`."""
        measure = getattr(self._run, "measure", None) or (lambda feeds, count: seconds_of(lambda: self._run(feeds), count))
        return self._ask(lambda: list(measure(self._feeds(tensors), repetitions)))

    def _feeds(self, tensors):
        """Inputs by name. Raises Error of code "invalid" for those that the model does not declare (backend_protocol.S9, S13)."""
        if len(tensors) != len(self._inputs):
            raise Error(f"found {len(tensors)}, expected {len(self._inputs)}", "inputs")
        for value, tensor in zip(self._inputs, tensors):
            _expect_declared(tensor, value)
        return {value.name: wrapped(tensor) for value, tensor in zip(self._inputs, tensors)}


def _expect_declared(tensor, value):
    """Raises Error where a tensor is not of the declared type, parameters and shape; reals of a quantized type are (quantization.S5)."""
    where, shape = f"input {value.name!r}", value.shape or ()
    is_quantized = _core.storage_of(value.type) != value.type
    if tensor.type != value.type and not (is_quantized and tensor.type == "FLOAT"):
        raise Error(f"found {tensor.type}, expected {value.type}", where)
    is_fitting = value.shape is None or len(shape) == len(tensor.dims) and all(
        not isinstance(expected, int) or expected == found for expected, found in zip(shape, tensor.dims))
    if not is_fitting:
        raise Error(f"found shape {list(tensor.dims)}, expected {list(shape)}", where)
    if tensor.is_quantized and _parameters(tensor) != _parameters(value):
        raise Error("found other parameters than the model declares", where)


def _parameters(typed):
    """Scales, offsets, axes and blocks, with what is left out written out."""
    return (list(typed.scale), list(typed.offset) or [0] * len(typed.scale), list(typed.axis),
            list(typed.block_shape) or [1] * len(typed.axis))


def seconds_of(work, count):
    """Wall-clock seconds of each of `count` calls of `work()`."""
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds


def _results(results, outputs):
    """Outputs by name as tensors of the extension, in order. Raises Error of code "protocol"."""
    if not hasattr(results, "keys"):
        raise Error(f"run gave {type(results).__name__}, expected a dict of names to arrays", code="protocol")
    missing = [output.name for output in outputs if output.name not in results]
    if missing:
        raise Error(f"run gave {sorted(map(str, results))}, expected {missing} too", code="protocol")
    return [result_of(results[output.name], output) for output in outputs]


def result_of(value, output):
    """Arrays of the storage type have the declared parameters; others keep their own type, which the harness judges."""
    if isinstance(value, Tensor):
        return value._core
    place = f"output {output.name!r}"
    try:
        array = array_of(value, place)
    except TypeError as fault:
        raise Error(str(fault), code="protocol") from None
    storage = _core.storage_of(output.type)
    if array.dtype in dtypes_of(storage):
        return output.tensor(list(array.shape), bytes_of(array, storage))
    own = type_of(array.dtype)
    if own is None:
        raise Error(f"found an array of {array.dtype}", place, code="protocol")
    return _core.Tensor.make(own, list(array.shape), bytes_of(array, own), ([], [], [], []))


def source_of(backend, arithmetics=None):
    """The extension's backend for a name or a callable, and the Adapter of the latter, else None.

    Raises TypeError for others, qtx.Error for a name that is not known.
    """
    if isinstance(backend, str):
        return _core.BackendSource.named(backend), None
    if not callable(backend):
        raise TypeError(f"backend: found {type(backend).__name__}, expected a name or a callable prepare(model: bytes)")
    adapter = Adapter(backend, arithmetics)
    return _core.BackendSource.adapted(adapter), adapter


def backends() -> list[str]:
    """Names of the backends that this build has, the reference first."""
    return list(_core.available_backends())
