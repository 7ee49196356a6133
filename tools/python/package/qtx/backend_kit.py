"""A backend as a class: it is given models in the form that its system takes, and served by the backend protocol.

    class Mine(Backend):
        name, takes = "mine", "onnx"

        def __init__(self, options):
            super().__init__(options)
            import mine                      # here: what it prints stays off stdout, its threads are limited
            self.mine, self.version = mine, mine.__version__

        def prepare(self, model):            # bytes of a stock ONNX model
            self.session = self.mine.load(model)

        def run(self, inputs):               # arrays by name
            return self.session.run(inputs)  # arrays in order, or by name

    if __name__ == "__main__":
        serve(Mine)                          # qtx validate --backend 'cmd:python mine.py --threads 1'

`qtx.validate(callable_of(Mine))` runs the suite against the same class in this process.
"""

import argparse
import inspect
import os
import sys

import numpy as np

from qtx import _core
from qtx._backends import Adapter, seconds_of
from qtx._errors import Error, Unsupported
from qtx._model import Model, convert, load, lower
from qtx._tensor import Tensor

FORMS = ("onnx", "tflite", "qtx")
_NOT_ITS_OWN = ("kernel", "operator")  # of the ledger: what a TFLite file computes by other kernels than those of its operator
MAX_THREADS = 256
# Read by OpenMP, OpenBLAS, MKL and numexpr when they are loaded.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class Backend:
    """One model on a system: the kit makes an instance of the class for each model, and one that says what the system is.

    name, version, device, arithmetics: what it is, and what its answers are held to (S7 of the backend protocol).
    takes: the form of models. "onnx": stock ONNX, an extended model lowered to QDQ with the stored integers of its quantized
        inputs and outputs; "tflite": a TFLite file; "qtx": the model as it is, with a qtx.Tensor where a type is quantized.
    least_opset: lowered models have this opset of ai.onnx or a newer one.
    operators: the op_types of ONNX that the system takes; None: those that `prepare` does not decline.
    declines: exceptions of the system by which it declines a model or inputs; so does qtx.Unsupported. Others are faults of
        the backend.
    """

    name = ""
    version = ""
    device = "CPU"
    arithmetics = ("float32",)
    takes = "onnx"
    least_opset = 0
    operators = None
    declines = (RuntimeError, ValueError, NotImplementedError)

    def __init__(self, options):
        """`options`: what `add_options` declares, and `threads`."""
        self.options = options

    @classmethod
    def add_options(cls, parser):
        """Adds options of the command line to an argparse.ArgumentParser."""

    def prepare(self, model):
        """Prepares a model, the bytes of its form."""
        raise NotImplementedError

    def run(self, inputs):
        """Outputs, in order or by name, of inputs: arrays by name, in the order and with the names of the form."""
        raise NotImplementedError

    def measure(self, inputs, repetitions):
        """Wall-clock seconds of each of so many runs, without what is no computation where the system can leave that out."""
        return self.seconds_of(lambda: self.run(inputs), repetitions)

    seconds_of = staticmethod(seconds_of)


class _Form:
    """A model in the form that a class of backends takes.

    Raises qtx.Error of a broken clause, Unsupported for what the form cannot express and for operators that are not taken.
    """

    def __init__(self, backend, model):
        given = load(model)
        form = given
        self._declared = given.inputs
        try:
            if backend.takes == "tflite":
                file = convert(given, "tflite", given.kind, allow=_ALLOWED)
                for entry in file.ledger:
                    if entry.field in _NOT_ITS_OWN:
                        raise Unsupported(entry.why, entry.value)
                self.bytes = bytes(file)
            elif backend.takes == "onnx":
                if given.kind == "qtx":
                    form = lower(given, io="stored")
                    if form.opset < backend.least_opset:
                        form = lower(given, opset=backend.least_opset, io="stored")
                form = Model._of(_core.without_qtx_import(form._core))
        except Error as fault:
            if fault.clause and fault.code == "invalid":
                raise
            raise Unsupported(fault.message, fault.where) from None
        if backend.takes != "tflite":
            self.bytes = form.to_bytes()
        self._inputs = [value.name for value in form.inputs]
        self._outputs = list(zip((value.name for value in form.outputs), (value.name for value in given.outputs)))
        for node in form.nodes if backend.operators is not None else ():
            if node.op_type not in backend.operators:
                raise Unsupported(f"{backend.name} has no {node.op_type}", node.name or node.outputs[0])

    def feeds(self, inputs):
        """Arrays by the names of the form. Raises Unsupported for reals of a quantized input."""
        for value in self._declared:
            if _core.storage_of(value.type) != value.type and not isinstance(inputs[value.name], Tensor):
                raise Unsupported("reals of a quantized input", f"input {value.name!r}")
        return {name: np.array(inputs[value.name]) for name, value in zip(self._inputs, self._declared)}

    def results(self, given):
        """Outputs by the names of the model, of those by the names of the form or in order. Raises Error of code "protocol"."""
        if hasattr(given, "keys"):
            missing = [name for name, _ in self._outputs if name not in given]
            if missing:
                raise Error(f"run gave {sorted(map(str, given))}, expected {missing} too", code="protocol")
            given = [given[name] for name, _ in self._outputs]
        given = list(given)
        if len(given) != len(self._outputs):
            raise Error(f"found {len(given)} outputs, expected {len(self._outputs)}", code="protocol")
        return {name: value if isinstance(value, Tensor) else np.asarray(value)
                for (_, name), value in zip(self._outputs, given)}


