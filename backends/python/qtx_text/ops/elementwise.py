"""Operators element by element: of two or more operands, and of one."""
import math
from fractions import Fraction

from .. import functions as F
from .. import reals as R
from ..arithmetic import EXACT
from ..arithmetic.base import EXACT_NUMBERS, equal_parameters
from ..reals import INF, NAN, f32, is_nan
from ..types import BOOL, elements
from .core import broadcast, broadcast_index, operator, planned


def declare(name, stem, inputs, infer, plan, **options):
    operator(name, stem, inputs, **options)(type(name, (), {"infer": staticmethod(infer), "plan": staticmethod(plan)}))


def constant(value):
    return f32(value)


# Two operands.
def binary(name, stem, function, sign=0):
    def infer(call):
        call.real_or("C1", "plain")
        dims = broadcast(call, "C2", call.dims(0), call.dims(1))
        if name == "Div" and call.inputs[1].type.kind == "int" and call.inputs[1].type.plain and call.inputs[1].data:
            call.require(0 not in call.inputs[1].data, "C4", "a division by 0")
        return [dims]

    def plan(call):
        a, b, y = *call.inputs, call.outs[0]
        a_at, b_at = broadcast_index(a.dims, y.dims), broadcast_index(b.dims, y.dims)
        kernel = None

        def compute():
            n = call.numbers
            p, q, f = n.of(a), n.of(b), function(n)
            return [call.store([f(p[i], q[j]) for i, j in zip(a_at, b_at)])]

        if sign:
            kernel = call.plan_kernel("sum", a_at=a_at, b_at=b_at, sign=sign)
        elif name == "Mul":
            kernel = call.plan_kernel("product", a_at=a_at, b_at=b_at)
        elif name == "Div":
            kernel = call.plan_kernel("quotient", a_at=a_at, b_at=b_at, otherwise=lambda: compute()[0])
        return (lambda: [kernel()]) if kernel else compute
    declare(name, stem, (2, 2), infer, plan, shape="C3")


binary("Add", "add", lambda n: n.add, 1)   # add.S1 to S4
binary("Sub", "sub", lambda n: n.sub, -1)  # sub.S1 to S4
binary("Mul", "mul", lambda n: n.mul)      # mul.S1 to S4
binary("Div", "div", lambda n: n.div)      # div.S1 to S4


class PRelu:  # p_relu.S1 to S4
    @staticmethod
    def infer(call):
        call.real_or("C1", "plain")
        dims = call.dims(0)
        call.require(broadcast(call, "C2", dims, call.dims(1)) == dims, "C2")
        return [dims]

    @staticmethod
    def compute(call):
        x, slope, y = *call.inputs, call.outs[0]
        n = call.numbers
        p, q = n.of(x), n.of(slope)
        return [call.store([v if v >= 0 else n.mul(q[j], v)
                                     for v, j in zip(p, broadcast_index(slope.dims, y.dims))])]


operator("PRelu", "p_relu", (2, 2), shape="C3")(PRelu)


class Mod:  # mod.S1 to S4
    @staticmethod
    def infer(call):
        a, b = call.inputs
        call.real_or("C1", "plain")
        dims = broadcast(call, "C2", call.dims(0), call.dims(1))
        if b.type.kind == "int" and b.type.plain and b.data:
            call.require(0 not in b.data, "C4", "a division by 0")
        fmod = call.attr("fmod", 0)
        call.require(fmod in (0, 1), "C5", "fmod is %s" % fmod)
        call.require(fmod or call.opset >= 28 or not (a.type.real or a.type.code == 11), "C5", "fmod is 0")
        return [dims]

    @staticmethod
    def compute(call):
        a, b, y = *call.inputs, call.outs[0]
        n, truncates = call.numbers, call.attr("fmod", 0)
        p, q = n.of(a), n.of(b)

        def remainder(v, w):
            if not R.is_finite(v) or is_nan(w) or w == 0:
                return NAN
            if not R.is_finite(w):
                return v if truncates or v == 0 or (v < 0) == (w < 0) else w
            v, w = R.exact(v), R.exact(w)
            return n.constant(Fraction(v - w * (R.toward_zero if truncates else math.floor)(Fraction(v) / w)))
        return [call.store([remainder(p[i], q[j]) for i, j in
                            zip(broadcast_index(a.dims, y.dims), broadcast_index(b.dims, y.dims))])]


