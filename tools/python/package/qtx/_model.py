"""Models: load, check, convert, lower, lift, infer, diff."""

import dataclasses
import operator
import os
import pathlib
import typing

from qtx import _core, _table
from qtx._errors import Error
from qtx._tensor import Parameters, wrapped


class ModelProto(typing.Protocol):
    """What is used of an onnx.ModelProto."""

    def SerializeToString(self) -> bytes:  # pylint: disable=invalid-name
        """The model's bytes."""


ModelLike = typing.Union[str, os.PathLike, bytes, bytearray, memoryview, ModelProto, "Model"]
_TAKEN = "a path, bytes, an onnx.ModelProto or a qtx.Model"


@dataclasses.dataclass(frozen=True)
class Value(Parameters):
    """A declared value: its name, element type ("FLOAT", "INT8Q"; "UNKNOWN" if it is no tensor) and shape.

    `shape` has a number, a symbol's name or None for each dimension; it is None where the rank is unknown. The parameters of
    a quantized type are those of a Tensor: scale, offset, axis, block_shape.
    """

    name: str
    type: str
    shape: tuple | None
    _core: typing.Any = dataclasses.field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The type with its parameters, for people."""
        return self._core.text

    @property
    def quant_min(self) -> int | None:
        """The least stored value, that of the storage where the type does not narrow it; None of floats and plain types."""
        return self._core.range and self._core.range[0]

    @property
    def quant_max(self) -> int | None:
        """The greatest stored value, as `quant_min`."""
        return self._core.range and self._core.range[1]


@dataclasses.dataclass(frozen=True)
class Node:
    """An operator of a graph: inputs and outputs are names of values, "" for an optional one that is absent.

    attributes: by name: int, float, str, lists of them, an array; None for bodies, types and sparse tensors.
    """

    op_type: str
    domain: str
    name: str
    inputs: tuple
    outputs: tuple
    attributes: dict


@dataclasses.dataclass(frozen=True)
class Finding:
    """A broken rule: the clause of the specification ("quantization.C3"), the place in the model, and what is wrong."""

    clause: str
    place: str
    message: str


@dataclasses.dataclass(frozen=True)
class LedgerEntry:
    """What became of a field in a conversion: `fate` is "kept", "changed" or "dropped"; `why` is empty where it is kept."""

    value: str
    field: str
    fate: str
    why: str


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference of two models: "value 'x'", "scale", and both sides as text."""

    place: str
    field: str
    a: str
    b: str


class File(bytes):
    """A model file that is no ONNX, as `convert` gives it. `kind` is its kind, `ledger` what became of each field."""

    kind = ""
    ledger = ()

    def save(self, path: str | os.PathLike) -> None:
        """Writes the file: beside `path` first, then renamed. Raises qtx.Error."""
        _core.write_file(_path(path), bytes(self))


class Model:
    """An ONNX model, in the extended form or stock; made by `qtx.load`. It does not change."""

    __slots__ = ("_core", "ledger")

    def __init__(self):
        raise TypeError("qtx.load, qtx.convert and others make a Model")

    @classmethod
    def _of(cls, core, ledger=()):
        model = object.__new__(cls)
        model._core = core
        model.ledger = [LedgerEntry(*row) for row in ledger]
        return model

    @property
    def inputs(self) -> list[Value]:
        """The graph's inputs without initializers, in order, each a Value."""
        return _values(self._core.inputs)

    @property
    def outputs(self) -> list[Value]:
        """The graph's outputs, in order, each a Value."""
        return _values(self._core.outputs)

    @property
    def values(self) -> list[Value]:
        """The declared values that are no inputs, outputs and initializers, each a Value; `qtx.infer` declares all."""
        return _values(self._core.values)

    @property
    def nodes(self) -> list[Node]:
        """The graph's operators in order, each a Node. Raises qtx.Error for a tensor attribute that cannot be decoded."""
        return [Node(op_type, domain, name, tuple(inputs), tuple(outputs),
                     {key: wrapped(value) if isinstance(value, _core.Tensor) else value for key, value in attributes.items()})
                for (name, op_type, domain, inputs, outputs), attributes in zip(self._core.nodes, self._core.attributes)]

    @property
    def initializers(self) -> dict:
        """The graph's constants by name, decoded at each call: a qtx.Tensor where the type is quantized, else an array.

        Raises qtx.Error for one that cannot be decoded, or does not fit its declared type.
        """
        return {name: wrapped(tensor) for name, tensor in self._core.initializers}

    @property
    def kind(self) -> str:
        """"qtx" for the extended form; "qdq", "qoperator", "qonnx" or "onnx" for stock ONNX."""
        return _core.Source.from_model(self._core).kind()

    @property
    def opset(self) -> int:
        """The version of ai.onnx that the model imports; 0 for none."""
        return self._core.opset

    def to_bytes(self) -> bytes:
        """The serialized ModelProto: the same bytes everywhere. Raises qtx.Error beyond 2 GiB."""
        return self._core.serialize()

    def save(self, path: str | os.PathLike, kind: str | None = None, allow: typing.Iterable[str] = ()) -> None:
        """Writes the model as `kind`, by default as it is, or as the kind whose files alone end like `path` (.tflite).

        The file is written beside `path` and then renamed. Raises qtx.Error.
        """
        path = _path(path)
        if kind is None:
            ending = os.path.splitext(path)[1]
            named = [name for name, _, extension, _, writes in _core.kinds() if writes and extension == ending]
            if len(named) > 1 and ending != ".onnx":
                raise Error(f"found a name for {', '.join(named)}, expected `kind` to say which", path, code="usage")
            kind = named[0] if len(named) == 1 else None
        if kind is None:
            self._core.save(path)
        else:
            converted = convert(self, kind, allow=allow)
            file = converted if isinstance(converted, File) else converted._core
            file.save(path)

    def __reduce__(self):
        return load, (self.to_bytes(),)

    def _rows(self):
        return [(role, value.name, value.text) for role, values in (("input", self.inputs), ("output", self.outputs))
                for value in values]

    def __repr__(self):
        lines = [f"qtx.Model({self._core.graph_name!r}, {self.kind}, opset {self.opset}, {len(self._core.nodes)} nodes)"]
        return "\n".join(lines + [f"  {role} {name!r}: {text}" for role, name, text in self._rows()])

    def _repr_html_(self):
        caption = f"{self._core.graph_name}: {self.kind}, opset {self.opset}, {len(self._core.nodes)} nodes"
        return _table.markup(caption, ("", "name", "type"), self._rows())


