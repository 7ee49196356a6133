"""The named arithmetics of spec/arithmetic/, the default first."""
from .base import Exact, PowerOfTwo, PowerOfTwoHalfUp
from .binary32 import (Fbgemm, Float32, Float32Fma, Glow, OneDnn, OneDnnAvx2, OnnxReference, Qnnpack, TvmToNearest,
                       TvmUpward, Xnnpack, XnnpackRndnu)
from .fixed import FixedPoint, FixedPoint16, FixedPointDouble
from .ggml import Ggml, GgmlAvx2
from .onnxruntime import OnnxRuntime
from .tflite import CmsisNn, Tflite, TfliteDouble, TfliteFloat64, TfliteHalfUp, TfliteSingle

EXACT = Exact()
ARITHMETICS = {a.name: a for a in (
    EXACT, Float32(), Float32Fma(), OnnxRuntime(), OnnxReference(), Tflite(), TfliteDouble(), TfliteSingle(), TfliteHalfUp(),
    TfliteFloat64(), CmsisNn(), FixedPoint(), FixedPointDouble(), FixedPoint16(), PowerOfTwo(), PowerOfTwoHalfUp(), Xnnpack(), XnnpackRndnu(),
    Fbgemm(), Qnnpack(), OneDnn(), OneDnnAvx2(), Glow(), TvmUpward(), TvmToNearest(),
    Ggml(), GgmlAvx2())}
