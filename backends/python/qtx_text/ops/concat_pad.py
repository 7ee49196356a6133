"""Concat and Pad."""
from ..types import elements, strides, unsupported
from .core import operator
from .movement import INDEX, positions


@operator("Concat", "concat", (1, 1 << 20), shape="C4", attributes="axis:i", required=("axis",))
class Concat:  # concat.S1, S2
    @staticmethod
    def infer(call):
        call.follows("C1", *range(len(call.inputs)))
        shapes = [call.dims(i) for i in range(len(call.inputs))]
        call.require(len(shapes[0]) > 0, "C2")
        a = call.axis("C2", 0, len(shapes[0]))
        rests = {(len(s), s[:a] + s[a + 1:]) for s in shapes}
        call.require(len(rests) == 1, "C3")
        return [shapes[0][:a] + (sum(s[a] for s in shapes),) + shapes[0][a + 1:]]

    @staticmethod
    def moved(call):
        return call.inputs

    @staticmethod
    def compute(call):
        y = call.outs[0]
        a = call.axis("C2", 0, len(y.dims))
        out, start = [None] * elements(y.dims), 0
        for x in call.inputs:
            taken = [range(n) for n in y.dims]
            taken[a] = range(start, start + x.dims[a])
            start += x.dims[a]
            at = positions(taken, strides(y.dims))
            for k, v in zip(at, call.effective().move(x, range(len(at)), y, at)):
                out[k] = v
        return [out]


@operator("Pad", "pad", (2, 4), shape="C6", attributes="mode:s", operands=(0, 2), form=11)
class Pad:  # pad.S1 to S6
    @staticmethod
    def pads(call):
        d = call.dims(0)
        axes = range(len(d))
        if call.has(3):
            t = call.inputs[3]
            call.require(t.type.name in INDEX and (t.dims is None or len(t.dims) == 1), "C7")
            axes = call.axes("C7", call.values(3), len(d))
        pads = call.integers(1, "C2")
        call.require(len(pads) == 2 * len(axes), "C2")
        begin, end = [0] * len(d), [0] * len(d)
        for k, a in enumerate(axes):
            begin[a], end[a] = pads[k], pads[k + len(axes)]
        return d, begin, end

    @staticmethod
    def infer(call):
        call.follows("C1", 0, *([2] if call.has(2) else []))
        mode = call.text("mode", "constant")
        call.require(mode in ("constant", "edge", "reflect") or mode == "wrap", "C3")
        if mode == "wrap" and call.opset < 19:
            raise unsupported("mode wrap before opset 19")
        if call.has(2):
            t = call.inputs[2]
            call.require(t.dims is None or None in t.dims or elements(t.dims) == 1, "C4")
        d, begin, end = Pad.pads(call)
        for n, b, e in zip(d, begin, end):
            left = n + min(b, 0) + min(e, 0)
            call.require(left >= 0, "C5")
            if mode != "constant" and (b > 0 or e > 0):
                call.require(left > 0, "C5")
            if mode == "reflect":
                call.require(max(b, e, 0) < left or max(b, e) <= 0, "C5")
        return [tuple(n + b + e for n, b, e in zip(d, begin, end))]

    @staticmethod
    def moved(call):
        return [call.inputs[0]] + ([call.inputs[2]] if call.has(2) else [])

    @staticmethod
    def compute(call):
        x, y = call.inputs[0], call.outs[0]
        d, begin, end = Pad.pads(call)
        mode = call.text("mode", "constant")
        out = [0]
        for n, m, b, e, s in zip(d, y.dims, begin, end, strides(d)):
            first, left = max(-b, 0), n + min(b, 0) + min(e, 0)
            places = []
            for k in range(m):
                k -= max(b, 0)
                if not 0 <= k < left:
                    if mode == "constant":
                        places.append(None)
                        continue
                    if mode == "edge":
                        k = min(max(k, 0), left - 1)
                    elif mode == "wrap":
                        k %= left
                    else:
                        k = -k if k < 0 else 2 * (left - 1) - k
                places.append((first + k) * s)
            out = [None if o is None or p is None else o + p for o in out for p in places]
        arithmetic = call.effective()
        inside = [k for k, i in enumerate(out) if i is not None]
        outside = [k for k, i in enumerate(out) if i is None]
        result = [None] * len(out)
        for k, v in zip(inside, arithmetic.move(x, [out[k] for k in inside], y, inside)):
            result[k] = v
        if call.has(2):
            filled = arithmetic.move(call.inputs[2], [0] * len(outside), y, outside)
        elif y.type.kind == "e8m0":
            raise unsupported("a real zero of FLOAT8E8M0")
        else:
            filled = arithmetic.real_zero(y, outside) if y.type.real or y.type.plain or y.type.kind == "bool" \
                else [0.0] * len(outside)
        for k, v in zip(outside, filled):
            result[k] = v
        return [result]