def _values(values):
    return [Value(value.name, value.type, value.shape, value) for value in values]


def _path(path):
    text = os.fsdecode(path) if isinstance(path, (str, os.PathLike)) else None
    if text is None:
        raise TypeError(f"path: found {type(path).__name__}, expected str or os.PathLike")
    if "\0" in text:
        raise ValueError("path: found a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("path: found a name that is no UTF-8") from None
    return text


def _number(value, name):
    try:
        number = operator.index(0 if value is None else value)
    except TypeError:
        raise TypeError(f"{name}: found {type(value).__name__}, expected int or None") from None
    if not 0 <= number < 2**31:
        raise ValueError(f"{name}: found {number}, expected 0 to 2^31 - 1")
    return number


def texts(values, name):
    """`values` as a list of strings; a string is a list of one. Raises TypeError."""
    if values is None:
        return []
    values = [values] if isinstance(values, str) else list(values)
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{name}: found {type(value).__name__}, expected str")
    return values


def _options(allow=(), opset=None, subgraph=None, unchanged=False):
    return _core.ConvertOptions(texts(allow, "allow"), _number(opset, "opset"), subgraph or "", unchanged)


def _source(model, companions=()):
    """What the extension reads a model from. Raises TypeError for what is none of _TAKEN, qtx.Error for a bad file."""
    if isinstance(model, Model):
        return _core.Source.from_model(model._core)
    if isinstance(model, (str, os.PathLike)):
        paths = [companions] if isinstance(companions, (str, os.PathLike)) else companions
        return _core.Source.open(_path(model), [_path(path) for path in paths])
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        return _core.Source.from_bytes(model.SerializeToString(), "model")
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _core.Source.from_bytes(model, "model")
    raise TypeError(f"model: found {type(model).__name__}, expected {_TAKEN}")


def _kind(kind, name):
    if kind is not None and not isinstance(kind, str):
        raise TypeError(f"{name}: found {type(kind).__name__}, expected str or None")
    return kind or ""


def load(model: ModelLike, kind: str | None = None, *, companions: typing.Iterable[str | os.PathLike] = (),
         subgraph: str | None = None) -> Model:
    """Reads a model: a path, bytes, an onnx.ModelProto, or a Model, which is returned.

    ONNX is taken as it is, extended or stock; every other kind ("tflite", "paddle", "caffe2", ...) becomes the extended
    form, and so does stock ONNX where `kind` names what it is ("qdq", "qoperator", "qonnx"). None: the contents say.
    `companions` are paths of files that belong to it (parameters of Paddle, the model of a profile). `subgraph` chooses one
    of a TFLite file, by name, signature or index. `Model.ledger` says what became of each field.
    Raises qtx.Error for a file that cannot be read, is of no known kind, or breaks a rule; TypeError for other objects.
    """
    if isinstance(model, Model) and kind is None:
        return model
    source = _source(model, companions)
    if kind is None and source.is_onnx:
        return Model._of(source.onnx())
    return Model._of(*_core.read(source, _kind(kind, "kind"), _options(subgraph=subgraph)))


def check(model: ModelLike) -> list[Finding]:
    """Holds a model to every rule of the specification: the list of Findings, empty for a model that conforms."""
    return [Finding(*row) for row in _core.check(load(model)._core)]


def convert(model: ModelLike, to: str = "qtx", from_: str | None = None, *, opset: int | None = None,
            allow: typing.Iterable[str] = (), companions: typing.Iterable[str | os.PathLike] = (),
            subgraph: str | None = None) -> Model | File:
    """Converts a model to another kind: a Model where that is ONNX, else a File (bytes), each with its `ledger`.

    `to`: "qtx" (the extended form), "qdq", "qoperator", "qonnx", "tflite", "tensorrt", ...; `qtx.kinds()` lists all.
    `from_`: the kind of `model`; None: its contents say. `opset`: of the ONNX written, 7 or later; None: its own, or the
    first that has its types. `allow`: names of what may be lost ("statistics", "scheme", "range", ...).
    Raises qtx.Error where the model breaks a rule, or has what the other kind cannot express.
    """
    source = _source(model, companions)
    how = _options(allow, opset, subgraph, unchanged=True)
    read, ledger = _core.read(source, _kind(from_, "from_"), how)
    written, more = _core.write(read, _kind(to, "to"), how, source)
    if isinstance(written, bytes):
        file = File(written)
        file.kind, file.ledger = to, [LedgerEntry(*row) for row in ledger + more]
        return file
    return Model._of(written, ledger + more)


def lower(model: ModelLike, to: str = "qdq", *, opset: int | None = None, allow: typing.Iterable[str] = (),
          io: str = "real") -> Model:
    """The stock ONNX form of an extended model, which runs everywhere: a Model. `qtx.lift` brings the extended form back.

    `to`: "qdq" (QuantizeLinear and DequantizeLinear, every quantized value a float value of the same name) or "qoperator"
    (QLinearConv and others). `io`: "real": graph inputs and outputs are float; "stored": those that are quantized are their
    stored integers, in the same order, named "NAME/stored" (of "qdq" alone).
    Raises qtx.Error for what the opset has no type for, naming value and type.
    """
    if io not in ("real", "stored") or (io == "stored" and to != "qdq"):
        raise ValueError(f"io: found {io!r}, expected 'real', or 'stored' of 'qdq'")
    if to not in ("qdq", "qoperator"):
        raise ValueError(f"to: found {to!r}, expected 'qdq' or 'qoperator'")
    extended = load(model)
    lowered = convert(extended, to, "qtx", opset=opset, allow=allow)
    if io == "real":
        return lowered
    return Model._of(_core.with_stored_io(lowered._core, extended._core))


def lift(model: ModelLike, *, opset: int | None = None) -> Model:
    """The extended form of stock ONNX, whichever nodes it quantizes with: a Model. Raises qtx.Error."""
    return convert(model, "qtx", "qdq", opset=opset)


def infer(model: ModelLike) -> Model:
    """The ONNX model as it is, with the types and shapes of values that follow from its operators: a Model.

    Raises qtx.Error for a model that breaks a rule or is no ONNX.
    """
    source = _source(model)
    if not source.is_onnx:
        raise Error("found no ONNX model, expected one: inference takes no other kind", source.path)
    return Model._of(*_core.write(_core.infer(source.onnx()), "qtx", _options(), source))


def diff(a: ModelLike, b: ModelLike) -> list[Difference]:
    """In what two models of any kinds differ, a list of Differences; empty where they agree.

    Values and initializers are compared by name, nodes by their outputs, initializers by their elements. Two ONNX models of
    one kind are compared as they are, others in the extended form.
    """
    sources = [_source(a), _source(b)]
    is_one_kind = sources[0].kind() == sources[1].kind()
    if is_one_kind and all(source.is_onnx for source in sources):
        models = [source.onnx() for source in sources]
    else:
        models = [_core.read(source, "", _options())[0] for source in sources]
    return [Difference(*row) for row in _core.diff(*models)]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of model files: whether `load` reads it and `convert` writes it, and how its files end."""

    name: str
    what: str
    extension: str
    reads: bool
    writes: bool


def kinds() -> list[Kind]:
    """All kinds of model files, in the order in which a file is tried."""
    return [Kind(*row) for row in _core.kinds()]


def suite_folder() -> str:
    """The folder of the conformance suite, with its networks in `models`: in the installed package, else in the source tree."""
    installed = pathlib.Path(__file__).parent / "share/qtx/cases"
    return str(installed if installed.is_dir() else pathlib.Path(_core.SOURCE_FOLDER) / "conformance/cases")
