"""Numbers that are known as intervals, for results that many irrational steps lead to (exact.S6)."""
from fractions import Fraction

from . import functions as F
from . import reals as R
from .arithmetic.base import ExactNumbers
from .types import unsupported


class Interval(tuple):
    """(lo, hi) with lo < hi: a real between them."""


class Undecided(Exception):
    """The sign of an interval that holds 0 decides, and needs more bits."""


def ends(x):
    return x if isinstance(x, Interval) else (Fraction(x), Fraction(x))


class Intervals(ExactNumbers):
    """The operations of exact numbers; what is irrational becomes an interval of about `bits` significant bits."""

    def __init__(self, bits):
        self.bits = bits

    def within(self, lo, hi):
        if lo == hi:
            return lo
        return Interval(F.outward(lo, hi, max(self.bits - R.exponent(max(abs(lo), abs(hi))), 0)))

    @staticmethod
    def sign(x):
        if not isinstance(x, Interval):
            return x if R.is_nan(x) else R.sign(x)
        if x[0] < 0 < x[1]:
            raise Undecided()
        return 1 if x[1] > 0 else -1

    def neg(self, a):
        return Interval((-a[1], -a[0])) if isinstance(a, Interval) else -a

    def add(self, a, b):
        if not isinstance(a, Interval) and not isinstance(b, Interval):
            return R.add(a, b)
        if R.special(a) or R.special(b):
            return a if R.special(a) else b
        (p, q), (r, s) = ends(a), ends(b)
        return self.within(p + r, q + s)

    def sub(self, a, b):
        return self.add(a, self.neg(b))

    def mul(self, a, b):
        if not isinstance(a, Interval) and not isinstance(b, Interval):
            return R.mul(a, b)
        if R.special(a) or R.special(b):
            return R.mul(*(x if R.special(x) else self.sign(x) for x in (a, b)))
        return self.within(*F.product(ends(a), ends(b)))

    def div(self, a, b):
        if not isinstance(b, Interval):
            return R.div(self.sign(a), b) if b == 0 else self.mul(a, R.div(Fraction(1), b))
        self.sign(b)
        return self.mul(a, self.within(1 / b[1], 1 / b[0]))

    def monotone(self, f, x):
        if not isinstance(x, Interval):
            return f(x)
        return self.within(f(x[0]), f(x[1]))

    def function(self, name, x):
        """A function of FUNCTIONS that increases."""
        if isinstance(x, Interval):
            return self.within(ends(self.function(name, x[0]))[0], ends(self.function(name, x[1]))[1])
        y = F.function(name, x)
        return self.within(*y.interval(self.bits)) if isinstance(y, F.Approximate) else y


def evaluated(compute):
    """The results of compute(numbers), a list: numbers, and Approximates where they are irrational."""
    known = {}

    def results(bits):
        while bits not in known:
            try:
                known[bits] = compute(Intervals(bits))
            except Undecided as e:
                if bits >= F.MOST_BITS:
                    raise unsupported("a product of an infinity and a real that 8192 bits do not tell from 0") from e
                bits = min(2 * bits, F.MOST_BITS)
        return known[bits]

    def approximate(k):
        return F.Approximate(lambda bits: ends(results(bits)[k]))
    return [approximate(k) if isinstance(v, Interval) else v for k, v in enumerate(results(F.LEAST_BITS))]
