"""Constant and Shape."""
from ..types import FLOAT, INT64, unsupported
from .core import operator


@operator("Constant", "constant", (0, 0), shape="C3",
          attributes="value:t value_float:f value_floats:fs value_int:i value_ints:is value_string:s value_strings:ss "
                     "sparse_value:st")
class Constant:  # constant.S1, S2
    @staticmethod
    def infer(call):
        call.require(len(call.attrs) == 1, "C1", "%d attributes" % len(call.attrs))
        (name, value), = call.attrs.items()
        if name in ("value_string", "value_strings", "sparse_value"):
            raise unsupported(name)
        declared = call.declared[0][0]
        if name == "value":
            from ..model import read_tensor
            t = read_tensor(value, declared if declared is not None and declared.quantized else None)
            type_, dims, data = t.type, t.dims, t.data
        elif name in ("value_float", "value_floats"):
            type_ = FLOAT
            dims, data = ((len(value),), list(value)) if name[-1] == "s" else ((), [value])
        else:
            type_ = INT64
            dims, data = ((len(value),), list(value)) if name[-1] == "s" else ((), [value])
        storage = declared is not None and (declared is type_ or declared.storage == type_.code)
        call.require(declared is None or storage, "C2", "y is not of the attribute's type")
        call.constant = data
        return [dims], [type_]

    @staticmethod
    def plan(call):
        return lambda: [call.constant]


@operator("Shape", "op_shape", (1, 1), shape="C2", attributes="start:i:15 end:i:15", operands=())
class Shape:  # op_shape.S1
    @staticmethod
    def bounds(call):
        rank = len(call.dims(0))
        lo, hi = call.attr("start", 0), call.attr("end", rank)
        lo, hi = (min(max(v + rank if v < 0 else v, 0), rank) for v in (lo, hi))
        return lo, max(lo, hi)

    @staticmethod
    def infer(call):
        call.require(call.declared[0][0] in (None, INT64), "C1")
        lo, hi = Shape.bounds(call)
        return [(hi - lo,)], [INT64]

    @staticmethod
    def compute(call):
        lo, hi = Shape.bounds(call)
        return [list(call.inputs[0].dims[lo:hi])]