# What a TFLite file has no place for, none of which an answer hangs on.
_ALLOWED = ("documentation", "origin", "scheme", "statistics")


class _Run:
    """A prepared model as a function of inputs by name, each a qtx.Tensor where its type is quantized."""

    def __init__(self, backend, model):
        self._backend, self._form = backend, _Form(backend, model)
        self._guarded(lambda: backend.prepare(self._form.bytes))

    def __call__(self, inputs):
        feeds = self._feeds(inputs)
        results = self._guarded(lambda: self._backend.run(feeds))
        return self._form.results(results)

    def measure(self, inputs, repetitions):
        """Seconds of so many runs."""
        feeds = self._feeds(inputs)
        return self._guarded(lambda: self._backend.measure(feeds, repetitions))

    def _feeds(self, inputs):
        return inputs if self._backend.takes == "qtx" else self._form.feeds(inputs)

    def _guarded(self, work):
        """What `work()` gives; an exception by which the system declines, as Unsupported."""
        try:
            return work()
        except (Error, Unsupported):
            raise
        except self._backend.declines as fault:
            raise Unsupported(f"{type(fault).__name__}: {' '.join(str(fault).split())[:400]}") from None


def callable_of(backend: type, options: argparse.Namespace | None = None):
    """A class of backends as `qtx.validate` and the others take one: a callable of a model's bytes."""
    options = options or _parser(backend).parse_args([])
    described = backend(options)
    if described.takes not in FORMS:
        raise ValueError(f"{backend.__name__}.takes: found {described.takes!r}, expected one of {', '.join(FORMS)}")

    def prepare(model):
        return _Run(backend(options), model)

    prepare.name, prepare.version = described.name or backend.__name__, described.version
    prepare.device, prepare.arithmetics = described.device, list(options.arithmetic or described.arithmetics)
    return prepare


def serve(backend: type, arguments: list[str] | None = None) -> None:
    """Answers requests on stdin and stdout with a class of backends until the end of input, then exits: a backend's `main`.

    arguments: of the command line; None: this process's. What the system prints on stdout goes to stderr.
    """
    options = _parser(backend).parse_args(arguments)
    for variable in _THREAD_VARIABLES:
        os.environ[variable] = str(options.threads)
    streams = _claimed_streams()
    status = _core.serve(Adapter(callable_of(backend, options)), *streams)
    sys.stderr.flush()
    os._exit(status)  # what systems do at exit takes longer than the two seconds of backend_protocol.S6, or fails


def _parser(backend):
    parser = argparse.ArgumentParser(description=(inspect.getdoc(inspect.getmodule(backend)) or backend.__name__).splitlines()[0])
    parser.add_argument("--threads", type=int, choices=range(1, MAX_THREADS + 1), metavar=f"1..{MAX_THREADS}", default=1)
    parser.add_argument("--arithmetic", action="append", choices=_core.arithmetics(), metavar="NAME",
                        help=f"what its answers are held to (repeatable; default: {', '.join(backend.arithmetics)})")
    backend.add_options(parser)
    return parser


def _claimed_streams():
    """Descriptors of the requests and the answers, which nothing else in this process and its children reads or writes."""
    streams = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return streams


def from_onnx_backend(backend, device: str = "CPU", arithmetics=("float32",),
                      declines: tuple[type[Exception], ...] = (NotImplementedError,)):
    """A backend for `qtx.validate` from one of ONNX's interface: a module or class with `prepare(model, device)`.

    It is given stock ONNX: extended models in their QDQ form, with the stored integers of quantized inputs and outputs.
    BackendIsNotSupposedToImplementIt and the exceptions of `declines` decline a model; others are errors of the backend.
    `arithmetics`: what its answers are held to. Needs the package onnx.
    """
    import onnx
    from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

    class OnnxBackend(Backend):
        """ONNX's interface."""

        def prepare(self, model):
            self.prepared = backend.prepare(onnx.ModelProto.FromString(model), device)

        def run(self, inputs):
            return self.prepared.run(list(inputs.values()))

    OnnxBackend.name = getattr(backend, "__name__", type(backend).__name__)
    OnnxBackend.version, OnnxBackend.device = str(getattr(backend, "__version__", "")), device
    OnnxBackend.arithmetics, OnnxBackend.declines = list(arithmetics), (BackendIsNotSupposedToImplementIt, *declines)
    return callable_of(OnnxBackend)
