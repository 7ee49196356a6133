"""More operators whose parameters are inputs: QLinear* of com.microsoft, MatMulInteger, ConvInteger,
DynamicQuantizeLinear."""
import math
from fractions import Fraction

from .. import reals as R
from ..arithmetic import EXACT
from ..arithmetic.binary32 import TvmUpward, Xnnpack
from ..arithmetic.fixed import FixedPoint
from ..arithmetic.tflite import Tflite
from ..reals import f32
from ..types import FLOAT, TYPES, Tensor, elements, invalid
from .core import OPERATORS, Call, Operator, broadcast_index, operator
from .pool import POOL
from .products import WINDOW, Conv, Gemm, MatMul, sums_of_products
from .q_linear import AccumulatorBias, Stock, quantized, scales

BYTES = ("UINT8", "INT8")


def parameters(call, i, type_, number):
    """The scale and the zero point at inputs i and i + 1, both scalars; an absent zero point is 0."""
    call.require(call.inputs[i].type is FLOAT and len(call.dims(i)) <= 1 and elements(call.dims(i)) == 1, number,
                 "a scale")
    scale, _ = scales(call, i, number)
    if not call.has(i + 1):
        return scale, [0]
    z = call.inputs[i + 1]
    call.require(z.type is type_ and len(call.dims(i + 1)) <= 1 and elements(z.dims) == 1, number, "a zero point")
    return scale, list(z.data if z.data is not None else [0])  # not known before the model runs


def wrapped(name, stem, inner, data, result, count, attributes, clauses, drop=(), opset=None):
    """An operator that is `inner` on tensors quantized by inputs: `data` are the places of tensors, `result` of
    y_scale."""
    def make(call):
        tensors = []
        type_ = call.inputs[data[0]].type
        call.require(type_.name in BYTES and all(call.inputs[i].type is type_ for i in data), "C1", "types")
        call.require(call.declared[0][0] in (None, type_), "C1", "y is not " + type_.name)
        for i in data:
            call.dims(i)
            tensors.append(quantized(call.inputs[i], *parameters(call, i + 1, type_, "C2"), []))
        scale, zero = parameters(call, result, type_, "C2")
        attrs = {k: v for k, v in call.attrs.items() if k not in drop}
        # TFLite has a table or a kernel for its own operators alone (tflite.S11, S13, S15).
        a = EXACT if name in ("QLinearLeakyRelu", "QLinearSigmoid") and isinstance(call.arithmetic, Tflite) \
            else call.arithmetic
        c = Call(OPERATORS[inner], OPERATORS[inner].stem, inner, call.name, attrs, call.opset, a, tensors,
                 [(None, None, None)], call.origin)
        c.clause = lambda number: "%s.%s" % (stem, clauses)
        if "channels_last" in drop:
            call.require(call.attr("channels_last", 0) == 0, "C4", "channels_last")
        if opset:
            call.require(call.attrs.get("opset", 0) >= 1, "C3", "opset")
            c.opset = call.attrs["opset"]
        return c, type_, scale, zero

    def infer(call):
        c, type_, *_ = make(call)
        return OPERATORS[inner].infer(c), [type_]

    def plan(call):
        call.parameters(*(i for i in range(len(call.inputs)) if i not in data))
        c, type_, scale, zero = make(call)
        c.outs = [quantized(call.outs[0], scale, zero, [])]
        return OPERATORS[inner].plan(c)
    least = count if isinstance(count, tuple) else (count, count)
    op = Operator(name, stem, infer, plan, least, attributes=attributes, shape=clauses, domains=("com.microsoft",))
    op.blank = {2, 5} if len(data) == 2 else {2}
    OPERATORS[name] = op