operator("Mod", "mod", (2, 2), shape="C3", attributes="fmod:i", since=10)(Mod)


# Two operands, to BOOL.
def comparison(name, stem, holds, since, *also):  # equal.S1 to S3, greater.S1 to S3, ...
    def infer(call):
        call.real_or("C1", "plain", *also, operands=call.inputs, results=())
        call.require(call.declared[0][0] in (None, BOOL), "C2")
        return [broadcast(call, "C3", call.dims(0), call.dims(1))], [BOOL]

    def compute(call):
        a, b, y = *call.inputs, call.outs[0]
        n = call.arithmetic.numbers if a.type.real else EXACT_NUMBERS
        p, q = n.of(a), n.of(b)
        pairs = zip(broadcast_index(a.dims, y.dims), broadcast_index(b.dims, y.dims))
        return [[int(holds(p[i], q[j])) for i, j in pairs]]
    declare(name, stem, (2, 2), infer, planned(compute), shape="C4", operands=(), since=since)


comparison("Equal", "equal", lambda a, b: a == b, 7, "BOOL")
comparison("Greater", "greater", lambda a, b: a > b, 7)
comparison("Less", "less", lambda a, b: a < b, 7)
comparison("GreaterOrEqual", "greater_or_equal", lambda a, b: a >= b, 12)
comparison("LessOrEqual", "less_or_equal", lambda a, b: a <= b, 12)


def logical(name, stem, holds, inputs, shape):  # and.S1, and.S2, or.S1, or.S2, xor.S1, xor.S2, not.S1
    def infer(call):
        types = [x.type for x in call.inputs] + [t for t, *_ in call.declared if t is not None]
        call.require(all(t is BOOL for t in types), "C1")
        return [broadcast(call, "C2", *[call.dims(i) for i in range(inputs)])], [BOOL]

    def compute(call):
        y = call.outs[0]
        at = [broadcast_index(x.dims, y.dims) for x in call.inputs]
        return [[int(holds(*[x.data[i] != 0 for x, i in zip(call.inputs, element)])) for element in zip(*at)]]
    declare(name, stem, (inputs, inputs), infer, planned(compute), shape=shape, operands=(), since=7 if inputs > 1 else 1)


logical("And", "and", lambda a, b: a and b, 2, "C3")
logical("Or", "or", lambda a, b: a or b, 2, "C3")
logical("Xor", "xor", lambda a, b: a != b, 2, "C3")
logical("Not", "not", lambda a: not a, 1, "C2")


# Several operands.
def wins(greatest):
    """The index of the greatest (least) of numbers, the first of equal ones; that of the first NaN where there is
    one."""
    def choose(numbers):
        best = 0
        for k, v in enumerate(numbers):
            if is_nan(v):
                return k
            if v > numbers[best] if greatest else v < numbers[best]:
                best = k
        return best
    return choose


def store_winners(arithmetic, y, chosen, positions=None):
    """Elements (tensor, index) that won, as elements of y: with y's parameters exactly in every arithmetic (max_pool,
    max)."""
    if arithmetic.numbers is EXACT_NUMBERS:
        return arithmetic.store(y, [x.reals()[i] for x, i in chosen], positions)
    out = []
    for k, (x, i) in zip(positions if positions is not None else range(len(chosen)), chosen):
        if equal_parameters(x, i, y, k):
            out += EXACT.store(y, [x.reals()[i]], [k])
        else:
            out += arithmetic.store(y, [arithmetic.numbers.of(x)[i]], [k])
    return out


