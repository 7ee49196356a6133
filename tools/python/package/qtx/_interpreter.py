"""The reference interpreter."""

import typing

import numpy as np

from qtx import _core
from qtx._model import ModelLike, load, texts
from qtx._tensor import Tensor, given, wrapped

Array = typing.Union[np.ndarray, Tensor]


def arithmetics() -> list[str]:
    """The named arithmetics that the reference computes in: "exact", "float32", "tflite", ..."""
    return list(_core.arithmetics())


def profiles() -> list[str]:
    """The deployment profiles: "litert-xnnpack", "onnxruntime", ... (spec/profiles.md)."""
    return list(_core.profiles())


class Interpreter:
    """Runs a model on the exact reference, operator by operator, in a named arithmetic.

    "exact" (rounded once from the exact rational) is the normative one; `qtx.arithmetics()` lists all. `node_arithmetics` maps
    names of nodes (or of the first output of a node without one) to arithmetics of their own; `profile`, one of `qtx.profiles()`,
    gives those of a deployed system to all other nodes, and `unmodelled` then lists (node, why) of those whose kernel it does not
    know, which are computed as in "exact". The model is checked before anything runs. Raises qtx.Error with the broken clause, or code "unsupported" for what is not computed. Threads may share
    an Interpreter: its runs take turns, without the GIL.
    """

    def __init__(self, model: ModelLike, arithmetic: str = "exact",
                 node_arithmetics: typing.Mapping[str, str] | None = None, *, profile: str | None = None):
        texts([arithmetic], "arithmetic")
        own = dict(node_arithmetics or {})
        texts(own.keys(), "node_arithmetics")
        texts(own.values(), "node_arithmetics")
        self.model = load(model)
        self.arithmetic, self.profile = arithmetic, profile
        by_node, self.unmodelled = {}, []
        if profile is not None:
            texts([profile], "profile")
            by_node, self.unmodelled = _core.assigned(self.model._core, profile)
        by_node.update(own)
        self._declared = self.model._core.inputs
        self._names = [output.name for output in self.model.outputs]
        self._session = _core.Session(self.model._core, arithmetic, by_node)

    def run(self, inputs: typing.Mapping[str, Array], intermediates: bool = False) -> dict[str, Array]:
        """Runs the model: from the inputs by name, the outputs by name.

        For a quantized input: a qtx.Tensor, an array of its storage type (stored values; the model has the parameters), or
        an array of float32 (reals, which the input's own parameters quantize). For others: an array of its type. Arrays may
        have any strides. Inputs are copied once; a quantized output is a qtx.Tensor, another an array, both without a copy.
        `intermediates`: every value that a node gives as well, in order; those of bodies by the nodes they are within.
        Raises qtx.Error for shapes or parameters that do not fit, TypeError for wrong names and types.
        """
        outputs, between = self._session.run(feeds(inputs, self._declared), bool(intermediates))
        values = {name: wrapped(tensor) for name, tensor in between}
        values.update(zip(self._names, map(wrapped, outputs)))
        return values


def feeds(inputs, declared):
    """The tensors of the extension for the declared inputs, in their order. Raises TypeError for wrong names and types."""
    if not hasattr(inputs, "keys"):
        raise TypeError(f"inputs: found {type(inputs).__name__}, expected a dict of names to arrays")
    names = [value.name for value in declared]
    missing = [name for name in names if name not in inputs]
    unknown = [name for name in inputs if name not in names]
    if missing or unknown:
        raise TypeError(f"inputs: found {sorted(map(str, inputs))}, expected {names}")
    return [given(inputs[value.name], value, f"input {value.name!r}") for value in declared]