wrapped("QLinearAdd", "q_linear_add", "Add", (0, 3), 6, (7, 8), "", "C3")            # q_linear_add.S1, S2
wrapped("QLinearMul", "q_linear_mul", "Mul", (0, 3), 6, (7, 8), "", "C3")            # q_linear_mul.S1, S2
wrapped("QLinearSigmoid", "q_linear_sigmoid", "Sigmoid", (0,), 3, (4, 5), "", "C1")  # q_linear_sigmoid.S1
wrapped("QLinearLeakyRelu", "q_linear_leaky_relu", "LeakyRelu", (0,), 3, (4, 5), "alpha:f", "C3")
wrapped("QLinearAveragePool", "q_linear_average_pool", "AveragePool", (0,), 3, (4, 5),
        POOL.format(1).replace("dilations:is:1 ", "") + " count_include_pad:i channels_last:i", "C3",
        ("channels_last",))
wrapped("QLinearGlobalAveragePool", "q_linear_global_average_pool", "GlobalAveragePool", (0,), 3, 5, "channels_last:i",
        "C3",
        ("channels_last",))
wrapped("QLinearSoftmax", "q_linear_softmax", "Softmax", (0,), 3, 5, "axis:i opset:i", "C3", ("opset",), True)


def concat_parts(call):
    """q_linear_concat.C1 to C4."""
    call.require(len(call.inputs) % 3 == 2, "C3", "%d inputs" % len(call.inputs))
    call.require("axis" in call.attrs, "C4", "no axis")
    type_ = call.inputs[1].type
    call.require(type_.name in BYTES and call.declared[0][0] in (None, type_), "C1")
    tensors = []
    for i in range(2, len(call.inputs), 3):
        call.require(call.inputs[i].type.name in BYTES, "C1")
        call.require(call.inputs[i + 2].type is call.inputs[i].type, "C1")
        call.dims(i)
        tensors.append(quantized(call.inputs[i], *parameters(call, i + 1, call.inputs[i].type, "C2"), []))
    c = Call(OPERATORS["Concat"], "concat", "Concat", call.name, call.attrs, call.opset, call.arithmetic, tensors,
             [(None, None, None)], call.origin)
    c.clause = lambda number: "q_linear_concat.C4"
    return c, type_


@operator("QLinearConcat", "q_linear_concat", (5, 1 << 20), shape="C4", attributes="axis:i", domains=("com.microsoft",))
class QLinearConcat:  # q_linear_concat.S1
    @staticmethod
    def infer(call):
        c, type_ = concat_parts(call)
        parameters(call, 0, type_, "C2")
        return OPERATORS["Concat"].infer(c), [type_]

    @staticmethod
    def plan(call):
        call.parameters(*(i for i in range(len(call.inputs)) if i % 3 != 2))
        c, type_ = concat_parts(call)
        c.outs = [quantized(call.outs[0], *parameters(call, 0, type_, "C2"), [])]
        return OPERATORS["Concat"].plan(c)


