"""QTX: quantized tensors for ONNX. A format, an exact reference interpreter, and a conformance suite.

    model = qtx.load("resnet8.tflite")                  # any kind: TFLite, QDQ, QOperator, QONNX, Paddle, ...
    qtx.check(model)                                    # every rule of the specification
    outputs = qtx.Interpreter(model).run({"x": array})  # exact
    qtx.validate(prepare)                               # the suite against your backend, a Python callable

Functions that take a model take a path, bytes, an onnx.ModelProto or a qtx.Model.
"""

try:
    from qtx import _core
except ImportError as fault:
    raise ImportError(f"the extension of onnx-qtx cannot be loaded: {fault}. If the distribution 'qtx' of PyPI is installed, "
                      "which has a package of the same name, uninstall both, then install onnx-qtx.") from fault

from qtx._errors import Error, Unsupported
from qtx._model import (Difference, File, Finding, Kind, LedgerEntry, Model, Node, Value, check, convert, diff, infer, kinds,
                        lift, load, lower, suite_folder)
from qtx._tensor import Tensor
from qtx._interpreter import Interpreter, arithmetics, profiles
from qtx._backends import backends
from qtx.backend_kit import from_onnx_backend
from qtx._kernels import from_kernels
from qtx._conformance import FuzzFinding, FuzzReport, Identity, Report, Shrunk, fuzz, identify, shrink, validate
from qtx._quantize import calibrate, quantize
from qtx._compare import Comparison, Layer, compare

__version__ = _core.VERSION
__all__ = [name for name in dir() if not name.startswith("_")]
