"""Functions of reals, evaluated with as many digits as make their rounding certain (exact.S6)."""
import functools
import math
from fractions import Fraction

from .reals import INF, NAN, exact, exponent, float32, is_nan, pow2, special

LEAST_BITS, MOST_BITS = 96, 8192  # exact.S6
TINY = pow2(-100000)


# An interval is a pair (lo, hi) of Fractions that is certain to hold the value.
class Approximate:
    """A real known by ever narrower intervals."""

    def __init__(self, interval):
        self.interval = interval

    def rounded(self, rounding):
        """What a monotone rounding makes of the real (exact.S6)."""
        bits = LEAST_BITS
        while True:
            lo, hi = self.interval(bits)
            if lo != hi:
                e = exponent(max(abs(lo), abs(hi)))
                lo, hi = outward(lo, hi, max(bits - e, 0))  # significant bits and no more
                lo, hi = lo or TINY, hi or -TINY  # an irrational is not 0, and its sign shows (exact.S9)
            a, b = rounding(lo), rounding(hi)
            if a == b or bits >= MOST_BITS:
                break
            bits = min(bits * 2, MOST_BITS)
        return a if a == b else rounding(simplest_dyadic(lo, hi))


def rounded(x, rounding):
    return x.rounded(rounding) if isinstance(x, Approximate) else rounding(x)


def simplest_dyadic(lo, hi):
    """The number in [lo, hi] with the fewest fractional bits: the tie that 8192 bits could not exclude."""
    bits = 0
    while True:
        n = math.ceil(lo * (1 << bits))
        if n <= hi * (1 << bits):
            return Fraction(n, 1 << bits)
        bits += 1


def outward(lo, hi, bits):
    """The interval with ends of few digits; relative to its size where it is small."""
    floor, below = (lo.numerator << bits) // lo.denominator, (-hi.numerator << bits) // hi.denominator
    return Fraction(floor, 1 << bits), Fraction(-below, 1 << bits)


@functools.lru_cache(None)
def _ln2(w):
    def atanh_inverse(n):
        total, term, k = 0, (1 << w + 16) // n, 1
        while term:
            total += term // k
            term //= n * n
            k += 2
        return total
    return (18 * atanh_inverse(26) - 2 * atanh_inverse(4801) + 8 * atanh_inverse(8749)) >> 16  # error below 1 of 2^-w