@operator("QGemm", "q_gemm", (6, 9), shape="C4", attributes="alpha:f transA:i transB:i", domains=("com.microsoft",))
class QGemm:  # q_gemm.S1 to S5
    @staticmethod
    def infer(call):
        a, b, y = call.inputs[0].type, call.inputs[3].type, call.declared[0][0]
        call.require(a.name in BYTES and b.name in BYTES, "C1", "types")
        call.require(call.inputs[2].type is a and call.inputs[5].type is b, "C1", "a zero point")
        call.require(all(call.inputs[i].type is FLOAT for i in (1, 4, 7) if call.has(i)), "C1", "a scale")
        call.require(not call.has(6) or call.inputs[6].type is TYPES[6], "C1", "C")
        own = call.inputs[8].type if call.has(8) else a if call.has(7) else FLOAT
        call.require(not call.has(8) or call.has(7) and own.name in BYTES, "C1", "y_zero_point")
        call.require(y in (None, own) or call.has(7) and not call.has(8) and y.name in BYTES, "C1", "y")
        call.require(math.isfinite(call.attr("alpha", 1.0)), "C2", "alpha")
        inner = Call(OPERATORS["Gemm"], "gemm", "Gemm", "", call.attrs, call.opset, call.arithmetic, [], [])
        inner.require = lambda ok, number, message="": call.require(ok, "C4", message)
        shape = Gemm.shape(inner, call.dims(0), call.dims(3), call.dims(6) if call.has(6) else None)
        for i in (1, 4, 7):
            if call.has(i):
                scales(call, i, "C2")
                call.require(not call.has(i + 1) or call.dims(i) == call.dims(i + 1), "C2", "a zero point")
                call.require(len(call.dims(i)) <= 1 and elements(call.dims(i)) == 1 or
                             i == 4 and call.dims(i) == shape[1:], "C3", "a scale")
        return [shape], [y or own]

    @staticmethod
    def plan(call):
        call.parameters(1, 2, 4, 5, 7, 8)
        y, alpha = call.outs[0], call.attr("alpha", 1.0)
        least = isinstance(call.arithmetic, (FixedPoint, Xnnpack)) and alpha == 0  # tvm_upward.C1 takes 0
        bounded = isinstance(call.arithmetic, (FixedPoint, Xnnpack, TvmUpward))
        if call.has(7) and bounded and (alpha < 0 or least):
            raise invalid(call.arithmetic.stem + ".C1", "a factor that is not positive")

        def tensor(i, factor=1.0):
            scale, zero = call.inputs[i + 1].data, call.inputs[i + 2].data
            axis = [0 if call.attr("transB") else 1] if len(scale) > 1 else []
            return quantized(call.inputs[i], [f32(factor * s) for s in scale], list(zero), axis)
        binary32 = call.arithmetic.numbers.binary32
        a, b = tensor(0, alpha if binary32 else 1.0), tensor(3)  # q_gemm.S2: alpha is of the unit
        if call.has(7):
            y = quantized(y, [call.inputs[7].data[0]], [call.inputs[8].data[0] if call.has(8) else 0], [])
        bias = None
        if call.has(6):  # in units of each column
            c, at = call.inputs[6], broadcast_index(call.dims(6), y.dims)
            data = c.data and [c.data[i] for i in at]
            bias = AccumulatorBias(Tensor(c.type, y.dims, data), a, b, 1)
        of_unit = binary32 or call.has(7) and isinstance(call.arithmetic, FixedPoint)  # fixed_point.S2
        inner = Stock.call(call, [a, b, bias], y, "Gemm", "gemm")
        products = Gemm.products(inner, a, b, bias, *([1.0 if of_unit else alpha] * 2))
        products.factor = Fraction(alpha) if of_unit and not binary32 else Fraction(1)
        f = sums_of_products(inner, y, products)
        return lambda: [f()]


# The operators whose result is the accumulator.
def zeros(call, i, type_, clause):
    """A zero point's values and the shape; one 0 where it is absent."""
    if not call.has(i):
        return [0], ()
    call.require(call.inputs[i].type is type_, clause, "a zero point of another type")
    return call.inputs[i].data, call.dims(i)


