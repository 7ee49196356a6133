"""Resize."""
import math
from fractions import Fraction

from .. import reals as R
from ..types import FLOAT, INT64, elements, strides, unsupported
from .core import operator
from .elementwise import store_winners

MODES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
         "tf_crop_and_resize")


@operator("Resize", "resize", (1, 4), shape="C7", operands=(0,), since=10, form=11,
          attributes="antialias:i:18 axes:is:18 coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:i "
                     "extrapolation_value:f keep_aspect_ratio_policy:s:18 mode:s nearest_mode:s")
class Resize:  # resize.S1 to S9
    @staticmethod
    def given(call, i):
        """An empty tensor is as if it were not given (resize.S9)."""
        if not call.has(i) or call.inputs[i].dims is not None and 0 in call.inputs[i].dims:
            return None
        return list(call.values(i))

    @staticmethod
    def settings(call):
        """For each axis that is resized: axis, n, m, length, scale, start and end."""
        d = call.dims(0)
        axes = call.axes("C4", call.attr("axes", list(range(len(d)))), len(d))
        scales, sizes = Resize.given(call, 2), Resize.given(call, 3)
        call.require((scales is None) != (sizes is None) or not axes, "C3", "scales or sizes")
        policy = call.text("keep_aspect_ratio_policy", "stretch")
        call.require(policy in ("stretch", "not_larger", "not_smaller") and (policy == "stretch" or sizes is not None),
                     "C2")
        crop = call.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"
        starts = ends = [Fraction(0)] * len(axes)
        if crop:
            roi = Resize.given(call, 1)
            call.require(roi is not None and len(roi) == 2 * len(axes) and all(map(math.isfinite, roi)), "C5")
            roi = [Fraction(v) for v in roi]
            starts, ends = roi[:len(axes)], roi[len(axes):]
            call.require(scales is None or all(s <= e for s, e in zip(starts, ends)), "C5")
        out = []
        if scales is not None:
            call.require(call.inputs[2].type is FLOAT and len(scales) == len(axes)
                         and all(math.isfinite(s) and s > 0 for s in scales), "C3")
            for a, s, b, e in zip(axes, map(Fraction, scales), starts, ends):
                length = s * d[a] * ((e - b) if crop else 1)
                out.append((a, d[a], math.floor(length), length, s, b, e))
        elif sizes is not None:
            call.require(call.inputs[3].type is INT64 and len(sizes) == len(axes) and all(s >= 0 for s in sizes), "C3")
            ratios = [Fraction(s, d[a]) if d[a] else Fraction(0) for a, s in zip(axes, sizes)]
            if policy != "stretch" and ratios:
                ratios = [(min if policy == "not_larger" else max)(ratios)] * len(axes)
            for a, s, r, b, e in zip(axes, sizes, ratios, starts, ends):
                if policy == "stretch":
                    out.append((a, d[a], s, Fraction(s), r, b, e))
                else:
                    length = r * d[a]
                    out.append((a, d[a], math.floor(length + Fraction(1, 2)), length, r, b, e))
        call.require(all(n > 0 or m == 0 for _, n, m, *_ in out), "C6", "an axis of size 0")
        return out

    @staticmethod
    def infer(call):
        mode = call.text("mode", "nearest")
        change = call.text("coordinate_transformation_mode", "half_pixel")
        call.require(mode in ("nearest", "linear", "cubic"), "C2", "mode " + mode)
        call.require(call.attr("antialias", 0) in (0, 1), "C2")
        call.require(change in MODES or change == "tf_half_pixel_for_nn" and call.opset < 13, "C2", change)
        call.require(call.text("nearest_mode", "round_prefer_floor") in ("round_prefer_floor", "round_prefer_ceil",
                                                                         "floor",
                                                                         "ceil"), "C2")
        call.follows("C1", 0)
        x = call.inputs[0].type
        call.require(mode != "linear" or x.real or x.plain, "C1", "linear of " + x.name)
        call.require(change != "tf_crop_and_resize" or x.real, "C1", "tf_crop_and_resize of " + x.name)
        if mode == "cubic" or call.attr("antialias", 0) == 1 or change == "tf_half_pixel_for_nn":
            raise unsupported("cubic, antialias or tf_half_pixel_for_nn of Resize")  # resize.C8
        out = list(call.dims(0))
        for a, _, m, *_ in Resize.settings(call):
            out[a] = m
        return [tuple(out)]

    @staticmethod
    def coordinate(mode, i, n, m, length, scale, start, end):
        """resize.S4."""
        half = Fraction(1, 2)
        if mode == "asymmetric":
            return i / scale
        if mode == "align_corners":
            return Fraction(i * (n - 1)) / (length - 1) if length != 1 else Fraction(0)
        if mode == "tf_crop_and_resize":
            if length > 1:
                return start * (n - 1) + i * (end - start) * (n - 1) / (length - 1)
            return (start + end) / 2 * (n - 1)
        if mode == "pytorch_half_pixel" and length <= 1:
            return Fraction(0)
        x = (i + half) / scale - half
        return x + Fraction(n, 2) * (1 - m / length) if mode == "half_pixel_symmetric" else x

    @staticmethod
    def plan(call):
        x, y = call.inputs[0], call.outs[0]
        linear = call.text("mode", "nearest") == "linear"
        change = call.text("coordinate_transformation_mode", "half_pixel")
        nearest = call.text("nearest_mode", "round_prefer_floor")
        if not linear:
            call.moved = [x]
            call.plan_kernel("move")

        kernel = call.plan_kernel("resize", dims=y.dims) if linear and elements(y.dims) else None
        if kernel:
            return kernel

        def taps():
            """For each axis and position the list of (index, weight), None outside of the crop."""
            per_axis = [[[(k, Fraction(1))] for k in range(n)] for n in x.dims]
            for a, n, m, length, scale, start, end in Resize.settings(call):
                places = []
                for i in range(m):
                    c = Resize.coordinate(change, i, n, m, length, scale, start, end)
                    if change == "tf_crop_and_resize" and not 0 <= c <= n - 1:  # resize.S7
                        places.append(None)
                    elif linear:
                        low = math.floor(c)
                        pairs = {}
                        for k, w in ((low, 1 - (c - low)), (low + 1, c - low)):
                            k = min(max(k, 0), n - 1)
                            if w:
                                pairs[k] = pairs.get(k, 0) + w
                        places.append(sorted(pairs.items()))
                    else:
                        half = Fraction(1, 2)
                        k = {"round_prefer_floor": math.ceil(c - half), "round_prefer_ceil": math.floor(c + half),
                             "floor": math.floor(c), "ceil": math.ceil(c)}[nearest]
                        places.append([(min(max(k, 0), n - 1), Fraction(1))])
                per_axis[a] = places
            out = [[(0, Fraction(1))]]
            for places, s in zip(per_axis, strides(x.dims)):
                out = [None if t is None or p is None else [(i + k * s, w * v) for i, w in t for k, v in p]
                       for t in out for p in places]
            return out

        def compute():
            arithmetic = call.effective()
            n, result = arithmetic.numbers, [None] * elements(y.dims)
            whole, mixed = [], []
            for k, t in enumerate(taps()):
                if t is None:
                    value = n.constant(call.attr("extrapolation_value", 0.0))
                    result[k] = arithmetic.store(y, [value], [k])[0]
                elif linear:
                    mixed.append((k, t))
                else:
                    whole.append((k, t[0][0]))
            if not linear:
                moved = arithmetic.move(x, [i for _, i in whole], y, [k for k, _ in whole])
                for (k, _), v in zip(whole, moved):
                    result[k] = v
            if mixed and n.binary32:
                mixed32(arithmetic, x, y, mixed, result)
            elif mixed:
                values = n.of(x)
                means = [n.total(n.mul(values[i], w) for i, w in t) for _, t in mixed]
                for (k, _), v in zip(mixed, arithmetic.store(y, means, [k for k, _ in mixed])):
                    result[k] = v
            return [result]
        return compute


def mixed32(arithmetic, x, y, mixed, result):
    """resize.S8: weights and products of binary32; one element that has all the weight is exact between equal
    parameters."""
    n = arithmetic.numbers
    values = n.of(x)
    for k, t in mixed:
        if len(t) == 1:
            result[k] = store_winners(arithmetic, y, [(x, t[0][0])], [k])[0]
        else:
            total = n.total(n.mul(values[i], R.float32(w)) for i, w in t)
            result[k] = arithmetic.store(y, [total], [k])[0]
