"""EXP and GELU of LiteRT (tflite_float64.S9)."""
from .. import functions as F
from .. import reals as R
from ..reals import exact, f32

ROOT, FACTOR, CUBE = float.fromhex("0x1.6a09e6p-1"), float.fromhex("0x1.988454p-1"), f32(0.044715)


def erfc(t):
    if t >= 12 or t <= -6:
        return 0.0 if t > 0 else 2.0
    if t == 0:
        return 1.0

    def interval(bits):
        lo, hi = F.erf_interval(exact(t), bits)
        return 1 - hi, 1 - lo
    return F.rounded(F.Approximate(interval), F.float32)


def by_erf(v):
    return f32(f32(v / 2) * erfc(f32(v * -ROOT)))


def by_tanh(v):
    z = f32(FACTOR * f32(v + f32(f32(f32(CUBE * v) * v) * v)))
    return f32(f32(v / 2) * f32(1 + F.function32("tanh", z)))


def plan(call, name, to_step):
    x, y = call.inputs[0], call.outs[0]
    tanh = name == "gelu" and call.text("approximate", "none") == "tanh"
    f = (by_tanh if tanh else by_erf) if name == "gelu" else lambda v: F.function32("exp", v)
    if x.type is not y.type or not (x.single and y.single):
        return None
    if x.type.eight:
        def one(stored):
            v = f32(f(f32(x.scale * (stored - x.offset))) * R.div32(1.0, y.scale))
            return to_step(v, y.offset, y.quant.lo, y.quant.hi)
    elif x.type.code == 1005 and not (x.offset or y.offset or tanh) and x.scale <= 2.0 ** -9 and y.scale >= 2.0 ** -30:
        one = word_table(f, x.scale, y.scale, y.quant)
    else:
        return None

    def compute():
        table = {v: one(v) for v in set(x.data)}
        return [table[v] for v in x.data]
    return compute


def word_table(f, x_scale, y_scale, range_of):
    first, last = f32(x_scale * -2 ** 15), f32(x_scale * 32767)
    step = f32(f32(last - first) / 512)
    per_unit = R.div32(2.0 ** 16, f32(f32(y_scale * 32767) - f32(y_scale * -2 ** 15)))

    def rounded(v):
        return R.half_away(exact(v))

    def steps(v):
        return f32(f(v) * per_unit)

    def place(i):
        return f32(first + f32(i * step))

    def entry(i):
        if i == 512:
            return R.saturate(rounded(steps(last)), 16)
        here = rounded(steps(place(i)))
        line = rounded(f32(f32(steps(place(i + 1)) + here) / 2))
        excess = f32(line - rounded(steps(f32(place(i) + f32(step / 2)))))
        return R.saturate(int(f32(here - rounded(f32(excess / 2)))), 16)
    known = {}

    def one(stored):
        i = 256 + (stored >> 7)
        for k in (i, i + 1):
            if k not in known:
                known[k] = entry(k)
        v = known[i] + ((known[i + 1] - known[i]) * (stored % 128) + 64 >> 7)
        return min(max(v, range_of.lo), range_of.hi)
    return one
