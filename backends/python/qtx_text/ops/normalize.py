"""Softmax, LogSoftmax, Hardmax and the normalizations."""
from fractions import Fraction

from .. import functions as F
from .. import reals as R
from ..arithmetic import EXACT
from ..reals import INF, NAN, f32, is_nan
from ..types import FLOAT, elements, unsupported
from .core import OPERATORS, Operator, broadcast, broadcast_index, lines, operator, planned
from .elementwise import wins
from .power import power, power32


# Softmax, LogSoftmax and Hardmax.
def rows(call, number):
    """The lines that are summed over (softmax.S2, S4), without empty ones."""
    d = call.dims(0)
    old = call.opset < 13
    a = call.axis(number, 1 if old else -1, len(d))
    return [line for line in lines(d, a, len(d) - a if old else 1) if line]


def softmax_exact(v):
    """softmax.S1, S3: IEEE 754 on the formula where an element is not finite."""
    if any(R.special(x) for x in v):
        if any(is_nan(x) or x == INF for x in v):  # of inf - inf the total is NaN
            return [NAN] * len(v)
        finite = [x for x in v if x != -INF]
        if not finite:
            return [NAN] * len(v)
        shares = iter(softmax_exact(finite))
        return [Fraction(0) if x == -INF else next(shares) for x in v]
    top = max(v)
    if min(v) == top:
        return [Fraction(1, len(v))] * len(v)
    cache = {}

    def shares(bits):
        if bits not in cache:
            e = [F.exp_interval(Fraction(x - top), bits) for x in v]
            cache[bits] = e, (sum(p for p, _ in e), sum(q for _, q in e))
        return cache[bits]

    def share(k):
        def interval(bits):
            e, total = shares(bits)
            lo, hi = e[k]
            return lo / (total[1] - hi + lo), hi / (total[0] - lo + hi)
        return F.Approximate(interval)
    return [share(k) for k in range(len(v))]


def softmax32(n, v):
    """float32.S3."""
    top = NAN if any(is_nan(x) for x in v) else max(v)
    e = [n.function("exp", n.sub(x, top)) for x in v]
    total = n.total(e)
    return [n.div(x, total) for x in e]


def log_softmax_exact(v):
    """log_softmax.S1, S3."""
    if any(is_nan(x) or x == INF for x in v) or all(x == -INF for x in v):
        return [NAN] * len(v)
    finite = [Fraction(x) for x in v if x != -INF]
    if len(finite) == 1:
        return [x if x == -INF else Fraction(0) for x in v]
    top = max(finite)
    cache = {}

    def logarithm(bits):
        if bits not in cache:
            e = [F.exp_interval(x - top, bits) for x in finite]
            cache[bits] = F.ln_interval(sum(p for p, _ in e), sum(q for _, q in e), bits)
        return cache[bits]

    def one(x):
        if x == -INF:
            return x
        return F.Approximate(lambda bits: (x - top - logarithm(bits)[1], x - top - logarithm(bits)[0]))
    return [one(x) for x in v]


def log_softmax32(n, v):
    top = NAN if any(is_nan(x) for x in v) else max(v)
    d = [n.sub(x, top) for x in v]
    logarithm = n.function("log", n.total(n.function("exp", x) for x in d))
    return [n.sub(x, logarithm) for x in d]


def infer_rows(call):
    call.real_or("C1", "DOUBLE")
    d = call.dims(0)
    call.axis("C2", 1 if call.opset < 13 else -1, len(d))
    return [d]


def by_rows(name, stem, kernel, exact, binary32):
    def plan(call):
        x, y = call.inputs[0], call.outs[0]

        def steps(n):
            v, out = n.of(x), [None] * elements(y.dims)
            for row in rows(call, "C2"):
                if row:
                    for i, s in zip(row, binary32(n, [v[i] for i in row]) if n.binary32
                                    else exact([v[i] for i in row])):
                        out[i] = s
            return out
        call.rows = lambda: [row for row in rows(call, "C2") if row]
        own = call.plan_kernel(kernel, **({"rows": lambda: rows(call, "C2")} if kernel == "softmax"
                                          else {"steps": steps}))
        if own:
            return lambda: [own()]
        return lambda: [call.effective().store(y, steps(call.numbers))]
    OPERATORS[name] = Operator(name, stem, infer_rows, plan, (1, 1), shape="C3", attributes="axis:i")


