"""Drafts of Conv, MatMul, Gemm and pooling."""
import math
import struct

from .draft import QUANTIZED, Type


class Windows:
    def conv_attributes(self, spatial, kernel, pool=False):
        r, n = self.r, len(spatial)
        stride = [r.choice([1, 1, 2, 3]) for _ in range(n)]
        dilation = [r.choice([1, 1, 1, 2]) for _ in range(n)]
        if any(s != 1 for s in stride) or r.random() < 0.3:
            self.attr("strides", stride)
        if any(s != 1 for s in dilation):
            if pool and self.op == "AveragePool" and self.opset < 19:
                dilation = [1] * n
            else:
                self.attr("dilations", dilation)
        pads = [0] * 2 * n
        mode = r.choices(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"], [7, 1, 1, 1])[0]
        if mode != "NOTSET":
            self.attr("auto_pad", mode)
        elif r.random() < 0.6:
            pads = [r.randint(0, min(k - 1, 2)) for k in kernel * 2]
            self.attr("pads", pads)
        return stride, dilation, pads, mode

    @staticmethod
    def sizes(spatial, kernel, stride, dilation, pads, mode, ceil=False):
        out, n = [], len(spatial)
        for a in range(n):
            k = dilation[a] * (kernel[a] - 1) + 1
            if mode.startswith("SAME"):
                out.append(-(-spatial[a] // stride[a]))
                continue
            room = spatial[a] + (pads[a] + pads[a + n] if mode == "NOTSET" else 0) - k
            m = (-(-room // stride[a]) if ceil else room // stride[a]) + 1
            if ceil and (m - 1) * stride[a] >= spatial[a] + (pads[a] if mode == "NOTSET" else 0):
                m -= 1
            out.append(m)
        return out

    def make_conv(self):
        r = self.r
        n = r.choice([1, 2, 2, 2, 3])
        group = r.choice([1, 1, 1, 2, 3])
        per, m = (1 if group > 1 and r.random() < 0.6 else r.randint(1, 3)), group * r.randint(1, 2)
        spatial = [r.randint(1, 6) for _ in range(n)]
        kernel = [r.randint(1, min(3, s)) for s in spatial]
        x = [r.choice([1, 1, 2, 0] if r.random() < 0.1 else [1, 2]), per * group, *spatial]
        w = [m, per, *kernel]
        if group > 1:
            self.attr("group", group)
        stride, dilation, pads, mode = self.conv_attributes(spatial, kernel)
        y = [x[0], m, *self.sizes(spatial, kernel, stride, dilation, pads, mode)]
        self.value(self.real(x), x)
        self.value(self.real(w, 0, True), w, r.random() < 0.8)
        self.bias(m)
        return self.out(y, 1)

    def make_conv_transpose(self):
        r = self.r
        n, group = r.choice([1, 1, 2]), r.choice([1, 1, 2])
        per, cin = r.randint(1, 2), group * r.randint(1, 2)
        spatial, kernel = [r.randint(1, 4) for _ in range(n)], [r.randint(1, 3) for _ in range(n)]
        stride = [r.choice([1, 2, 3]) for _ in range(n)]
        if group > 1:
            self.attr("group", group)
        self.attr("strides", stride)
        full = [s * (i - 1) + k for s, i, k in zip(stride, spatial, kernel)]
        pads = [0] * 2 * n
        if r.random() < 0.4:
            pads = [r.randint(0, 1) for _ in range(2 * n)]
            self.attr("pads", pads)
        y = [r.randint(1, 2), group * per, *[f - pads[a] - pads[a + n] for a, f in enumerate(full)]]
        x, w = [y[0], cin, *spatial], [cin, per, *kernel]
        self.value(self.real(x), x)
        self.value(self.real(w, 1, True), w, r.random() < 0.8)
        self.bias(group * per)
        return self.out(y, 1)

    def bias(self, m, dims=None):
        """A bias: INT32Q whose scale may be the product, FLOAT, or anything."""
        r = self.r
        dims = [m] if dims is None else dims
        choice = r.random()
        if choice < 0.4:
            return
        if self.kind == "plain":
            return self.value(self.real(dims), dims)
        if choice < 0.85:
            x, w = self.inputs[0][1].q, self.inputs[1][1].q
            t = Type(1006, {"scale": [self.scale()]})
            if x and w and len(x["scale"]) == 1:
                products = [x["scale"][0] * s for s in w["scale"]]
                if len(products) > 1 and len(products) == m and dims == [m]:
                    t.q["axis"] = [0]
                else:
                    products = products[:1]
                if all(2.0 ** -149 <= p <= 3e38 for p in products) and r.random() < 0.8:
                    t.q["scale"] = [self.f32(p) for p in products]
                else:
                    t.q.pop("axis", None)
            return self.value(t, dims, r.random() < 0.8)
        return self.value(self.real(dims) if choice < 0.93 else Type(1), dims, r.random() < 0.7)

    def block_product(self, transposed):
        """A product that ggml.S1 takes, or nearly."""
        r = self.r
        k, n = 32 * r.choice([1, 1, 2, 3]), r.randint(1, 4)
        a = self.shape(0, 1, 0.03) + [r.randint(1, 3), k] if not transposed else [r.randint(1, 3), k]
        if not transposed and r.random() < 0.1:
            a = [k]
        code, _, lo, hi = QUANTIZED[r.choice(["INT4Q", "INT8Q"])]
        along, block = (1 if transposed else 0), r.choice([32, 32, 32, 32, 32, 64, 16])
        b = [n, k] if transposed else [k, n]
        halves = [2.0 ** -24, 65504.0, 0.03125, 0.1 if r.random() < 0.1 else 0.75, r.randint(1024, 2047) * 2.0 ** -16]
        q = {"axis": [0, 1], "block_shape": [1, block] if transposed else [block, 1],
             "scale": [self.f32(r.choice(halves)) for _ in range(-(-k // block) * n)]}
        if r.random() < 0.1:
            q = {"scale": [r.choice(halves[:3])]}
        if r.random() < 0.06:
            q["offset"] = [r.randint(lo, hi) for _ in q["scale"]]
        x = [struct.unpack("<I", struct.pack("<f", v))[0] for v in self.block_values(math.prod(a))]
        self.value(Type(1), a, False, x if r.random() < 0.9 else None)
        self.value(Type(code, q), b, r.random() < 0.95)
        return [(Type(1) if r.random() < 0.95 else self.real([]), a[:-1] + [n])]

    def block_values(self, n):
        r, style = self.r, self.r.random()
        if style < 0.3:
            return [self.f32(r.gauss(0, 1)) for _ in range(n)]
        if style < 0.6:  # ties of a step of 2^e
            e = r.randint(-20, 16)
            return [r.choice([127.0, r.randint(-254, 254) / 2]) * 2.0 ** e for _ in range(n)]
        if style < 0.8:
            return [self.f32(r.gauss(0, 1) * 10.0 ** r.uniform(-44, 36)) for _ in range(n)]
        special = [math.nan, math.inf, -math.inf, -0.0, 0.0, 2.0 ** -149]
        return [r.choice(special) if r.random() < 0.05 else self.f32(r.gauss(0, 4)) for _ in range(n)]

    def make_matmul(self):
        r = self.r
        if self.arithmetic.startswith("ggml") and r.random() < 0.6:
            return self.block_product(False)
        k, m, n = r.choice([0, 1, 2, 3, 4, 7]) if r.random() < 0.2 else r.randint(1, 6), r.randint(1, 4), r.randint(1,
                                                                                                                    4)
        lead = self.shape(0, 2, 0.03) if r.random() < 0.3 else []
        a, b = lead + [m, k], ([d if r.random() < 0.5 else 1 for d in lead] if r.random() < 0.5 else []) + [k, n]
        y = lead + [m, n]
        if r.random() < 0.08:
            a, y = [k], (lead if len(b) > 2 else []) + [n]
            b = b[-2:]
            y = [n]
        self.value(self.real(a), a)
        self.value(self.real(b, len(b) - 1, True), b, r.random() < 0.6)
        return self.out(y)

    def make_gemm(self):
        r = self.r
        if self.arithmetic.startswith("ggml") and r.random() < 0.5:
            if r.random() < 0.7:
                self.attr("transB", 1)
                return self.block_product(True)
            return self.block_product(False)
        m, k, n = r.randint(1, 4), r.randint(1, 5), r.randint(1, 4)
        ta, tb = r.random() < 0.3, r.random() < 0.5
        a, b = ([k, m] if ta else [m, k]), ([n, k] if tb else [k, n])
        if ta:
            self.attr("transA", 1)
        if tb:
            self.attr("transB", 1)
        if r.random() < 0.2:
            self.attr("alpha", self.f32(r.choice([0.5, 1.0, 0.3, -2.0])))
        if r.random() < 0.2:
            self.attr("beta", self.f32(r.choice([0.5, 1.0, 0.3, 0.0])))
        self.value(self.real(a), a)
        self.value(self.real(b, 0 if tb else 1, True), b, r.random() < 0.8)
        self.bias(n, r.choice([[n], [n], [1, n], [m, 1], [m, n], [], [1]]))
        return self.out([m, n])

    def make_pool(self):
        r = self.r
        n = r.choice([1, 2, 2, 3])
        spatial = [r.randint(1, 6) for _ in range(n)]
        kernel = [r.randint(1, min(4, s)) for s in spatial]
        if r.random() < 0.15:
            kernel = list(spatial)
        x = [r.randint(1, 2), r.randint(1, 3), *spatial]
        self.attr("kernel_shape", kernel)
        stride, dilation, pads, mode = self.conv_attributes(spatial, kernel, True)
        ceil = r.random() < 0.25
        if self.op == "LpPool":
            self.opset = max(self.opset, 18)
            self.attr("p", r.randint(1, 4))
        if ceil:
            self.attr("ceil_mode", 1)
        if self.op == "AveragePool" and r.random() < 0.4:
            self.attr("count_include_pad", 1)
        t = self.real(x)
        self.value(t, x)
        y = x[:2] + self.sizes(spatial, kernel, stride, dilation, pads, mode, ceil)
        return self.like(t, x, y)

    def make_global(self):
        x = self.shape(3, 5, 0.02)
        t = self.real(x)
        self.value(t, x)
        return self.like(t, x, x[:2] + [1] * (len(x) - 2))
