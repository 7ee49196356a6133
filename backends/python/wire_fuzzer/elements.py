"""Drafts of element-wise operators, reductions and normalizations."""
import struct

from .draft import QUANTIZED, Type, count


class Elements:
    def make_binary(self):
        a = self.shape()
        b = self.broadcastable(a)
        y = a
        if self.op != "PRelu" and self.r.random() < 0.3:
            a, b = b, a
        t = self.real(a)
        self.value(t, a, self.r.random() < 0.1)
        u = self.real(b)
        codes = None
        if self.op == "Div" and self.kind == "plain":
            codes = [c or 1 for c in self.bits_of(u, count(b))]
        self.value(u, b, self.r.random() < 0.2, codes)
        return self.out(y)

    def make_compare(self):
        a = self.shape()
        b = self.broadcastable(a)
        for d in self.r.sample([a, b], 2):
            self.value(self.real(d), d, self.r.random() < 0.2)
        return [(Type(9), a)]

    def make_logical(self):
        a = self.shape()
        for d in [a] if self.op == "Not" else self.r.sample([a, self.broadcastable(a)], 2):
            self.value(Type(9), d, codes=[self.r.getrandbits(1) for _ in range(count(d))])
        return [(Type(9), a)]

    def make_mod(self):
        fmod = self.r.randint(0, 1)
        self.attr("fmod", fmod)
        if not fmod and self.kind != "plain":
            self.opset = 28
        a = self.shape()
        b = self.broadcastable(a)
        self.value(self.real(a), a)
        u = self.real(b)
        if self.kind == "plain" and u.code == 11 and not fmod:
            self.opset = 28
        codes = [c or 1 for c in self.bits_of(u, count(b))] if self.kind == "plain" else None
        self.value(u, b, self.r.random() < 0.2, codes)
        return self.out(a)

    def make_running(self):
        if self.op == "CumProd":
            self.opset = 26
        x = self.shape(1)
        self.value(self.real(x), x)
        for name in ("exclusive", "reverse"):
            if self.r.random() < 0.5:
                self.attr(name, self.r.randint(0, 1))
        a = self.r.randint(-len(x), len(x) - 1)
        self.value(Type(6), [], self.r.random() < 0.7, [a & 0xffffffff])
        return self.out(x)

    def make_one_hot(self):
        r, x = self.r, self.shape(1, 2)
        depth, a = r.randint(0, 6), r.randint(-len(x) - 1, len(x))
        self.attr("axis", a)
        bits = r.choice([32, 64, 8])
        codes = [r.randint(-depth - 2, depth + 2) & (1 << bits) - 1 for _ in range(count(x))]
        self.value(Type({8: 3, 32: 6, 64: 7}[bits]), x, False, codes)
        self.value(Type(7), [], r.random() < 0.7, [depth])
        self.value(self.real([2]), [2])
        a %= len(x) + 1
        return self.out(x[:a] + [depth] + x[a:])

    def make_lp_norm(self):
        x = self.shape(1)
        self.value(self.real(x), x)
        if self.kind == "plain" and self.one != 11:
            self.kind = "eight"
        self.attr("axis", self.r.randint(-len(x), len(x) - 1))
        self.attr("p", self.r.randint(1, 2))
        return self.out(x)

    def make_lrn(self):
        r, x = self.r, self.shape(2)
        self.value(self.real(x), x)
        if self.kind == "plain" and self.one != 11:
            self.kind = "eight"
        self.attr("size", r.choice([1, 2, 3, 3, 4, 5, 9]))
        for name, choices in {"alpha": [1e-4, 0.7, 1.0, 3.0, 0.0, -0.5], "beta": [0.75, 0.5, 1.0, 2.0, 0.25, -1.0, 0.3, 0.0],
                              "bias": [1.0, 2.0, 0.5, 0.0, -1.0]}.items():
            if r.random() < 0.7:
                self.attr(name, self.f32(r.choice(choices)))
        return self.out(x)

    def make_several(self):
        y = self.shape(1)
        for _ in range(self.r.randint(1, 4)):
            d = self.broadcastable(y)
            self.value(self.real(d), d)
        self.value(self.real(y), y)
        if self.kind == "plain" and self.op in ("Sum", "Mean"):
            self.kind = "eight"
        return self.out(y)

    def make_unary(self):
        d = self.shape()
        self.value(self.real(d), d)
        if self.op in ("LeakyRelu", "HardSigmoid", "Elu") and self.r.random() < 0.7:
            self.attr("alpha", self.f32(self.r.choice([0.1, 0.2, -0.5, 0.0, 1.0, 1.5, 1e-30])))
        for name in {"Celu": ["alpha"], "ThresholdedRelu": ["alpha"], "Swish": ["alpha"], "Selu": ["alpha", "gamma"],
                     "Shrink": ["lambd", "bias"]}.get(self.op, []):
            if self.r.random() < 0.7:
                choices = [0.1, 0.5, 1.0, 1.5, 1e-30] + ([-0.5, 0.0, -0.1] if self.op != "Celu" else [])
                self.attr(name, self.f32(self.r.choice(choices)))
        if self.op == "Gelu":
            self.opset = max(self.opset, 20)
            if self.r.random() < 0.5:
                self.attr("approximate", "tanh")
        self.opset = max(self.opset, {"Mish": 18, "HardSwish": 14, "Celu": 12, "Swish": 24}.get(self.op, 0))
        return self.out(d)

    def make_clip(self):
        d = self.shape()
        self.value(self.real(d), d)
        for _ in range(self.r.randint(0, 2)):
            if self.r.random() < 0.2:
                self.none()
            else:
                self.value(self.real([], None), [], self.r.random() < 0.7)
        return self.out(d)

    def make_cast(self):
        d, r = self.shape(), self.r
        kinds = [self.real(d), Type(r.choice([1, 11, 10, 16, 7, 6, 3, 2, 9, 17, 19])),
                 self.quantized(r.choice(list(QUANTIZED)), d)]
        t = r.choice(kinds)
        self.value(t, d, codes=[r.getrandbits(1) for _ in range(count(d))] if t.code == 9 else None)
        u = r.choice([self.real(d), Type(r.choice([1, 11, 10, 16, 7, 6, 3, 2, 9, 17, 18, 19, 20])), self.quantized(
            r.choice(list(QUANTIZED)), d)])
        self.attr("to", u.code)
        return [(u, d)]

    def make_reduce(self):
        r, x = self.r, self.shape()
        axes = r.sample(range(len(x)), r.randint(0, len(x)))
        keep = r.random() < 0.5
        t = self.real(x)
        self.value(t, x)
        if not keep:
            self.attr("keepdims", 0)
        given = [a - len(x) if r.random() < 0.3 else a for a in axes]
        input_from = 13 if self.op == "ReduceSum" else 18
        if axes:
            if self.opset >= input_from:
                self.ints(given, r.random() < 0.8)
            else:
                self.attr("axes", given)
        else:
            axes = range(len(x))
        y = [1 if k in axes else d for k, d in enumerate(x) if keep or k not in axes]
        return self.like(t, x, y)

    def make_arg(self):
        r, x = self.r, self.shape(1)
        a = r.randrange(len(x))
        self.value(self.real(x), x)
        self.attr("axis", a)
        keep = r.random() < 0.5
        self.attr("keepdims", int(keep))
        if r.random() < 0.3:
            self.attr("select_last_index", 1)
        return [(Type(7), x[:a] + [1] * keep + x[a + 1:])]

    def make_rows(self):
        x = self.shape(1)
        self.value(self.real(x), x)
        if self.r.random() < 0.6:
            self.attr("axis", self.r.randint(-len(x), len(x) - 1))
        return self.out(x)

    def make_norm(self):
        r = self.r
        self.opset = max(self.opset, {"LayerNormalization": 17, "RMSNormalization": 23, "GroupNormalization": 21}.get(self.op, 0))
        if self.op == "BatchNormalization":
            x = [r.randint(1, 2), r.randint(1, 3), *self.shape(0, 2)]
            self.value(self.real(x), x)
            for k in range(4):
                t = self.real([x[1]])
                codes = None
                if k == 3 and t.code == 1:
                    codes = [struct.unpack("<I", struct.pack("<f", r.uniform(0, 4)))[0] for _ in range(x[1])]
                self.value(t, [x[1]], r.random() < 0.7, codes)
        elif self.op in ("InstanceNormalization", "GroupNormalization"):
            groups = r.randint(1, 3)
            x = [r.randint(1, 2), groups * r.randint(1, 2), *self.shape(0 if self.op == "GroupNormalization" else 1, 2)]
            if self.op == "GroupNormalization":
                self.attr("num_groups", groups)
            self.value(self.real(x), x)
            for _ in range(2):
                self.value(self.real([x[1]]), [x[1]], r.random() < 0.7)
        else:
            x = self.shape(1, 4)
            a = r.randint(-len(x), len(x) - 1)
            self.attr("axis", a)
            self.value(self.real(x), x)
            for _ in range(r.randint(1, 2) if self.op == "LayerNormalization" else 1):
                d = (x[a:] if a else x) if r.random() < 0.7 else self.broadcastable(x)
                self.value(self.real(d), d, r.random() < 0.7)
        if r.random() < 0.5:
            self.attr("epsilon", self.f32(r.choice([0.0, 1e-3, 0.5])))
        return self.out(x)
