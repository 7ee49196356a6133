"""Calibration and quantization."""

import os
import pathlib
import typing

from qtx import _core
from qtx._interpreter import Array, feeds
from qtx._model import Model, ModelLike, _number, load, texts


class _Samples:
    """Samples for the extension; `raised` keeps the exception of the caller's own code."""

    def __init__(self, samples, declared):
        if not (hasattr(samples, "__len__") and hasattr(samples, "__getitem__")) or hasattr(samples, "keys"):
            if hasattr(samples, "keys") or not hasattr(samples, "__iter__"):
                raise TypeError(f"samples: found {type(samples).__name__}, expected an iterable of dicts")
            samples = list(samples)
        self._samples, self._declared = samples, declared
        self.size, self.raised = len(samples), None

    def read(self, index):
        """For the extension: the tensors of a sample, or an Answer."""
        try:
            return feeds(self._samples[index], self._declared)
        except BaseException as fault:  # pylint: disable=broad-exception-caught  # raised again by `reraise`
            self.raised = self.raised or fault
            return _core.Answer("invalid", "", f"{type(fault).__name__}: {fault}", "")

    def reraise(self, skip=False):
        """Raises what the samples raised; with `skip` only what no sample of its own does, such as KeyboardInterrupt."""
        if self.raised is not None and not (skip and isinstance(self.raised, Exception)):
            raise self.raised


def _threads(threads):
    return max(1, min(_number(threads, "threads") or os.cpu_count() or 1, 256))


Samples = typing.Iterable[typing.Mapping[str, Array]]


def calibrate(model: ModelLike, samples: Samples, *, axis: int | None = None, bins: int = 2048, threads: int | None = None,
              skip_bad_samples: bool = False) -> Model:
    """Runs a float model over samples and gives it with exact statistics of every float value: a Model.

    samples: an iterable of dicts of arrays by input name. A sequence (with len and indices) is read on demand; another
        iterable is read into a list first.
    axis: statistics for each element of this axis; None: of whole values. bins: of a value's histogram, 0 for none.
    threads: of samples side by side; None: as many as processors. The result does not depend on it.
    skip_bad_samples: leave out samples that do not fit or only have NaN and infinities; else the first one is an error.
    Raises qtx.Error; TypeError and the samples' own exceptions come through.
    """
    core = load(model)._core
    given = _Samples(samples, core.inputs)
    try:
        calibrated, _, _ = _core.calibrate(core, given, axis, _number(bins, "bins"), _threads(threads),
                                           bool(skip_bad_samples))
    finally:
        given.reraise(skip_bad_samples)
    return Model._of(calibrated)


def quantize(model: ModelLike, samples: Samples | None = None, *, activations: str = "int8:asymmetric",
             weights: str = "int8:symmetric:per-axis", range: str = "minmax",  # pylint: disable=redefined-builtin
             weight_range: str = "minmax", rules: str | os.PathLike | None = None, io: str = "float", equalize: bool = False,
             bias_correction: bool = False, threads: int | None = None) -> Model:
    """Quantizes a float model by its statistics: a Model in the extended form, with its `ledger`.

    samples: as for `calibrate`, which then measures the statistics first; None: the model has them.
    activations: TYPE[:SCHEME][:narrow], or "float" for weights alone. weights: TYPE[:SCHEME][:per-tensor|:per-axis|:block=N]
        [:full], or "float". TYPE: int2 to int16, uint2 to uint16. SCHEME: asymmetric, symmetric, asymmetric_pow2,
        symmetric_pow2, symmetric_uint8.
    range, weight_range: minmax, percentile=P, std=K, entropy, mse or lp=P; of several with commas the first that is possible.
    rules: a path of a YAML file of other settings for nodes (tools/quantize/README.md).
    io: "float" or "quantized", the types of the graph's inputs and outputs.
    equalize: ranges of weights across layers, by powers of two. bias_correction: for the mean error of the weights.
    Raises qtx.Error for a value without statistics and for settings that are not understood.
    """
    if io not in ("float", "quantized"):
        raise ValueError(f"io: found {io!r}, expected 'float' or 'quantized'")
    settings = _core.QuantizeSettings()
    for name, value in (("activations", activations), ("weights", weights), ("range", range), ("weight_range", weight_range)):
        texts([value], name)
        setattr(settings, name, value)
    settings.rules = "" if rules is None else pathlib.Path(rules).read_text(encoding="utf-8")
    settings.quantized_io = io == "quantized"
    settings.equalize, settings.correct_bias = bool(equalize), bool(bias_correction)
    settings.threads = _threads(threads)
    core = load(model)._core
    given = None if samples is None else _Samples(samples, core.inputs)
    try:
        quantized, ledger = _core.quantize(core, settings, given)
    finally:
        if given is not None:
            given.reraise()
    return Model._of(quantized, ledger)

