"""QLinearConv and QLinearMatMul: parameters are inputs, and become those of tensors of quantized types."""
import math

from ..types import TYPES, Quant, Tensor, elements
from .core import Call, operator
from .products import WINDOW, Conv, MatMul, sums_of_products


def scales(call, i, number):
    t = call.inputs[i]
    values = t.data if t.data is not None else [1.0] * elements(call.dims(i))  # not known before the model runs
    call.require(all(math.isfinite(v) and v > 0 for v in values), number, "a scale is not above 0")
    return [float(v) for v in values], t.dims


def quantized(tensor, scale, zero, axis):
    """A plain tensor as one of the quantized type of its storage."""
    type_ = TYPES[tensor.type.code + 1000]
    q = Quant(type_, scale, zero, axis, [], type_.lo, type_.hi)
    return Tensor(type_, tensor.dims, tensor.data, q, tensor.initializer)


class Stock:
    """The arithmetic in force on tensors made from a node of stock ONNX."""

    @staticmethod
    def call(call, inputs, y, op, stem):
        inner = Call(call.operator, stem, op, call.name, call.attrs, call.opset, call.arithmetic, inputs,
                     [(None, None, None)],
                     call.origin)
        inner.outs = [y]
        return inner

    @staticmethod
    def types(call, data, number, allowed):
        for i in data:
            call.require(call.inputs[i].type.name in allowed, number, "input %d is %s" % (i, call.inputs[i].type))


@operator("QLinearConv", "q_linear_conv", (8, 9), shape="C4", attributes=WINDOW, since=10)
class QLinearConv:  # q_linear_conv.S1 to S4
    @staticmethod
    def infer(call):
        x, xs, xz, w, ws, wz, ys, yz, *rest = call.inputs
        Stock.types(call, (0, 2, 3, 5, 7), "C1", ("UINT8", "INT8"))
        Stock.types(call, (1, 4, 6), "C1", ("FLOAT",))
        call.require(xz.type is x.type and wz.type is w.type
                     and (not call.has(8) or call.inputs[8].type.name == "INT32"), "C1")
        call.require(call.declared[0][0] in (None, yz.type), "C1")
        wd = call.dims(3)
        for i in (1, 6):
            call.require(elements(call.dims(i)) == 1 and len(call.dims(i)) <= 1, "C3")
        for i in (1, 4, 6):
            call.require(len(call.dims(i)) == len(call.dims(i + 1)) and call.dims(i) == call.dims(i + 1), "C2")
            scales(call, i, "C2")
        call.require(elements(call.dims(4)) == 1 and len(call.dims(4)) <= 1 or call.dims(4) == wd[:1], "C3")
        inner = Call(call.operator, "conv", "Conv", call.name, call.attrs, call.opset, call.arithmetic, [], [])
        inner.require = lambda ok, number, message="": call.require(ok, "C4", message)
        if call.has(8):
            call.require(call.dims(8) == wd[:1], "C4")
        return [Conv.shape(inner, call.dims(0), wd, None)], [yz.type]

    @staticmethod
    def plan(call):
        call.parameters(1, 2, 4, 5, 6, 7)
        x, xs, xz, w, ws, wz, ys, yz, *rest = call.inputs
        b = call.input(8)
        xq = quantized(x, [xs.data[0]], [xz.data[0]], [])
        wq = quantized(w, ws.data, wz.data, [0] if len(ws.data) > 1 else [])
        out = call.outs[0]
        yq = quantized(out, [ys.data[0]], [yz.data[0]], [])
        bias = None
        if b is not None:
            bias = AccumulatorBias(b, xq, wq)
        inner = Stock.call(call, [xq, wq, bias], yq, "Conv", "conv")
        f = sums_of_products(inner, yq, Conv.products(inner, xq, wq, bias, yq))
        return lambda: [f()]


class AccumulatorBias(Tensor):
    """The bias of QLinearConv: units of the accumulator, whose real is B * x_scale * w_scale, exactly
    (q_linear_conv.S2)."""

    in_accumulator_units = True

    def __init__(self, b, x, w, axis=0):
        units = [float(x.scale) * s for s in w.quant.scales]  # exact in binary64
        quant = Quant(TYPES[1006], units, [0] * len(units), [axis] if len(units) > 1 else [], [], TYPES[1006].lo,
                      TYPES[1006].hi)
        super().__init__(TYPES[1006], b.dims, b.data, quant)


FLOAT8 = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ")


@operator("QLinearMatMul", "q_linear_mat_mul", (8, 8), shape="C4", since=10)
class QLinearMatMul:  # q_linear_mat_mul.S1 to S4
    @staticmethod
    def parameters(call, i, axis_from_end):
        """Scales and zero points of a or b, and the axes that they vary along."""
        d, s = call.dims(i), call.dims(i + 1)
        axis = len(d) - axis_from_end
        if elements(s) == 1 and len(s) <= 1:
            return []
        if len(s) == 1:
            call.require(len(d) == 2 and s[0] == d[axis], "C3")
            return [axis]
        summed = len(d) - (3 - axis_from_end)
        call.require(len(d) > 1 and len(s) == len(d) and all(p in (1, n) for p, n in zip(s, d)) and s[summed] == 1,
                     "C3")
        return [k for k in range(len(s)) if s[k] > 1]

    @staticmethod
    def infer(call):
        allowed = ("UINT8", "INT8", *FLOAT8)
        Stock.types(call, (0, 2, 3, 5, 7), "C1", allowed)
        Stock.types(call, (1, 4, 6), "C1", ("FLOAT", "FLOAT16", "BFLOAT16"))
        for i in (0, 3):
            call.require(call.inputs[i + 2].type is call.inputs[i].type, "C1")
        call.require(call.declared[0][0] in (None, call.inputs[7].type), "C1")
        for i in (1, 4, 6):
            call.require(call.dims(i) == call.dims(i + 1), "C2")
            scales(call, i, "C2")
            if call.inputs[i + 1].type.kind == "small":
                call.require(not any(call.inputs[i + 1].data or []), "C2")
        call.require(elements(call.dims(6)) == 1 and len(call.dims(6)) <= 1, "C3")
        inner = Call(call.operator, call.stem, "MatMul", call.name, {}, call.opset, call.arithmetic, [], [])
        inner.require = lambda ok, number, message="": call.require(ok, "C4", message)
        shape = MatMul.shape(inner, call.dims(0), call.dims(3))[3]
        QLinearMatMul.parameters(call, 0, 2)
        QLinearMatMul.parameters(call, 3, 1)
        return [shape], [call.inputs[7].type]

    @staticmethod
    def plan(call):
        call.parameters(1, 2, 4, 5, 6, 7)

        def tensor(i, axes, t=None):
            zero = call.inputs[i + 2].data if t is None else call.inputs[7].data
            zero = [int(v) for v in zero]
            scale = call.inputs[i + 1].data if t is None else call.inputs[6].data
            return quantized(t or call.inputs[i], [float(s) for s in scale], zero, axes)
        a, b = tensor(0, QLinearMatMul.parameters(call, 0, 2)), tensor(3, QLinearMatMul.parameters(call, 3, 1))
        y = tensor(0, [], call.outs[0])
        inner = Stock.call(call, [a, b], y, "MatMul", "mat_mul")
        f = sums_of_products(inner, y, MatMul.products(inner, a, b))
        return lambda: [f()]
