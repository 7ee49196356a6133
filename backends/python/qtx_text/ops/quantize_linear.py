"""QuantizeLinear and DequantizeLinear."""
import math
from fractions import Fraction

from .. import reals as R
from ..arithmetic.base import store_plain
from ..types import TYPES, elements, parameter_index
from .core import operator
from .elementwise import small_float


def parameters(call, number, dims, scale, zero, zero_number):
    """The number of the scale of each element (quantize_linear.S2, S4, C3, C4)."""
    if zero is not None:
        same = scale == zero or elements(scale) == 1 and elements(zero) == 1 and len(scale) <= 1 and len(zero) <= 1
        call.require(same, zero_number, "shapes %s and %s" % (scale, zero))
    size, rank = call.attr("block_size", 0), len(dims)
    if size:
        call.require(size > 0 and -rank <= call.attr("axis", 1) < rank, number)
        a = call.attr("axis", 1) % rank
        call.require(len(scale) == rank and all(s == (-(-n // size) if k == a else n)
                                                for k, (s, n) in enumerate(zip(scale, dims))), number, "blocked scales")
        return parameter_index(dims, list(range(rank)), [size if k == a else 1 for k in range(rank)])
    call.require(len(scale) <= 1, number, "scales of rank %d" % len(scale))
    if not scale or elements(scale) == 1 and (not rank or not -rank <= call.attr("axis", 1) < rank
                                              or dims[call.attr("axis", 1)] != 1):
        if scale:
            call.require(scale == (1,), number)
        return [0] * elements(dims)
    a = call.attr("axis", 1)
    call.require(-rank <= a < rank and scale[0] == dims[a], number, "axis %d" % a)
    return parameter_index(dims, [a % rank], [1])


def is_scale(v, is_initializer):
    """Whether QuantizeLinear divides by it (quantize_linear.C2)."""
    if not is_initializer and (v != v or v == math.inf or v == 0):
        return True
    return math.isfinite(v) and v > 0 and R.float32(Fraction(v)) == v


SMALL = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1")
SHORT = ("UINT8", "INT8", "UINT16", "INT16", "UINT4", "INT4", "UINT2", "INT2")
STOCK = "axis:i:13 block_size:i:21 output_dtype:i:{}"


@operator("QuantizeLinear", "quantize_linear", (2, 3), shape="C5", since=10, domains=("", "com.microsoft"),
          attributes=STOCK.format(21) + " precision:i:23 saturate:i:19")
class QuantizeLinear:  # quantize_linear.S1 to S6
    @staticmethod
    def infer(call):
        x, s, z = call.inputs[0], call.inputs[1], call.input(2)
        call.require(x.type.name in ("FLOAT", "FLOAT16", "BFLOAT16", "INT32"), "C1", "x is " + x.type.name)
        allowed = ["FLOAT"] + ["FLOAT16", "BFLOAT16",
                               "INT32"] * (call.opset >= 19) + ["FLOAT8E8M0"] * (call.opset >= 24)
        call.require(s.type.name in allowed, "C1", "y_scale is " + s.type.name)
        to = call.attr("output_dtype", 0)
        call.require(z is None or z.type.name in SHORT + SMALL, "C5", "a zero point of type %s" % (z and z.type))
        call.require(to == 0 or to in TYPES and TYPES[to].name in SHORT + SMALL, "C5", "output_dtype %d" % to)
        call.require(z is None or to in (0, z.type.code), "C5", "output_dtype contradicts the zero point")
        type_ = z.type if z is not None else TYPES[to or 2]
        call.require(call.declared[0][0] in (None, type_), "C5", "y is not " + type_.name)
        call.require(call.attr("saturate", 1) in (0, 1) and call.attr("precision", 0) in (0, 1, 10, 16, 11), "C6")
        parameters(call, "C4", call.dims(0), call.dims(1), call.dims(2) if z is not None else None, "C3")
        if s.data is not None:
            call.require(all(is_scale(v, s.initializer) for v in s.data), "C2")
        if z is not None and z.type.kind == "small" and z.data is not None:
            call.require(all(v == 0 for v in z.data), "C3", "a zero point of a float8")
        return [x.dims], [type_]

    @staticmethod
    def compute(call):
        x, s, z, y = call.inputs[0], call.inputs[1], call.input(2), call.outs[0]
        arithmetic = call.arithmetic
        n = arithmetic.numbers
        index = parameters(call, "C4", x.dims, s.dims, None, "C3")
        saturate = call.attr("saturate", 1) != 0
        binary32 = hasattr(arithmetic, "quantize_linear")
        numbers = x.floats() if binary32 else n.of(x)
        out = []
        for v, p in zip(numbers, index):
            scale, zero = float(s.data[p]), z.data[p] if z is not None else 0
            if scale == 0 or not math.isfinite(scale):  # what IEEE 754 has for them, by the scale 1
                v, scale = R.div(R.exact(v), R.exact(scale)), 1.0
                v = float(v) if binary32 else v
            if y.type.kind == "small":
                t = R.exact(R.div32(v, scale)) if binary32 else R.div(v, Fraction(scale))
                out.append(small_float(t, y.type, saturate))
            elif binary32:
                out.append(arithmetic.quantize_linear(v, y.type, scale, zero))
            else:
                out.append(arithmetic.quantize(v, y.type, scale, zero, y.type.lo, y.type.hi))
        return [out]


@operator("DequantizeLinear", "dequantize_linear", (2, 3), shape="C1", since=10, domains=("", "com.microsoft"),
          attributes=STOCK.format(23))
class DequantizeLinear:  # dequantize_linear.S1 to S6
    @staticmethod
    def infer(call):
        x, s, z = call.inputs[0], call.inputs[1], call.input(2)
        call.require(x.type.name in SHORT + SMALL + ("INT32",), "C1", "x is " + x.type.name)
        allowed = ["FLOAT"] + ["FLOAT16", "BFLOAT16"] * (call.opset >= 19) + ["FLOAT8E8M0"] * (call.opset >= 24)
        call.require(s.type.name in allowed, "C1", "x_scale is " + s.type.name)
        to = call.attr("output_dtype", 0) or (1 if s.type.name == "FLOAT8E8M0" else s.type.code)
        call.require(to in (1, 10, 16), "C1", "output_dtype %d" % to)
        call.require(call.declared[0][0] in (None, TYPES[to]), "C1", "y is not " + TYPES[to].name)
        call.require(z is None or z.type is x.type, "C3", "the zero point is not of the type of x")
        parameters(call, "C4", call.dims(0), call.dims(1), call.dims(2) if z is not None else None, "C3")
        if s.data is not None and s.initializer:
            call.require(all(math.isfinite(v) for v in s.data), "C2")
        if z is not None and z.type.kind == "small" and z.data is not None:
            call.require(all(v == 0 for v in z.data), "C3", "a zero point of a float8")
        return [x.dims], [TYPES[to]]

    @staticmethod
    def compute(call):
        x, s, z, y = call.inputs[0], call.inputs[1], call.input(2), call.outs[0]
        index = parameters(call, "C4", x.dims, s.dims, None, "C3")
        out = []
        for v, p in zip(x.data, index):
            zero = z.data[p] if z is not None else 0
            if call.arithmetic.numbers.binary32:
                d = R.f32(v - zero)
                out.append(store_plain(y.type, R.exact(R.f32(d * float(s.data[p])))))
            else:
                d = R.sub(R.exact(v), Fraction(zero))
                out.append(store_plain(y.type, R.mul(d, R.exact(s.data[p]))))
        return [out]
