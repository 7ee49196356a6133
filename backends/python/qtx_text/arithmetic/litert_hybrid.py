"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED of FLOAT by int8 weights (tflite_float64.S7, tflite_half_up.S7)."""
import math
from fractions import Fraction

from .. import reals as R
from ..reals import exact, f32
from .base import clamp


def takes(call, p):
    x, w, kernel, op = p.x, p.w, call.origin[1], call.op
    if call.origin[0] != "tflite" or x.type.code != 1 or call.outs[0].type.code != 1 or w.type.code != 1003:
        return False
    if not w.initializer or any(w.quant.offsets) or not w.quant.integer_form or not x.data:
        return False
    if p.bias is not None and (p.bias.type.code != 1 or tuple(p.bias.dims) != (w.dims[p.weight_axis],)):
        return False
    one, many = w.quant.single, w.quant.along(p.weight_axis)
    if op == "Conv" and len(x.dims) == 4:
        group = call.attr("group", 1)
        if kernel == "CONV_2D":
            fits = group == 1 and (one or many)
        else:
            fits = kernel == "DEPTHWISE_CONV_2D" and w.dims[1] == 1 and group == x.dims[1] and (w.dims[0] == 1 if one else many)
    else:
        fits = kernel == "FULLY_CONNECTED" and not one and many and (
            op == "MatMul" and len(w.dims) == 2
            or op == "Gemm" and p.alpha == 1 and (p.bias is None or p.beta == 1)
            and not call.attr("transA", 0) and call.attr("transB", 0) == 1)
    return bool(fits) and all(v == 0 or 2.0 ** -100 <= abs(v) <= 2.0 ** 100 for v in x.data)


def whole(v, blocked):
    if blocked:
        return R.toward_zero(exact(f32(v + (-0.5 if v < 0 else 0.5))))
    return R.half_away(exact(v))


def asymmetric(values, blocked):
    """The stored differences of the values, and their unit."""
    least, greatest = min(0.0, min(values)), max(0.0, max(values))
    if least == greatest:
        return [0] * len(values), 1.0
    scale = f32(greatest - least) / 255
    unit, below, above = f32(scale), least / scale, greatest / scale
    zero = -128 - below if 128 + abs(below) < 127 + abs(above) else 127 - above
    zero = R.half_away(exact(clamp(zero, -128.0, 127.0)))
    k = R.div32(1.0, unit)
    return [clamp(whole(f32(v * k), b) + zero, -128, 127) - zero for v, b in zip(values, blocked)], unit


def symmetric(values, blocked):
    r = max(map(abs, values))
    if r == 0:
        return [0] * len(values), 1.0
    k = R.div32(127.0, r)
    return [clamp(whole(f32(v * k), b), -127, 127) for v, b in zip(values, blocked)], R.div32(r, 127.0)


def blocks(call, x):
    """For each element of an image or a row whether it lies in a whole block of 8, in the order [H, W, C]."""
    if call.op != "Conv":
        size = x.dims[-1]
        return [k < size // 8 * 8 for k in range(size)]
    channels, pixels = x.dims[1], math.prod(x.dims[2:])
    return [q * channels + c < channels * pixels // 8 * 8 for c in range(channels) for q in range(pixels)]


def by_one(total, unit, s):
    return f32(total * f32(unit * s))


def in_turn(total, first, second):
    return f32(f32(total * first) * second)


def product_of_reference(kernel, one_scale):
    """tflite_float64.S7: of a sum of channel m and both scales."""
    if kernel == "CONV_2D" and not one_scale:
        return lambda m, total, unit, s: in_turn(total, s, unit)
    return lambda m, total, unit, s: by_one(total, unit, s)


def product_of_builtin(kernel, channels):
    """tflite_half_up.S7."""
    if kernel != "DEPTHWISE_CONV_2D":
        return lambda m, total, unit, s: by_one(total, unit, s)
    return lambda m, total, unit, s: in_turn(total, *((s, unit) if m < channels // 4 * 4 else (unit, s)))


def plan(call, p, builtin):
    if not takes(call, p):
        return None
    x, kernel = p.x, call.origin[1]
    mirrors = kernel == "CONV_2D" and p.w.quant.single
    product = product_of_builtin(kernel, p.w.dims[0]) if builtin else product_of_reference(kernel, p.w.quant.single)

    def compute():
        blocked, steps, units = blocks(call, x), [], []
        size = len(blocked)
        for start in range(0, len(x.data), size):
            d, unit = (symmetric if mirrors else asymmetric)(x.data[start:start + size], blocked)
            steps += d
            units.append(unit)
        out, results = [], math.prod(call.outs[0].dims) // len(units)
        for m, (xi, wi) in enumerate(p.taps()):
            total = R.float32(Fraction(R.wrap(sum(steps[i] * p.w.data[j] for i, j in zip(xi, wi) if i >= 0), 32)))
            unit, s = units[m // results], p.weight_scale(m)
            v = product(p.channel(m), total, unit, s)
            out.append(f32(v + (p.bias.data[p.bias_at(m)] if p.bias is not None else 0.0)))
        return out
    return compute