def several(name, stem, combine, also):
    def infer(call):
        call.real_or("C1", also)
        return [broadcast(call, "C2", *[call.dims(i) for i in range(len(call.inputs))])]

    def compute(call):
        y = call.outs[0]
        at = [broadcast_index(x.dims, y.dims) for x in call.inputs]
        if name in ("Max", "Min"):  # max.S1 to S3, min.S1 to S3
            choose = wins(name == "Max")
            reals = [x.reals() for x in call.inputs]
            chosen = []
            for element in zip(*at):
                k = choose([r[i] for r, i in zip(reals, element)])
                chosen.append((call.inputs[k], element[k]))
            return [store_winners(call.effective(), y, chosen)]
        n = call.numbers
        numbers = [n.of(x) for x in call.inputs]
        return [call.store([combine(n, [v[i] for v, i in zip(numbers, element)]) for element in zip(*at)])]
    declare(name, stem, (1, 1 << 20), infer, planned(compute), shape="C3")


several("Max", "max", None, "plain")
several("Min", "min", None, "plain")
several("Sum", "sum", lambda n, v: n.total(v), "DOUBLE")                                      # sum.S1 to S3
several("Mean", "mean", lambda n, v: n.div(n.total(v), n.constant(Fraction(len(v)))), "DOUBLE")  # mean.S1 to S3


class Where:  # where.S1, S2
    @staticmethod
    def infer(call):
        call.require(call.inputs[0].type.name == "BOOL", "C1")
        call.follows("C2", 1, 2)
        return [broadcast(call, "C3", *[call.dims(i) for i in range(3)])]

    @staticmethod
    def moved(call):
        return call.inputs[1:]

    @staticmethod
    def compute(call):
        c, x, y = call.inputs
        z = call.outs[0]
        at = [broadcast_index(t.dims, z.dims) for t in (c, x, y)]
        out = [None] * elements(z.dims)
        for t, indices, wanted in ((x, at[1], 1), (y, at[2], 0)):
            positions = [k for k, i in enumerate(at[0]) if c.data[i] == wanted]
            moved = call.effective().move(t, [indices[k] for k in positions], z, positions)
            for k, v in zip(positions, moved):
                out[k] = v
        return [out]


operator("Where", "where", (3, 3), shape="C4", operands=(1, 2), since=9)(Where)


# One operand.
def unary(name, stem, number, also="DOUBLE", attributes="", kernel=None, check=None, since=1):
    """An operator whose result is number(numbers, call)(x) for each element x."""
    def infer(call):
        call.real_or("C1", also)
        if check:
            check(call)
        return [call.inputs[0].dims]

    def compute(call):
        f = number(call.numbers, call)
        numbers = call.numbers.of(call.inputs[0])
        table = {v: f(v) for v in set(numbers) if v == v and v != 0}
        return [call.store([table[v] if v in table else f(v) for v in numbers])]
    kernel = kernel or (lambda call: call.plan_kernel("function", name=name.lower()))
    declare(name, stem, (1, 1), infer, planned(compute, kernel=kernel), shape="C2", attributes=attributes, since=since)


def function(name):
    return lambda n, call: lambda x: n.function(name, x)


def relu(n, call):  # relu.S1, S2
    return lambda x: x if x > 0 or is_nan(x) else n.zero


def leaky_relu(n, call):  # leaky_relu.S1 to S3
    alpha = n.constant(call.attr("alpha", constant(0.01)))
    return lambda x: x if x >= 0 else n.mul(alpha, x)


def hard_swish(n, call):  # hard_swish.S1 to S4
    def f(x):
        if n.binary32:
            t = n.add(n.mul(x, float.fromhex("0x1.555556p-3")), 0.5)
            return n.mul(x, t if is_nan(t) else max(0.0, min(1.0, t)))
        if R.special(x):
            return x if is_nan(x) or x > 0 else n.zero
        return x * max(0, min(1, Fraction(x) / 6 + Fraction(1, 2)))
    return f


def hard_sigmoid(n, call):  # hard_sigmoid.S1 to S3
    alpha, beta = n.constant(call.attr("alpha", constant(0.2))), n.constant(call.attr("beta", 0.5))

    def f(x):
        t = n.add(n.mul(alpha, x), beta)
        return t if is_nan(t) else max(n.zero, min(n.constant(1), t))
    return f