@operator("MatMulInteger", "mat_mul_integer", (2, 4), shape="C3", since=10)
class MatMulInteger:  # mat_mul_integer.S1 to S3
    @staticmethod
    def infer(call):
        call.require(all(call.inputs[i].type.name in BYTES for i in (0, 1)) and
                     call.declared[0][0] in (None, TYPES[6]), "C1")
        inner = Call(call.operator, call.stem, "MatMul", "", {}, call.opset, call.arithmetic, [], [])
        inner.clause = lambda number: "mat_mul_integer.C3"
        shape = MatMul.shape(inner, call.dims(0), call.dims(1))[3]
        for i, end in ((0, 2), (1, 1)):
            MatMulInteger.axes(call, i, end)
        return [shape], [TYPES[6]]

    @staticmethod
    def axes(call, i, from_end):
        """The axes that a zero point varies along (q_linear_mat_mul.S3)."""
        d = call.dims(i)
        _, s = zeros(call, i + 2, call.inputs[i].type, "C2")
        if elements(s) == 1 and len(s) <= 1:
            return []
        if len(s) == 1:
            call.require(len(d) == 2 and s[0] == d[len(d) - from_end], "C2")
            return [len(d) - from_end]
        call.require(len(d) > 1 and len(s) == len(d) and all(p in (1, n) for p, n in zip(s, d))
                     and s[len(d) - 3 + from_end] == 1, "C2")
        return [k for k in range(len(s)) if s[k] > 1]

    @staticmethod
    def compute(call):
        tensors = []
        for i, end in ((0, 2), (1, 1)):
            zero = list(zeros(call, i + 2, call.inputs[i].type, "C2")[0])
            tensors.append(quantized(call.inputs[i], [1.0] * len(zero), zero, MatMulInteger.axes(call, i, end)))
        return [[R.wrap(v, 32) for v in MatMul.products(call, *tensors).sums()]]


@operator("ConvInteger", "conv_integer", (2, 4), shape="C3", attributes=WINDOW, since=10)
class ConvInteger:  # conv_integer.S1 to S3
    @staticmethod
    def infer(call):
        call.require(all(call.inputs[i].type.name in BYTES for i in (0, 1)) and
                     call.declared[0][0] in (None, TYPES[6]), "C1")
        _, s = zeros(call, 2, call.inputs[0].type, "C2")
        call.require(elements(s) == 1 and len(s) <= 1, "C2")
        _, s = zeros(call, 3, call.inputs[1].type, "C2")
        call.require(elements(s) == 1 and len(s) <= 1 or s == call.dims(1)[:1], "C2")
        inner = Call(call.operator, "conv", "Conv", "", call.attrs, call.opset, call.arithmetic, [], [])
        inner.clause = lambda number: "conv_integer.C3"
        return [Conv.shape(inner, call.dims(0), call.dims(1), None)], [TYPES[6]]

    @staticmethod
    def compute(call):
        tensors = []
        for i in (0, 1):
            zero = list(zeros(call, i + 2, call.inputs[i].type, "C2")[0])
            tensors.append(quantized(call.inputs[i], [1.0] * len(zero), zero, [0] if len(zero) > 1 else []))
        return [[R.wrap(v, 32) for v in Conv.products(call, *tensors, None, call.outs[0]).sums()]]


@operator("DynamicQuantizeLinear", "dynamic_quantize_linear", (1, 1), outputs=(3, 3), since=11)
class DynamicQuantizeLinear:  # dynamic_quantize_linear.S1 to S4
    @staticmethod
    def infer(call):
        types = [TYPES[2], FLOAT, TYPES[2]]
        call.require(call.inputs[0].type is FLOAT, "C1")
        call.require(all(t in (None, own) for (t, *_), own in zip(call.declared, types)), "C1")
        return [call.inputs[0].dims, (), ()], types

    @staticmethod
    def compute(call):
        x, a = call.inputs[0].data, call.arithmetic
        if not all(map(math.isfinite, x)):
            raise invalid("dynamic_quantize_linear.C2", "x is not finite")
        low, high = min([0.0, *x]), max([0.0, *x])
        if a.numbers.binary32:
            s = R.div32(f32(high - low), 255.0)
        else:
            s = R.float32((Fraction(high) - Fraction(low)) / 255)
        call.require(math.isfinite(s), "C2", "y_scale is infinite")
        s = s or 1.0  # S3
        q = R.div32(-low, s) if a.numbers.binary32 else -Fraction(low) / Fraction(s)
        z = R.half_even(min(max(q, 0), 255))
        u8 = TYPES[2]
        if hasattr(a, "quantize_linear"):
            y = [a.quantize_linear(v, u8, s, z) for v in x]
        else:
            y = [a.quantize(Fraction(v), u8, s, z, 0, 255) for v in x]
        return [y, [s], [z]]
