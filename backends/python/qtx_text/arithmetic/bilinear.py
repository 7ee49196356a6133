"""RESIZE_BILINEAR (tflite_float64.S6, tflite_half_up.S6, xnnpack.S10)."""
import math
from fractions import Fraction

from .. import reals as R
from ..reals import exact, f32
from .base import clamp

MAPPINGS = ("half_pixel", "align_corners", "asymmetric")


def takes(call, dims):
    """Whether a linear Resize to these sizes is that of whole images, of one type, to equal parameters."""
    x, y = call.inputs[0], call.outs[0]
    d, scales = x.dims, call.values(2) if call.has(2) else ()
    return (call.origin[0] != "tflite" or call.origin[1] in ("", "RESIZE_BILINEAR")) and (
        x.type is y.type and x.single and y.single and x.scale == y.scale and x.offset == y.offset
        and call.text("coordinate_transformation_mode", "half_pixel") in MAPPINGS
        and len(d) == 4 and tuple(dims[:2]) == tuple(d[:2]) and call.attr("axes", None) is None
        and call.text("keep_aspect_ratio_policy", "stretch") == "stretch"
        and all(0 < v < 2 ** 20 for v in (*d, *dims))
        and all(s == R.float32(Fraction(m, n)) for s, m, n in zip(scales, dims, d)))


def steps_and_start(mapping, n, m):
    """Integers, in units of 2^-10."""
    a, b = (n - 1, m - 1) if mapping == "align_corners" and m > 1 else (n, m)
    stride = (1024 * a + b // 2) // b
    return stride, stride // 2 - 512 if mapping == "half_pixel" else 0


def whole_places(mapping, n, m):
    """Of each result the first and second neighbour and the weight of the second in units of 2^-10, or None."""
    stride, start = steps_and_start(mapping, n, m)
    places = []
    for i in range(m):
        v = i * stride + start
        first = max(int(Fraction(v, 1024)), 0)
        places.append((first, min(int(Fraction(v + 1023, 1024)), n - 1), v - 1024 * first))
    return places if places[-1][0] < n else None


def ratio(mapping, n, m):
    return R.float32(Fraction(n - 1, m - 1) if mapping == "align_corners" and m > 1 else Fraction(n, m))


def float_places(mapping, n, m):
    s, places = ratio(mapping, n, m), []
    for i in range(m):
        v = f32(f32((i + 0.5) * s) - 0.5) if mapping == "half_pixel" else f32(i * s)
        first = max(math.floor(v), 0)
        places.append((first, min(math.ceil(v), n - 1), f32(v - first)))
    return places


def eleven_bit_places(mapping, n, m):
    s, places = ratio(mapping, n, m), []
    for i in range(m):
        v = f32(i * s)
        if mapping == "half_pixel":
            v = clamp(f32(v + f32(s / 2 - 0.5)), 0.0, float(n - 1))
        first = math.floor(v)
        places.append((first, min(first + 1, n - 1), R.half_even((exact(v) - first) * 2048)))
    return places


def whole_blend(one, rounded):
    def blend(e, f, g):
        total = e[0] * (one - f) * (one - g) + e[1] * f * (one - g) + e[2] * (one - f) * g + e[3] * f * g
        return rounded(Fraction(total, one * one))
    return blend


def sum32(parts):
    total = parts[0]
    for v in parts[1:]:
        total = f32(total + v)
    return int(f32(total + 0.5))


def blend_in_turn(e, f, g):
    """tflite_float64.S6."""
    f, g = (f32(1 - f), f), (f32(1 - g), g)
    return sum32([f32(f32(v * f[k % 2]) * g[k // 2]) for k, v in enumerate(e)])


def blend_by_rows(e, f, g):
    """tflite_half_up.S6."""
    f, g = (f32(1 - f), f), (f32(1 - g), g)
    return sum32([f32(e[k] * f32(f[k % 2] * g[k // 2])) for k in (0, 2, 1, 3)])


def plan(call, dims, places, blend):
    """None where a coordinate lies beyond the image."""
    x, y = call.inputs[0], call.outs[0]
    mapping = call.text("coordinate_transformation_mode", "half_pixel")
    height, width = x.dims[2:]
    rows, columns = places(mapping, height, dims[2]), places(mapping, width, dims[3])
    if rows is None or columns is None:
        return None

    def compute():
        out = []
        for start in range(0, len(x.data), height * width):
            for top, bottom, f in rows:
                for left, right, g in columns:
                    e = [x.data[start + r * width + c] for r, c in ((top, left), (bottom, left), (top, right), (bottom, right))]
                    out.append(clamp(blend(e, f, g), y.quant.lo, y.quant.hi))
        return [out]
    return compute
