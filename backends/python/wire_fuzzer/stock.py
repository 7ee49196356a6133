"""Drafts of nodes whose parameters are inputs."""
import struct

from .draft import Type, count


class Stock:
    def make_stock(self):
        """QuantizeLinear and DequantizeLinear."""
        r, x = self.r, self.shape(0, 4)
        vector = len(x) > 0 and r.random() < 0.5
        a = r.randrange(len(x)) if vector else 0
        s = [x[a]] if vector else []
        code = r.choice([2, 3, 2, 3, 4, 5, 22, 21, 17, 19])
        self.opset = max(self.opset, 21 if code in (4, 5, 21, 22) else 19 if code > 16 else 13)
        scales = [struct.unpack("<I", struct.pack("<f", self.scale()))[0] for _ in range(count(s))]
        quantize = self.op == "QuantizeLinear"
        self.value(Type(1) if quantize else Type(code), x)
        self.value(Type(1), s, r.random() < 0.8, scales)
        zero = None
        if code > 16 and code < 21:
            zero = [0] * count(s)
        if r.random() < 0.8 or code != 2:
            self.value(Type(code), s, True, zero)
        if vector:
            self.attr("axis", a)
        return [(Type(code) if quantize else Type(1), x)]

    def make_qlinear(self):
        r = self.r
        code = r.choice([2, 3])

        def three(dims, n=None, zero=True):
            self.value(Type(code), dims, r.random() < 0.3)
            pair([] if n is None else [n])

        def pair(s):
            scales = [struct.unpack("<I", struct.pack("<f", self.scale()))[0] for _ in range(count(s))]
            self.value(Type(1), s, True, scales)
            self.value(Type(code), s, True)
        if self.op == "QLinearConv":
            x, w = [1, 2, r.randint(2, 5)], [3, 2, 2]
            three(x)
            three(w, 3 if r.random() < 0.5 else None)
            pair([])
            if r.random() < 0.5:
                self.value(Type(6), [3], True)
            return [(Type(code), [1, 3, x[2] - 1])]
        m, k, n = r.randint(1, 3), r.randint(1, 6), r.randint(1, 3)
        three([m, k])
        three([k, n], n if r.random() < 0.4 else None)
        pair([])
        return [(Type(code), [m, n])]

    def make_contrib(self):
        """The operators of com.microsoft, MatMulInteger, ConvInteger, DynamicQuantizeLinear."""
        r, op = self.r, self.op
        code = r.choice([2, 3])

        def parameters(n=1):
            self.value(Type(1), [], True, [struct.unpack("<I", struct.pack("<f", self.scale()))[0]])
            self.value(Type(code), [], True)
        if op == "DynamicQuantizeLinear":
            x = self.shape(0, 3)
            self.value(Type(1), x, codes=[struct.unpack("<I",
                                                        struct.pack("<f", r.uniform(-9, 9) * 10 ** r.randint(-3, 3)))[0]
                                          for _ in range(count(x))])
            return [(Type(2), x), (Type(1), []), (Type(2), [])]
        if op == "MatMulInteger":
            m, k, n = r.randint(1, 3), r.randint(0, 5), r.randint(1, 3)
            self.value(Type(code), [m, k])
            self.value(Type(r.choice([2, 3])), [k, n])
            if r.random() < 0.7:
                self.value(Type(code), [m] if r.random() < 0.4 else [])
            return [(Type(6), [m, n])]
        if op == "ConvInteger":
            x, w = [1, 2, 5], [3, 2, 2]
            self.value(Type(code), x)
            self.value(Type(code), w)
            self.value(Type(code), [])
            self.attr("pads", [1, 0])
            return [(Type(6), [1, 3, 5])]
        self.domain = "com.microsoft"
        if op in ("QLinearAdd", "QLinearMul"):
            y = self.shape()
            for d in (y, self.broadcastable(y)):
                self.value(Type(code), d)
                parameters()
            parameters()
            return [(Type(code), y)]
        x = self.shape(1 if op == "QLinearSoftmax" else 3 if "Pool" in op else 0, 4, 0.03 if "Pool" not in op else 0)
        self.value(Type(code), x)
        parameters()
        parameters()
        if op == "QLinearSoftmax":
            self.attr("opset", r.choice([11, 13]))
            self.attr("axis", r.randrange(len(x)))
        if op == "QLinearGlobalAveragePool":
            return [(Type(code), x[:2] + [1] * (len(x) - 2))]
        if op == "QLinearAveragePool":
            kernel = [r.randint(1, d) for d in x[2:]]
            self.attr("kernel_shape", kernel)
            return [(Type(code), x[:2] + [d - k + 1 for d, k in zip(x[2:], kernel)])]
        return [(Type(code), x)]

    def make_q_linear_concat(self):
        r, self.domain = self.r, "com.microsoft"
        y = r.choice([2, 3])
        x = self.shape(1)
        a, total = r.randrange(len(x)), 0
        self.parameters(y, [])
        for _ in range(r.randint(1, 3)):
            code = y if r.random() < 0.6 else r.choice([2, 3])
            d = x[:a] + [r.randint(0, 3)] + x[a + 1:]
            total += d[a]
            self.value(Type(code), d, r.random() < 0.2)
            if code == y and r.random() < 0.5:  # Y's own parameters
                for _, t, dims, _, codes, _ in self.inputs[:2]:
                    self.value(t, dims, True, codes)
            else:
                self.parameters(code, [])
        self.attr("axis", a - len(x) if r.random() < 0.3 else a)
        return [(Type(y), x[:a] + [total] + x[a + 1:])]