by_rows("Softmax", "softmax", "softmax", softmax_exact, softmax32)
by_rows("LogSoftmax", "log_softmax", "log_softmax", log_softmax_exact, log_softmax32)


def hardmax(call):  # hardmax.S1 to S3
    x, choose = call.inputs[0], wins(True)
    reals, out = x.reals(), [call.numbers.constant(Fraction(0))] * len(x.data)
    for row in rows(call, "C2"):
        out[row[choose([reals[i] for i in row])]] = call.numbers.constant(Fraction(1))
    return [call.store(out)]


OPERATORS["Hardmax"] = Operator("Hardmax", "hardmax", infer_rows, planned(hardmax), (1, 1), shape="C3", attributes="axis:i")


# Normalization.
def over_root(a, square, gain, bias):
    """a / sqrt(square) * gain + bias, exactly (layer_normalization.S1, S3)."""
    if R.special(square) or square <= 0:
        s = F.function("sqrt", square)
        return R.add(R.mul(R.div(a, s), gain), bias)
    if R.special(a) or R.special(gain) or R.special(bias):
        q = a if R.special(a) else Fraction(R.sign(a))
        p = R.mul(q, gain)
        return bias if R.special(bias) and not R.special(p) else R.add(p, bias)
    square = Fraction(square)
    s = F.exact_root(square)
    p = a * gain
    if s is not None:
        return Fraction(p) / s + bias
    if p == 0:
        return bias

    def interval(bits):
        lo, hi = F.sqrt_interval(square, square, bits)
        lo, hi = (p / hi, p / lo) if p > 0 else (p / lo, p / hi)
        return lo + bias, hi + bias
    return F.Approximate(interval)


def over_root32(n, a, square, gain, bias):
    v = n.div(a, n.function("sqrt", square))
    v = v if gain is None else n.mul(v, gain)
    return v if bias is None else n.add(v, bias)


def normal(n, a, square, gain, bias):
    if n.binary32:
        return over_root32(n, a, square, gain, bias)
    return over_root(a, square, Fraction(1) if gain is None else gain, Fraction(0) if bias is None else bias)


def statistics(n, v, epsilon, centred):
    """(mean, variance + epsilon) of a group."""
    count = n.constant(Fraction(len(v)))
    mean = n.div(n.total(v), count) if centred else None
    d = [n.sub(x, mean) for x in v] if centred else v
    return mean, n.add(n.div(n.total(n.mul(x, x) for x in d), count), epsilon)


EPSILON = f32(1e-5)


def check_epsilon(call, number):
    e = call.attr("epsilon", EPSILON)
    call.require(R.is_finite(e) and e >= 0, number, "epsilon is %r" % e)


@operator("BatchNormalization", "batch_normalization", (5, 5), outputs=(1, 5), shape="C4",
          attributes="epsilon:f momentum:f training_mode:i:14 spatial:i:1:9")
class BatchNormalization:  # batch_normalization.S1 to S3
    @staticmethod
    def infer(call):
        if len(call.declared) > 1 or call.attr("training_mode", 0) != 0:
            raise unsupported("training of BatchNormalization")  # batch_normalization.C5
        call.real_or("C1")
        x = call.dims(0)
        channels = x[1] if len(x) > 1 else 1
        call.require(all(call.dims(i) == (channels,) for i in range(1, 5)) and len(x) > 0, "C2")
        check_epsilon(call, "C3")
        return [x]

    @staticmethod
    def compute(call):
        x = call.inputs[0]
        n = call.numbers
        v, gain, bias, mean, variance = map(n.of, call.inputs)
        epsilon = n.constant(call.attr("epsilon", EPSILON))
        inner, channels = elements(x.dims[2:]), x.dims[1] if len(x.dims) > 1 else 1
        squares = [n.add(s, epsilon) for s in variance]
        out = []
        for i, value in enumerate(v):
            c = i // inner % channels if len(x.dims) > 1 else 0
            out.append(normal(n, n.sub(value, mean[c]), squares[c], gain[c], bias[c]))
        return [call.store(out)]