def finite(number, *names):
    def check(call):
        for name in names:
            call.require(R.is_finite(call.attr(name, 0.0)), number, name + " is not finite")
    return check


def gelu(n, call):  # gelu.S1 to S4
    return function("gelu_tanh" if call.text("approximate", "none") == "tanh" else "gelu")(n, call)


def check_gelu(call):
    call.require(call.text("approximate", "none") in ("none", "tanh"), "C3")


def reciprocal(n, call):  # reciprocal.S1, S2
    if n.binary32:
        return lambda x: n.div(1.0, x)
    return lambda x: INF if x == 0 else n.div(Fraction(1), x)


def whole(rounded):
    """To an integer, of numbers that are finite."""
    return lambda n, call: lambda x: n.constant(Fraction(rounded(R.exact(x)))) if R.is_finite(x) else x


def sign(n, call):  # sign.S1, S2
    return lambda x: x if is_nan(x) else n.constant(Fraction((x > 0) - (x < 0)))


def elu(n, call):  # elu.S1 to S3
    alpha = call.attr("alpha", 1.0)

    def value(x):
        a = R.exact(alpha)
        if R.special(x):
            return -a if x < 0 else x
        if x >= 0 or a == 0:
            return x if x >= 0 else Fraction(0)
        x = Fraction(x)
        return F.Approximate(lambda bits: F.product((a, a), tuple(e - 1 for e in F.exp_interval(x, bits))))
    if n.binary32:
        return lambda x: x if x >= 0 or is_nan(x) else F.rounded(value(R.exact(x)), R.float32)
    return value


def once(value):
    """One operation of binary32: the exact result of value(call) rounded once (float32.S8)."""
    def number(n, call):
        f = value(call)
        return (lambda x: F.rounded(f(R.exact(x)), R.float32)) if n.binary32 else f
    return number


def softsign(call):  # softsign.S1 to S3
    def f(x):
        if R.special(x):
            return x if is_nan(x) else Fraction(1 if x > 0 else -1)
        return Fraction(x) / (1 + abs(Fraction(x)))
    return f


def below_zero(x, factor, divisor=1):
    """factor * (exp(x / divisor) - 1) of a number below zero."""
    if factor == 0 or R.special(x):
        return Fraction(0) if factor == 0 else -factor
    power = Fraction(x) / divisor
    return F.Approximate(lambda bits: F.product((factor, factor), tuple(e - 1 for e in F.exp_interval(power, bits))))


def selu(call):  # selu.S1 to S3
    early = call.opset < 6
    alpha = R.exact(call.attr("alpha", constant(1.6732 if early else 1.67326319217681884765625)))
    gamma = R.exact(call.attr("gamma", constant(1.0507 if early else 1.05070102214813232421875)))
    return lambda x: below_zero(x, gamma * alpha) if x < 0 else R.mul(gamma, x)


def celu(call):  # celu.S1 to S3
    alpha = R.exact(call.attr("alpha", 1.0))
    return lambda x: below_zero(x, alpha, alpha) if x < 0 else x


def thresholded_relu(call):  # thresholded_relu.S1 to S3
    alpha = R.exact(call.attr("alpha", 1.0))
    return lambda x: Fraction(0) if x <= alpha else x


def swish(call):  # swish.S1 to S3
    alpha = R.exact(call.attr("alpha", 1.0))

    def f(x):
        if R.special(x):
            return Fraction(0) if (x > 0) != (alpha > 0) and alpha and not is_nan(x) else x
        x = Fraction(x)
        if alpha * x == 0:
            return x / 2
        return F.Approximate(lambda bits: F.swish_interval(x, alpha, bits))
    return f


def shrink(call):  # shrink.S1 to S3
    lambd, bias = R.exact(call.attr("lambd", 0.5)), R.exact(call.attr("bias", 0.0))

    def f(x):
        if R.special(x):
            return x
        return Fraction(x) + bias if x < -lambd else Fraction(x) - bias if x > lambd else Fraction(0)
    return f


