"""Backends: built-in ones by name, and Python callables."""

import os
import traceback
import typing

import numpy as np

from qtx import _core
from qtx._arrays import array_of, bytes_of, dtypes_of, type_of
from qtx._errors import Error, Unsupported
from qtx._interpreter import Array
from qtx._model import Model, lower, texts
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

    def prepare(self, model, _):
        """For the extension: a function of tensors, or an Answer."""
        run = self.ask(lambda: self._prepare(model.serialize()))
        if isinstance(run, _core.Answer):
            return run
        if not callable(run):
            return _core.Answer("protocol", self.name, f"prepare gave {type(run).__name__}, expected a callable", "")
        inputs, outputs = model.inputs, model.outputs

        def run_tensors(tensors):
            feeds = {value.name: wrapped(tensor) for value, tensor in zip(inputs, tensors)}
            return self.ask(lambda: _results(run(feeds), outputs))
        return run_tensors

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


def from_onnx_backend(backend, device: str = "CPU", arithmetics: typing.Iterable[str] = ("float32",),
                      declines: tuple[type[Exception], ...] = (NotImplementedError,)) -> typing.Callable[[bytes], Run]:
    """A backend for `qtx.validate` from one of ONNX's interface: a module or class with `prepare(model, device)`.

    It is given stock ONNX: extended models in their QDQ form, with the stored integers of quantized inputs and outputs.
    BackendIsNotSupposedToImplementIt and the exceptions of `declines` decline a model; others are errors of the backend.
    `arithmetics`: what its answers are held to. Needs the package onnx.
    """
    import onnx
    from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

    def prepare(model):
        extended = Model._of(_core.Source.from_bytes(model, "model").onnx())
        if extended.kind == "qtx":
            model = lower(extended, io="stored").to_bytes()
        proto = onnx.ModelProto.FromString(model)
        for i in reversed(range(len(proto.opset_import))):
            if proto.opset_import[i].domain == "qtx":
                del proto.opset_import[i]
        names = [output.name for output in extended.outputs]
        declared = [value.type for value in extended.outputs]

        def decline(fault):
            raise Unsupported(f"{type(fault).__name__}: {fault}") from None
        try:
            prepared = backend.prepare(proto, device)
        except (BackendIsNotSupposedToImplementIt, *declines) as fault:
            decline(fault)

        def run(inputs):
            try:
                results = prepared.run([np.asarray(value) for value in inputs.values()])
            except (BackendIsNotSupposedToImplementIt, *declines) as fault:
                decline(fault)
            if len(results) != len(declared):
                raise Error(f"found {len(results)} outputs, expected {len(declared)}", code="protocol")
            return {name: np.asarray(result) for name, result in zip(names, results)}
        return run

    prepare.name = getattr(backend, "__name__", type(backend).__name__)
    prepare.version = str(getattr(backend, "__version__", ""))
    prepare.device = device
    prepare.arithmetics = list(arithmetics)
    return prepare
