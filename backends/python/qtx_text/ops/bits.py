"""Operators on the bits of plain integers, and those that say what a value is."""
from ..arithmetic.base import EXACT_NUMBERS
from ..reals import INF, is_nan
from ..types import BOOL
from .core import broadcast, broadcast_index, operator


def of_bits(name, stem, function, count=2, shape="C3", since=18, **options):
    """function(call) gives a function of stored values, whose result is taken modulo 2^n."""
    def infer(call):
        t = call.inputs[0].type
        call.require(t.plain and t.kind == "int", "C1", t.name)
        call.real_or("C1", "integer")
        dims = broadcast(call, "C2", *[call.dims(i) for i in range(count)])
        call.require(name != "BitShift" or call.text("direction", "") in ("LEFT", "RIGHT"), "C4", "direction")
        return [dims]

    def compute(call):
        y, f = call.outs[0], function(call)
        at = [broadcast_index(x.dims, y.dims) for x in call.inputs]
        return [call.store([f(*[x.data[i] for x, i in zip(call.inputs, element)]) for element in zip(*at)])]
    functions = {"infer": staticmethod(infer), "compute": staticmethod(compute)}
    operator(name, stem, (count, count), shape=shape, since=since, **options)(type(name, (), functions))


def shift(call):  # bit_shift.S1, S2
    left, bits = call.text("direction", "") == "LEFT", call.inputs[0].type.bits

    def shifted(v, n):
        if 0 <= n < bits:
            return v << n if left else v >> n
        return -1 if v < 0 and not left else 0
    return shifted


of_bits("BitShift", "bit_shift", shift, since=11, attributes="direction:s", required=("direction",))
of_bits("BitwiseAnd", "bitwise_and", lambda call: lambda v, w: v & w)
of_bits("BitwiseOr", "bitwise_or", lambda call: lambda v, w: v | w)
of_bits("BitwiseXor", "bitwise_xor", lambda call: lambda v, w: v ^ w)
of_bits("BitwiseNot", "bitwise_not", lambda call: lambda v: ~v, 1, "C2")


def question(name, stem, holds, attributes="", since=9):  # is_na_n.S1, S2, is_inf.S1 to S3
    def infer(call):
        t = call.inputs[0].type
        call.require(t.real or t.code == 11, "C1", t.name)
        call.require(call.declared[0][0] in (None, BOOL), "C2")
        for entry in attributes.split():
            call.require(call.attr(entry[:-2], 1) in (0, 1), "C4", entry[:-2])
        return [call.dims(0)], [BOOL]

    def compute(call):
        x = call.inputs[0]
        n = call.arithmetic.numbers if x.type.real else EXACT_NUMBERS
        return [[int(holds(call, v)) for v in n.of(x)]]
    functions = {"infer": staticmethod(infer), "compute": staticmethod(compute)}
    operator(name, stem, (1, 1), shape="C3", operands=(), attributes=attributes, since=since)(type(name, (), functions))


question("IsNaN", "is_na_n", lambda call, v: is_nan(v))
question("IsInf", "is_inf", lambda call, v: v == INF and call.attr("detect_positive", 1) == 1
         or v == -INF and call.attr("detect_negative", 1) == 1, "detect_negative:i detect_positive:i", since=10)