def check_celu(call):
    alpha = call.attr("alpha", 1.0)
    call.require(R.is_finite(alpha) and alpha > 0, "C3", "alpha is not more than 0")


unary("Relu", "relu", relu, "plain", kernel=lambda call: call.plan_kernel("relu"))
unary("LeakyRelu", "leaky_relu", leaky_relu, attributes="alpha:f", check=finite("C3", "alpha"),
      kernel=lambda call: call.plan_kernel("leaky_relu", alpha=call.attr("alpha", constant(0.01))))
unary("HardSwish", "hard_swish", hard_swish, since=14)
unary("HardSigmoid", "hard_sigmoid", hard_sigmoid, attributes="alpha:f beta:f", check=finite("C3", "alpha", "beta"))
unary("Abs", "abs", lambda n, call: abs, "plain")                 # abs.S1, S2
unary("Neg", "neg", lambda n, call: n.neg, "plain")               # neg.S1, S2
unary("Floor", "floor", whole(math.floor))                        # floor.S1, S2
unary("Ceil", "ceil", whole(math.ceil))                           # ceil.S1, S2
unary("Round", "round", whole(R.half_even), since=11)             # round.S1, S2
unary("Sign", "sign", sign, "plain", since=9)                     # sign.S1, S2
unary("Reciprocal", "reciprocal", reciprocal)
unary("Elu", "elu", elu, attributes="alpha:f", check=finite("C3", "alpha"))
unary("Gelu", "gelu", gelu, attributes="approximate:s", check=check_gelu, since=20)
unary("Softsign", "softsign", once(softsign))
unary("Selu", "selu", once(selu), attributes="alpha:f gamma:f", check=finite("C3", "alpha", "gamma"))
unary("Celu", "celu", once(celu), attributes="alpha:f", check=check_celu, since=12)
unary("ThresholdedRelu", "thresholded_relu", once(thresholded_relu), attributes="alpha:f", check=finite("C3", "alpha"),
      since=10)
unary("Swish", "swish", once(swish), attributes="alpha:f", check=finite("C3", "alpha"), since=24)
unary("Shrink", "shrink", once(shrink), attributes="lambd:f bias:f", check=finite("C3", "lambd", "bias"), since=9)
for _name, _since in (("Sigmoid", 1), ("Tanh", 1), ("Exp", 1), ("Erf", 9), ("Sqrt", 1), ("Log", 1), ("Softplus", 1),
                      ("Mish", 18), ("Sin", 7), ("Cos", 7), ("Tan", 7), ("Sinh", 9), ("Cosh", 9), ("Asin", 7),
                      ("Acos", 7), ("Atan", 7), ("Asinh", 9), ("Acosh", 9), ("Atanh", 9)):
    unary(_name, _name.lower(), function(_name.lower()),
          since=_since)  # sigmoid.S1, tanh.S1, exp.S1, erf.S1, sqrt.S1, ...


class Clip:  # clip.S1 to S4
    @staticmethod
    def infer(call):
        call.real_or("C1", "plain")
        attributes = [k for k in ("min", "max") if k in call.attrs]
        for i, k in ((1, "min"), (2, "max")):
            if call.has(i):
                t = call.inputs[i]
                call.require(t.dims is None or len(t.dims) == 0 or list(t.dims) == [1], "C2", "%s is no scalar" % k)
                call.require(k not in attributes, "C4")
        call.require(not attributes or call.opset < 11 and call.inputs[0].type.real, "C4")
        return [call.inputs[0].dims]

    @staticmethod
    def kernel(call):
        return call.plan_kernel("relu6")

    @staticmethod
    def compute(call):
        n = call.numbers

        def bound(i, name, absent):
            if call.has(i):
                return n.of(call.inputs[i])[0]
            return n.constant(call.attrs[name]) if name in call.attrs else absent
        least, greatest = bound(1, "min", -INF), bound(2, "max", INF)

        def f(v):
            if is_nan(v):
                return NAN
            v = least if v < least else v  # a bound that is NaN does not bound
            return greatest if greatest < v else v
        return [call.store([f(v) for v in n.of(call.inputs[0])])]