@functools.lru_cache(None)
def _pi(w):
    def atan_inverse(n):
        total, term, k = 0, (1 << w + 16) // n, 0
        while term:
            total += (term // (2 * k + 1)) * (-1 if k & 1 else 1)
            term //= n * n
            k += 1
        return total
    return (16 * atan_inverse(5) - 4 * atan_inverse(239)) >> 16


def pi_interval(bits):
    n = _pi(bits + 4)
    return Fraction(n - 2, 1 << bits + 4), Fraction(n + 2, 1 << bits + 4)


LARGE = 50000  # beyond it exp is taken as between 2^70000 and 2^80000, or 0 and 2^-bits


def exp_interval(x, bits):
    """exp of a Fraction, with `bits` significant bits or more."""
    if x == 0:
        return Fraction(1), Fraction(1)
    if x > LARGE:
        return pow2(70000), pow2(80000)
    if x < -LARGE:
        return Fraction(0), pow2(-70000)
    w = bits + 40
    wide = w + 20
    ln2 = _ln2(wide)
    fixed = (x.numerator << wide) // x.denominator
    k = (2 * fixed + ln2) // (2 * ln2)
    r = (fixed - k * ln2) >> 20
    halvings = 8 + int(math.isqrt(w)) // 4
    r >>= halvings
    total = term = 1 << w
    n = 1
    while term:
        term = (term * r >> w) // n
        total += term
        n += 1
        if term == -1:
            break
    error = n + 4
    for _ in range(halvings):
        total = total * total >> w
        error = 2 * error + 2
    # The errors of halving grow by a factor of 2 each (values are near 1 until the last); doubled to be safe.
    error = error * 4 + (abs(k) + 4)
    return (total - error) * pow2(k - w), (total + error) * pow2(k - w)


def ln_interval(lo, hi, bits):
    """ln of an interval above 0."""
    return _ln(lo, bits)[0], _ln(hi, bits)[1]


def _ln(x, bits):
    if x == 1:
        return Fraction(0), Fraction(0)
    w = bits + 40
    k = exponent(x)
    m = x / pow2(k)
    if m > Fraction(3, 2):
        m, k = m / 2, k + 1
    z = (m - 1) / (m + 1)
    z = (z.numerator << w) // z.denominator
    square = z * z >> w
    total, term, n = 0, z, 1
    while term not in (0, -1):
        total += term // n
        term = term * square >> w
        n += 2
    value = 2 * total + k * _ln2(w)
    error = 4 * n + abs(k) + 8
    lo, hi = Fraction(value - error, 1 << w), Fraction(value + error, 1 << w)
    return (max(lo, Fraction(0)), hi) if x > 1 else (lo, min(hi, Fraction(0)))  # its sign is known


def sqrt_interval(lo, hi, bits):
    def floor_root(x):
        w = bits + max(0, -exponent(x)) // 2 + 2 if x else bits
        return math.isqrt((x.numerator << 2 * w) // x.denominator), w
    a, v = floor_root(lo)
    b, w = floor_root(hi)
    return Fraction(a, 1 << v), Fraction(b + 1, 1 << w)


def exact_root(x):
    """The rational root of a Fraction, or None."""
    n, d = math.isqrt(x.numerator), math.isqrt(x.denominator)
    return Fraction(n, d) if n * n == x.numerator and d * d == x.denominator else None


def product(a, b):
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _gauss_interval(x, q, factor, bits):
    """x * factor * exp(-q / 2) * sum q^n / (2n + 1)!!, which is erf(x) for q = 2 x^2 and erf(x / sqrt 2) for q =
    x^2."""
    positive = abs(x)
    if 5 * q > 7 * bits + 40:  # the rest to 1 is below exp(-q / 2)
        lo, hi = 1 - pow2(-bits), Fraction(1)
    else:
        w = bits + 40
        fixed = (q.numerator << w) // q.denominator
        total = term = 1 << w
        n = 1
        while term:
            term = (term * fixed >> w) // (2 * n + 1)
            total += term
            n += 1
        growth = 4 * n * (1 + total >> w)
        error = n * (growth + 4) + 16
        lo, hi = product((Fraction(total - error, 1 << w), Fraction(total + error, 1 << w)), exp_interval(-q / 2, w))
        f = factor(w)
        lo, hi = lo * f[0] * positive, min(hi * f[1] * positive, Fraction(1))
        lo, hi = outward(lo, hi, w + max(0, -exponent(positive)))
    return (lo, hi) if x > 0 else (-hi, -lo)


def erf_interval(x, bits):
    def factor(w):  # 2 / sqrt(pi)
        lo, hi = pi_interval(w)
        a, b = sqrt_interval(lo, hi, w)
        return 2 / b, 2 / a
    return _gauss_interval(x, 2 * x * x, factor, bits)


def gelu_interval(x, bits):
    def factor(w):  # sqrt(2 / pi)
        lo, hi = pi_interval(w)
        return sqrt_interval(2 / hi, 2 / lo, w)
    lo, hi = _gauss_interval(x, x * x, factor, bits)
    return product((x / 2, x / 2), (1 + lo, 1 + hi))


def _over_one_plus(e, bits):
    return outward(1 / (1 + e[1]), 1 / (1 + e[0]), 2 * bits)


def sigmoid_interval(x, bits):
    e = exp_interval(-abs(x), bits)
    share = 1 / (1 + e[1]), 1 / (1 + e[0])
    return share if x > 0 else (share[0] * e[0], share[1] * e[1])


def tanh_of(interval, bits):
    """tanh of an interval."""
    def one(x, up):
        if x == 0:
            return Fraction(0)
        if abs(x) < pow2(-bits // 2):  # 1 - e would cancel; between the first two sums of Taylor's series
            lo, hi = abs(x) - abs(x) ** 3 / 3, abs(x)
        else:
            e = exp_interval(-2 * abs(x), bits + bits // 2)
            lo, hi = (1 - e[1]) / (1 + e[1]), (1 - e[0]) / (1 + e[0])
        return (hi if up else lo) if x > 0 else (-lo if up else -hi)
    return one(interval[0], False), one(interval[1], True)


def gelu_tanh_interval(x, bits):
    lo, hi = pi_interval(bits + 8)
    factor = sqrt_interval(2 / hi, 2 / lo, bits + 8)
    z = product(factor, (x + Fraction(44715, 1000000) * x ** 3,) * 2)
    z = outward(z[0], z[1], bits * 2)
    # 1 + tanh(z) is 2 / (1 + exp(-2 z)), without cancellation.
    if z[0] < -LARGE:
        return (x * pow2(-bits), Fraction(0)) if x < 0 else (Fraction(0), x)
    e = (exp_interval(-2 * z[1], bits)[0], exp_interval(-2 * z[0], bits)[1])
    return product((x, x), (1 / (1 + e[1]), 1 / (1 + e[0])))


def softplus_interval(x, bits):
    e = exp_interval(-abs(x), bits)
    rest = ln_interval(1 + e[0], 1 + e[1], bits) if e[0] > pow2(-bits) else (Fraction(0), e[1])
    return (rest[0] + x, rest[1] + x) if x > 0 else rest


def mish_interval(x, bits):
    # tanh(ln(1 + e)) with e = exp(x) is (e^2 + 2 e) / (e^2 + 2 e + 2).
    e = exp_interval(x if x < 0 else -x, bits)
    if e[1] < pow2(-2 * bits):  # the share is between e - e^2 and e, or 1 - 2 e^2 and 1
        return product((x, x), (e[0] * (1 - pow2(-bits)), e[1]) if x < 0 else (1 - pow2(-bits), 1))
    if x < 0:
        share = [t * (t + 2) / (t * (t + 2) + 2) for t in e]
    else:
        share = [(1 + 2 * t) / (1 + 2 * t + 2 * t * t) for t in reversed(e)]
    return product((x, x), share)


def _turned(x, quarters, bits):
    """sin(x + quarters * pi / 2), within 2^-bits of its size at a small x."""
    w = bits + 40 + max(0, -exponent(x))
    wide = -(-(w + 16 + max(0, exponent(x))) // 64) * 64  # pi for few widths
    pi = _pi(wide)  # within 2 units
    fixed = (x.numerator << wide) // x.denominator
    k = (4 * fixed + pi) // (2 * pi)
    r = (2 * fixed - k * pi) >> wide + 1 - w  # off by k + 2 units of `wide`, and 1 of w
    square = r * r >> w
    odd = k + quarters & 1
    total = term = 1 << w if odd else r
    n = 1 if odd else 2
    while term not in (0, -1):
        term = -(term * square >> w) // (n * (n + 1))
        total += term
        n += 2
    total = -total if k + quarters & 2 else total
    error = 2 * n + 8
    one = 1 << w
    return Fraction(max(total - error, -one), one), Fraction(min(total + error, one), one)


def sin_interval(x, bits):
    return _turned(x, 0, bits)


def cos_interval(x, bits):
    return _turned(x, 1, bits)


def tan_interval(x, bits):
    while True:
        cosine = cos_interval(x, bits)
        if cosine[0] > 0 or cosine[1] < 0:
            return product(sin_interval(x, bits), (1 / cosine[1], 1 / cosine[0]))
        bits *= 2  # x is next to a pole, which no rational number is


def of_positive(interval):
    """An odd function of a Fraction other than 0, by its interval at x > 0."""
    def odd(x, bits):
        lo, hi = interval(abs(x), bits)
        return (lo, hi) if x > 0 else (-hi, -lo)
    return odd


@of_positive
def sinh_interval(x, bits):
    if x >= 1:
        lo, hi = exp_interval(x, bits)
        if x > bits:
            return lo / 2 - pow2(-bits), hi / 2
        return (lo - 1 / lo) / 2, (hi - 1 / hi) / 2
    w = bits + 40 - exponent(x)  # Taylor's series: the difference would cancel
    total = term = (x.numerator << w) // x.denominator
    square = term * term >> w
    n = 2
    while term:
        term = (term * square >> w) // (n * (n + 1))
        total += term
        n += 2
    error = 2 * n + 8  # each term is off by less than 3, the first one by 1
    return Fraction(total - error, 1 << w), Fraction(total + error, 1 << w)


def cosh_interval(x, bits):
    lo, hi = exp_interval(abs(x), bits)
    if abs(x) > bits:
        return lo / 2, hi / 2 + pow2(-bits)
    lo = max(lo, Fraction(1))  # from where on the sum increases
    return (lo + 1 / lo) / 2, (hi + 1 / hi) / 2


def half_pi_interval(bits):
    lo, hi = pi_interval(bits)
    return lo / 2, hi / 2


def _atan(t, bits):
    """The angle, 0 to pi / 2, of a tangent of 0 or more."""
    if t == 0:
        return Fraction(0), Fraction(0)
    if t > 1:
        lo, hi = _atan(1 / t, bits)
        right = half_pi_interval(bits + 4)
        return right[0] - hi, right[1] - lo
    halvings = 8 + math.isqrt(bits) // 4
    w = bits + 40 + halvings - exponent(t)
    one = 1 << w
    z = (t.numerator << w) // t.denominator
    for _ in range(halvings):  # of the angle: half of the error before, and less than 2 units
        z = (z << w) // (one + math.isqrt(one * one + z * z))
    square = z * z >> w
    total, power, n = z, z, 1
    while power:
        power = power * square >> w
        n += 2
        total += power // n if n & 2 == 0 else -(power // n)
    error = 2 * n + 12 << halvings
    total <<= halvings
    return Fraction(total - error, one), Fraction(total + error, one)


def atan_of(interval, bits):
    return _atan(interval[0], bits)[0], _atan(interval[1], bits)[1]


def doubled(interval):
    return 2 * interval[0], 2 * interval[1]


@of_positive
def atan_interval(x, bits):
    return _atan(x, bits)


@of_positive
def asin_interval(x, bits):  # the tangent of half of the angle is x / (1 + its cosine)
    square = 1 - x * x
    cosine = sqrt_interval(square, square, bits + 8)
    return doubled(atan_of((x / (1 + cosine[1]), x / (1 + cosine[0])), bits))


def acos_interval(x, bits):  # the tangent of half of the angle is its sine / (1 + its cosine)
    if x == -1:
        return pi_interval(bits)
    square = (1 - x) / (1 + x)
    return doubled(atan_of(sqrt_interval(square, square, bits + 8), bits))


@of_positive
def asinh_interval(x, bits):  # ln(x + sqrt(x^2 + 1))
    bits += max(0, -exponent(x))
    root = sqrt_interval(x * x + 1, x * x + 1, bits + 8)
    return ln_interval(x + root[0], x + root[1], bits)


def acosh_interval(x, bits):  # ln(x + sqrt(x^2 - 1))
    bits += max(0, -exponent(x - 1))
    root = sqrt_interval(x * x - 1, x * x - 1, bits + 8)
    return ln_interval(x + root[0], x + root[1], bits)


@of_positive
def atanh_interval(x, bits):  # ln((1 + x) / (1 - x)) / 2
    lo, hi = _ln((1 + x) / (1 - x), bits + max(0, -exponent(x)))
    return lo / 2, hi / 2


def swish_interval(x, alpha, bits):
    z = alpha * x
    e = exp_interval(-abs(z), bits)  # x / (1 + e), or x e / (1 + e) where z is negative
    share = (1 / (1 + e[1]), 1 / (1 + e[0])) if z > 0 else (e[0] / (1 + e[0]), e[1] / (1 + e[1]))
    return product((x, x), share)


# Functions of one real: at zero, at minus infinity, at infinity (sigmoid.S3, tanh.S3, ...), elsewhere.
FUNCTIONS = {
    "sigmoid": (Fraction(1, 2), Fraction(0), Fraction(1), sigmoid_interval),
    "tanh": (Fraction(0), Fraction(-1), Fraction(1), lambda x, bits: tanh_of((x, x), bits)),
    "exp": (Fraction(1), Fraction(0), INF, exp_interval),
    "erf": (Fraction(0), Fraction(-1), Fraction(1), erf_interval),
    "gelu": (Fraction(0), Fraction(0), INF, gelu_interval),
    "gelu_tanh": (Fraction(0), Fraction(0), INF, gelu_tanh_interval),
    "softplus": (None, Fraction(0), INF, softplus_interval),
    "mish": (Fraction(0), Fraction(0), INF, mish_interval),
    "sin": (Fraction(0), NAN, NAN, sin_interval),
    "cos": (Fraction(1), NAN, NAN, cos_interval),
    "tan": (Fraction(0), NAN, NAN, tan_interval),
    "sinh": (Fraction(0), -INF, INF, sinh_interval),
    "cosh": (Fraction(1), INF, INF, cosh_interval),
    "asin": (Fraction(0), NAN, NAN, asin_interval),
    "acos": (None, NAN, NAN, acos_interval),
    "atan": (Fraction(0), Approximate(lambda bits: tuple(-e for e in reversed(half_pi_interval(bits)))),
             Approximate(half_pi_interval), atan_interval),
    "asinh": (Fraction(0), -INF, INF, asinh_interval),
    "acosh": (None, NAN, INF, acosh_interval),
    "atanh": (Fraction(0), NAN, NAN, atanh_interval),
    "sqrt": (Fraction(0), NAN, INF, None),
    "log": (-INF, NAN, INF, None),
}

# Where they are defined, and what they are at the ends that have a rational value or a pole.
DOMAINS = {
    "asin": (-1, 1, {}),
    "acos": (-1, 1, {1: Fraction(0)}),
    "acosh": (1, INF, {1: Fraction(0)}),
    "atanh": (-1, 1, {-1: -INF, 1: INF}),
}


def function(name, x):
    """A number, or an Approximate where the value is irrational."""
    at_zero, at_minus_infinity, at_infinity, interval = FUNCTIONS[name]
    if special(x):
        return x if is_nan(x) else at_infinity if x > 0 else at_minus_infinity
    if x == 0 and at_zero is not None:
        return at_zero
    x = Fraction(x)
    if name == "sqrt":
        if x < 0:
            return NAN
        root = exact_root(x)
        return root if root is not None else Approximate(lambda bits: sqrt_interval(x, x, bits))
    if name == "log":
        if x < 0:
            return NAN
        return Fraction(0) if x == 1 else Approximate(lambda bits: _ln(x, bits))
    if name in DOMAINS:
        least, greatest, ends = DOMAINS[name]
        if x in ends or not least <= x <= greatest:
            return ends.get(x, NAN)
    return Approximate(lambda bits: interval(x, bits))


def function32(name, x):
    """The binary32 nearest to the function's value at a binary32 (float32.S8)."""
    return x if name == "sqrt" and x == 0 else _function32(name, x)


@functools.lru_cache(1 << 16)
def _function32(name, x):  # to the cache 0 and -0 are one
    return rounded(function(name, exact(x)), float32)
