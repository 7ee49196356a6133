"""Tensors out of sizes, numbers and diagonals: ConstantOfShape, EyeLike, Range, Size, NonZero; Trilu and Dropout."""
import math

from .. import reals as R
from ..arithmetic.base import EXACT_NUMBERS
from ..types import BOOL, FLOAT, INT64, TYPES, elements, strides, unsupported
from .core import operator


def scalar(call, i, number):
    """An input that is given has one element, and rank 0 or 1."""
    d = call.inputs[i].dims
    call.require(d is None or tuple(d) in ((), (1,)), number, "input %d is no scalar" % i)


@operator("ConstantOfShape", "constant_of_shape", (1, 1), shape="C4", attributes="value:t", operands=(), since=9)
class ConstantOfShape:  # constant_of_shape.S1, S2
    @staticmethod
    def infer(call):
        declared, value, call.constant = call.declared[0][0], call.attr("value"), 0.0
        type_ = FLOAT
        if value is not None:
            from ..model import read_tensor
            t = read_tensor(value, declared if declared is not None and declared.quantized else None)
            call.require(elements(t.dims) == 1, "C1", "%d values" % elements(t.dims))
            type_, call.constant = t.type, t.data[0]
        call.require(declared is None or declared is type_ or declared.storage == type_.code, "C2", "y is not of the attribute's type")
        sizes = call.integers(0, "C3")
        call.require(all(n >= 0 for n in sizes), "C3", "a size is negative")
        return [tuple(sizes)], [type_]

    @staticmethod
    def compute(call):
        return [[call.constant] * elements(call.outs[0].dims)]


@operator("EyeLike", "eye_like", (1, 1), shape="C3", attributes="dtype:i k:i", operands=(), since=9)
class EyeLike:  # eye_like.S1, S2
    @staticmethod
    def infer(call):
        x, declared, dtype = call.inputs[0].type, call.declared[0][0], call.attr("dtype")
        y = declared or (x if dtype is None else TYPES.get(dtype))
        call.require(y is not None and (y.real or y.plain or y is BOOL), "C1", "the type of y")
        call.require(y.code == dtype if dtype is not None else y is x or x.real and y.real, "C1", y.name)
        d = call.dims(0)
        call.require(len(d) == 2, "C2", "rank %d" % len(d))
        return [d], [y]

    @staticmethod
    def compute(call):
        y = call.outs[0]
        rows, columns = y.dims
        n = call.numbers if y.type.real else EXACT_NUMBERS
        ones = [n.constant(int(j == i + call.attr("k", 0))) for i in range(rows) for j in range(columns)]
        return [call.store(ones)]


@operator("Range", "range", (3, 3), shape="C4", attributes="stash_type:i:27", operands=(0,), since=11)
class Range:  # range.S1, S2
    @staticmethod
    def infer(call):
        types = [t.type for t in call.inputs]
        call.require(all(t is types[0] for t in types), "C1", "types differ")
        call.require(types[0].plain or types[0].name in ("FLOAT", "FLOAT16", "BFLOAT16"), "C1", types[0].name)
        call.follows("C2", 0)
        for i in range(3):
            scalar(call, i, "C3")
        call.require(call.attr("stash_type", 1) == 1, "C5")
        ends = [R.exact(call.values(i)[0]) if type(call.values(i)[0]) is float else call.values(i)[0] for i in range(3)]
        call.require(all(R.is_finite(v) for v in ends) and ends[2] != 0, "C3", "a number that is not finite, or a step of 0")
        count = math.ceil(R.div(ends[1] - ends[0], ends[2]))
        call.require(count < 1 << 63, "C3", "%d elements" % count)
        return [(max(count, 0),)]

    @staticmethod
    def compute(call):
        n = call.numbers
        start, _, delta = [n.of(t)[0] for t in call.inputs]
        return [call.store([n.add(start, n.mul(n.constant(i), delta)) for i in range(call.outs[0].dims[0])])]