operator("Clip", "clip", (1, 3), shape="C3", attributes="min:f:1:11 max:f:1:11")(Clip)


def check_cast(call, to):
    """cast.C4 and cast_like.C4, of a result of type `to`."""
    saturate = call.attr("saturate", 1)
    call.require(saturate in (0, 1) and not (to.quantized and to.kind == "small" and saturate == 0), "C4")
    call.require(call.text("round_mode", "up") in ("up", "down", "nearest"), "C4")


class Cast:  # cast.S1 to S10
    @staticmethod
    def infer(call):
        x = call.inputs[0]
        to = call.attr("to")
        types = [x.type] + [t for t, *_ in call.declared if t is not None]
        call.require(not any(t.kind == "complex" for t in types) and to not in (14, 15), "C1")
        call.supported(0)
        from ..types import TYPES
        call.require(to in TYPES, "C2", "to is %s" % to)
        if TYPES[to].kind == "string":
            from .core import unsupported
            raise unsupported("a Cast to STRING")
        declared = call.declared[0][0]
        call.require(declared is None or declared.code == to, "C2", "y is not of the type that `to` names")
        call.require(declared is not None or not TYPES[to].quantized, "C2", "y is not declared")
        check_cast(call, TYPES[to])
        return [x.dims], [TYPES[to]]

    @staticmethod
    def plan(call):
        x, y = call.inputs[0], call.outs[0]
        if x.quant is None and y.quant is None:
            return lambda: [[cast_plain(v, x.type, y.type, call) for v in x.data]]
        if not y.type.real:
            small = y.type.kind == "small" and call.arithmetic.numbers.binary32  # cast.S9
            return lambda: [[cast_plain(v, None, y.type, call) for v in (x.floats() if small else x.reals())]]
        own = call.plan_kernel("cast")
        if own:
            return lambda: [own()]

        def compute():
            n = call.numbers
            return [call.store(n.of(x))]
        return compute


operator("Cast", "cast", (1, 1), shape="C3", attributes="to:i saturate:i:19 round_mode:s:24", required=("to",))(Cast)


class CastLike(Cast):  # cast_like.S1
    @staticmethod
    def infer(call):
        x, like = call.inputs
        declared = call.declared[0][0]
        call.require(not any(t is not None and t.kind == "complex" for t in (x.type, like.type, declared)), "C1")
        call.supported(0, 1)
        call.require(declared in (None, like.type), "C2", "y is not of the type of like")
        check_cast(call, like.type)
        return [x.dims], [like.type]


operator("CastLike", "cast_like", (2, 2), shape="C3", attributes="saturate:i:19 round_mode:s:24", operands=(0,),
         since=15)(CastLike)


def cast_plain(v, source, to, call):
    """A value as an element of a type that is not quantized, in every arithmetic the same (cast.S5 to S10)."""
    from ..arithmetic.base import store_plain
    saturate = call.attr("saturate", 1) != 0
    v = R.exact(v) if type(v) is float else v
    if to.kind == "small":
        return small_float(v, to, saturate)
    if to.kind == "e8m0":
        return power_of_two(v, saturate, call.text("round_mode", "up"))
    return store_plain(to, v)


def small_float(v, to, saturate):  # cast.S9, quantize_linear.S5
    if is_nan(v):
        return 0.0 if to.code == 23 else NAN
    value = to.small.nearest(v, saturate or to.code == 23)
    return value if value not in (INF, -INF) or to.small.infinity is not None else NAN


def power_of_two(v, saturate, mode):  # cast.S10
    if is_nan(v) or v < 0:
        return NAN
    lo, hi = R.pow2(-127), R.pow2(127)
    if v < lo or v > hi:
        return NAN if not saturate else float(lo if v < lo else hi)
    down = R.pow2(R.exponent(v))
    if v == down or mode == "down":
        return float(down)
    return float(down * 2 if mode == "up" or 2 * v >= 3 * down else down)