def grouped(name, stem, inputs, centred, since, outputs=(1, 1)):
    """LayerNormalization and RMSNormalization."""
    def infer(call):
        call.real_or("C1")
        x = call.dims(0)
        a = call.axis("C2", -1, len(x))
        for i in range(1, len(call.inputs)):
            if call.has(i):
                call.require(broadcast(call, "C3", x, call.dims(i)) == x, "C3")
        check_epsilon(call, "C4")
        if call.attr("stash_type", 1) != 1:
            raise unsupported("stash_type %d" % call.attr("stash_type"))
        small = x[:a] + (1,) * (len(x) - a)
        return [x, small, small][:len(call.declared)], [None, FLOAT, FLOAT][:len(call.declared)]

    def compute(call):
        x = call.inputs[0]
        n = call.effective().numbers
        v = n.of(x)
        a = call.axis("C2", -1, len(x.dims))
        epsilon = n.constant(call.attr("epsilon", EPSILON))
        at = [broadcast_index(call.inputs[i].dims, x.dims) if call.has(i) else None for i in (1, 2)]
        gain, bias = n.of(call.inputs[1]), n.of(call.inputs[2]) if call.has(2) else None
        results = [[None] * len(v), [], []]
        for group in lines(x.dims, a, len(x.dims) - a):
            if not group:
                results[1].append(NAN)
                results[2].append(NAN)
                continue
            mean, square = statistics(n, [v[i] for i in group], epsilon, centred)
            results[1].append(mean)
            results[2].append(normal(n, n.constant(1.0), square, None, None) if len(call.outs) > 2 else None)
            for i in group:
                d = n.sub(v[i], mean) if centred else v[i]
                results[0][i] = normal(n, d, square, gain[at[0][i]], bias[at[1][i]] if bias is not None else None)
        return [None if y is None else (call.arithmetic if y.type.real else EXACT).store(y, r)
                for y, r in zip(call.outs, results)]
    OPERATORS[name] = Operator(name, stem, infer, planned(compute), inputs, shape="C5", outputs=outputs, since=since,
                               attributes="axis:i epsilon:f stash_type:i")


grouped("LayerNormalization", "layer_normalization", (2, 3), True, 17, (1, 3))
grouped("RMSNormalization", "rms_normalization", (2, 2), False, 23)


@operator("InstanceNormalization", "instance_normalization", (3, 3), shape="C5", attributes="epsilon:f")
class InstanceNormalization:  # instance_normalization.S1 to S3
    @staticmethod
    def infer(call):
        call.real_or("C1")
        x = call.dims(0)
        call.require(len(x) >= 3, "C2")
        call.require(call.dims(1) == call.dims(2) == (x[1],), "C3")
        check_epsilon(call, "C4")
        return [x]

    @staticmethod
    def compute(call):
        x = call.inputs[0]
        n = call.numbers
        v, gain, bias = map(n.of, call.inputs)
        size, out = elements(x.dims[2:]), []
        for k in range(elements(x.dims[:2])):
            group = v[k * size:(k + 1) * size]
            if group:
                mean, square = statistics(n, group, n.constant(call.attr("epsilon", EPSILON)), True)
                c = k % x.dims[1]
                out += [normal(n, n.sub(t, mean), square, gain[c], bias[c]) for t in group]
        return [call.store(out)]


@operator("GroupNormalization", "group_normalization", (3, 3), shape="C6", since=21, required=("num_groups",),
          attributes="epsilon:f num_groups:i stash_type:i")
class GroupNormalization:  # group_normalization.S1 to S3
    @staticmethod
    def infer(call):
        call.real_or("C1")
        x = call.dims(0)
        call.require(len(x) >= 2, "C2")
        groups = call.attr("num_groups")
        call.require(groups >= 1 and x[1] % groups == 0, "C3", "%d groups of %d channels" % (groups, x[1]))
        call.require(call.dims(1) == call.dims(2) == (x[1],), "C4")
        check_epsilon(call, "C5")
        if call.attr("stash_type", 1) != 1:
            raise unsupported("stash_type %d" % call.attr("stash_type"))
        return [x]

    @staticmethod
    def compute(call):
        x, n = call.inputs[0], call.numbers
        v, gain, bias = map(n.of, call.inputs)
        epsilon = n.constant(call.attr("epsilon", EPSILON))
        plane, out = elements(x.dims[2:]), []
        size = x.dims[1] // call.attr("num_groups") * plane
        for start in range(0, len(v), size or 1):
            group = v[start:start + size]
            mean, square = statistics(n, group, epsilon, True)
            for i, t in enumerate(group, start):
                c = i // plane % x.dims[1]
                out.append(normal(n, n.sub(t, mean), square, gain[c], bias[c]))
        return [call.store(out)]