@operator("Size", "size", (1, 1), shape="C2", operands=())
class Size:  # size.S1
    @staticmethod
    def infer(call):
        call.require(call.declared[0][0] in (None, INT64), "C1")
        call.dims(0)
        return [()], [INT64]

    @staticmethod
    def compute(call):
        return [[elements(call.inputs[0].dims)]]


@operator("NonZero", "non_zero", (1, 1), shape="C3", operands=(), since=9)
class NonZero:  # non_zero.S1, S2
    @staticmethod
    def found(call):
        x = call.inputs[0]
        n = call.arithmetic.numbers if x.type.real else EXACT_NUMBERS
        call.values(0)
        return [i for i, v in enumerate(n.of(x)) if not v == 0]

    @staticmethod
    def infer(call):
        t = call.inputs[0].type
        call.require(t.real or t.plain or t is BOOL, "C1", t.name)
        call.require(call.declared[0][0] in (None, INT64), "C2")
        return [(len(call.dims(0)), len(NonZero.found(call)))], [INT64]

    @staticmethod
    def compute(call):
        d = call.inputs[0].dims
        return [[i // step % size for size, step in zip(d, strides(d)) for i in NonZero.found(call)]]


@operator("Trilu", "trilu", (1, 2), shape="C5", attributes="upper:i", operands=(0,), since=14)
class Trilu:  # trilu.S1 to S3
    @staticmethod
    def infer(call):
        call.follows("C1", 0)
        call.require(len(call.dims(0)) >= 2, "C2")
        if call.has(1):
            call.require(call.inputs[1].type is INT64, "C3")
            scalar(call, 1, "C3")
        call.require(call.attr("upper", 1) in (0, 1), "C4")
        return [call.dims(0)]

    @staticmethod
    def moved(call):
        return call.inputs[:1]

    @staticmethod
    def compute(call):
        x, y, arithmetic = call.inputs[0], call.outs[0], call.effective()
        rows, columns = x.dims[-2:]
        k = call.inputs[1].data[0] if call.has(1) else 0
        sign = 1 if call.attr("upper", 1) else -1
        kept = [i for i in range(elements(x.dims)) if sign * (i % columns - i // columns % rows - k) >= 0]
        others = sorted(set(range(elements(x.dims))) - set(kept))
        result = [None] * elements(x.dims)
        if y.type.kind == "e8m0" and others:
            raise unsupported("a real zero of FLOAT8E8M0")
        zeros = arithmetic.real_zero(y, others) if y.type.real or y.type.plain or y.type is BOOL else [0.0] * len(others)
        for i, v in [*zip(kept, arithmetic.move(x, kept, y, kept)), *zip(others, zeros)]:
            result[i] = v
        return [result]


@operator("Dropout", "dropout", (1, 3), outputs=(1, 2), shape="C3", operands=(0,), since=1,
          attributes="ratio:f:1:12 is_test:i:1:7 seed:i:12")
class Dropout:  # dropout.S1, S2
    @staticmethod
    def infer(call):
        x, declared = call.inputs[0].type, [t for t, *_ in call.declared]
        call.supported(0)
        call.require(declared[0] in (None, x) or x.real and declared[0].real, "C1")
        if call.has(1):
            call.require(call.inputs[1].type.real or call.inputs[1].type.code == 11, "C2")
            scalar(call, 1, "C2")
        if call.has(2):
            call.require(call.inputs[2].type is BOOL, "C2")
            scalar(call, 2, "C2")
        call.require(len(declared) < 2 or declared[1] in (None, BOOL), "C2")
        if call.has(2) and call.inputs[2].data is not None and call.inputs[2].data[0] or \
                call.opset < 7 and not call.attr("is_test", 0):
            raise unsupported("training of Dropout")  # dropout.C4
        return [call.dims(0)] * len(declared), [None, BOOL][:len(declared)]

    @staticmethod
    def moved(call):
        return call.inputs[:1]

    @staticmethod
    def compute(call):
        x, n = call.inputs[0], elements(call.inputs[0].dims)
        return [call.effective().move(x, range(n), call.outs[0], range(n)), [1] * n][:len(call.outs)]