def over_norm(n, v, squares):
    """lp_normalization.S1 to S3, of one line."""
    if n.binary32 or any(R.special(x) for x in v):
        total = n.total(n.mul(x, x) if squares else abs(x) for x in v)
        norm = n.function("sqrt", total) if squares else total
        return [n.zero if norm == 0 else n.div(x, norm) for x in v]
    total = sum((Fraction(x) * x if squares else abs(Fraction(x)) for x in v), Fraction(0))
    if total == 0:
        return [Fraction(0)] * len(v)
    return [root_over(Fraction(x), total) if squares else x / total for x in v]


def root_over(x, total):
    """x over the root of total: the root of x^2 / total, with the sign of x."""
    root = F.function("sqrt", x * x / total)
    if x >= 0:
        return root
    if isinstance(root, F.Approximate):
        return F.Approximate(lambda bits: tuple(-end for end in reversed(root.interval(bits))))
    return -root


@operator("LpNormalization", "lp_normalization", (1, 1), shape="C4", attributes="axis:i p:i")
class LpNormalization:
    @staticmethod
    def infer(call):
        call.real_or("C1", "DOUBLE")
        call.axis("C2", -1, len(call.dims(0)))
        call.require(call.attr("p", 2) in (1, 2), "C3", "p is %s" % call.attr("p", 2))
        return [call.dims(0)]

    @staticmethod
    def kernel(call):
        x = call.inputs[0]
        return call.plan_kernel("norm", lines=lines(x.dims, call.axis("C2", -1, len(x.dims))))

    @staticmethod
    def compute(call):
        x, n = call.inputs[0], call.numbers
        v, out = n.of(x), [None] * len(x.data)
        for line in lines(x.dims, call.axis("C2", -1, len(x.dims))):
            for i, quotient in zip(line, over_norm(n, [v[i] for i in line], call.attr("p", 2) == 2)):
                out[i] = quotient
        return [call.store(out)]


def lrn_one(n, x, base, beta):
    """lrn.S1, S3, S4: x times base to the power -beta."""
    if n.binary32:
        return n.mul(x, power32(base, f32(-beta)))
    p = power(base, R.exact(-beta))
    if not isinstance(p, F.Approximate):
        return R.mul(x, p)
    if x == 0:
        return Fraction(0)
    x = Fraction(x)
    return F.Approximate(lambda bits: F.product((x, x), p.interval(bits)))


@operator("LRN", "lrn", (1, 1), shape="C5", required=("size",), attributes="alpha:f beta:f bias:f size:i")
class LRN:
    @staticmethod
    def infer(call):
        call.real_or("C1", "DOUBLE")
        call.require(len(call.dims(0)) >= 2, "C2")
        call.require(call.attr("size") >= 1, "C3", "size is %d" % call.attr("size"))
        call.require(all(R.is_finite(call.attr(name, 0.0)) for name in ("alpha", "beta", "bias")), "C4")
        return [call.dims(0)]

    @staticmethod
    def compute(call):
        x, n, size = call.inputs[0], call.numbers, call.attr("size")
        v, out = n.of(x), [None] * len(x.data)
        share = n.constant(Fraction(call.attr("alpha", f32(1e-4))) / size)
        bias, beta = n.constant(call.attr("bias", 1.0)), call.attr("beta", 0.75)
        squares = [n.mul(t, t) for t in v]
        for line in lines(x.dims, 1):
            for c, i in enumerate(line):  # lrn.S2
                window = line[max(0, c - (size - 1) // 2):c + size // 2 + 1]
                base = n.add(n.mul(share, n.total(squares[k] for k in window)), bias)
                out[i] = lrn_one(n, v[i], base, beta)
        return [call.store(out)]
