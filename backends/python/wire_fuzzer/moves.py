"""Drafts of data movement, Resize, TopK, and of elements that indices name."""
import math
import struct

from .draft import Type, count


class Moves:
    def make_concat(self):
        r, x = self.r, self.shape(1)
        a = r.randrange(len(x))
        total = 0
        t = None
        for _ in range(r.randint(1, 3)):
            d = list(x)
            d[a] = r.randint(0, 3)
            total += d[a]
            t = self.real(d)
            self.value(t, d, r.random() < 0.1)
        self.attr("axis", a)
        return self.like(t, x, x[:a] + [total] + x[a + 1:])

    def make_constant(self):
        r = self.r
        name = r.choice(["value", "value", "value", "value_int", "value_ints", "value_float", "value_floats"])
        several, number = name.endswith("s"), name.startswith("value_i")
        if name == "value":
            x = self.shape()
            t = self.real(x)
            codes = self.within(t, self.bits_of(t, count(x)))
            self.attrs.append({"name": name, "type": 4, "t": self.stored("", t, x, codes)})
            return [(t, x)]
        numbers = [r.randint(-2 ** 63, 2 ** 63 - 1) if number else self.f32(r.uniform(-9, 9))
                   for _ in range(r.randint(0, 5) if several else 1)]
        self.attrs.append({"name": name, "type": (2 if number else 1) + 5 * several,
                           name[6:] if several else name[6]: numbers if several else numbers[0]})
        return [(Type(7 if number else 1), [len(numbers)] if several else [])]

    def make_dimensions(self):
        r, x = self.r, self.shape()
        self.value(self.real(x), x)
        self.opset = max(self.opset, 15)
        bounds = {name: r.randint(-7, 7) for name in ("start", "end") if r.random() < 0.6}
        for name, value in bounds.items():
            self.attr(name, value)
        return [(Type(7), [len(x[slice(bounds.get("start", 0), bounds.get("end", len(x)))])])]

    def make_split(self):
        r, x = self.r, self.shape(1)
        a = r.randrange(len(x))
        n = r.randint(1, 3)
        sizes = [r.randint(0, 3) for _ in range(n)]
        x[a] = sum(sizes)
        t = self.real(x)
        self.value(t, x)
        self.ints(sizes, r.random() < 0.8)
        self.attr("axis", a)
        return [self.like(t, x, x[:a] + [s] + x[a + 1:])[0] for s in sizes]

    def make_slice(self):
        r, x = self.r, self.shape(1)
        starts, ends, steps, y, axes = [], [], [], [], r.sample(range(len(x)), r.randint(1, len(x)))
        for d in x:
            y.append(d)
        for a in axes:
            s, e, st = r.randint(-8, 8), r.randint(-8, 8), r.choice([1, 1, 2, -1, -2])
            if r.random() < 0.1:
                e = r.choice([2 ** 63 - 1, -2 ** 63])
            starts.append(s)
            ends.append(e)
            steps.append(st)
            n = x[a]
            begin, end = (s + n if s < 0 else s), (e + n if e < 0 else e)
            low, high = (0, n) if st > 0 else (0, n - 1)
            begin = min(max(begin, low), high)
            y[a] = len(range(begin, min(max(end, low if st > 0 else -1), high), st))
        t = self.real(x)
        self.value(t, x)
        for v in (starts, ends, axes, steps):
            self.ints(v, r.random() < 0.9)
        return self.like(t, x, y)

    def make_reshape(self):
        r, x = self.r, self.shape()
        t = self.real(x)
        self.value(t, x)
        op = self.op
        if op == "Identity":
            y = x
        elif op == "Flatten":
            a = r.randint(-len(x), len(x))
            self.attr("axis", a)
            a = a + len(x) if a < 0 else a
            y = [count(x[:a]), count(x[a:])]
        elif op == "Transpose":
            perm = list(range(len(x)))
            r.shuffle(perm)
            self.attr("perm", perm)
            y = [x[p] for p in perm]
            if t.q and t.q.get("axis") and r.random() < 0.6:
                return [(Type(t.code, {**t.q, "axis": [perm.index(a) for a in t.q["axis"]]}), y)]
        elif op == "Reshape":
            y = [count(x)] if r.random() < 0.5 else [1, *x]
            self.ints(y if count(x) == 0 or r.random() < 0.5 else [-1] + y[1:], r.random() < 0.9)
            if 0 in y:
                self.opset = max(self.opset, 14)
                self.attr("allowzero", 1)
        elif op == "Squeeze":
            axes = [k for k, d in enumerate(x) if d == 1]
            if axes and r.random() < 0.7:
                self.ints(axes[:1])
                axes = axes[:1]
            y = [d for k, d in enumerate(x) if k not in axes]
        else:
            a = r.randint(0, len(x))
            self.ints([a])
            y = x[:a] + [1] + x[a:]
        return self.like(t, x, y)

    def make_gather(self):
        r, x = self.r, self.shape(1, zero=0)
        a, i = r.randrange(len(x)), self.shape(0, 2)
        t = self.real(x)
        self.value(t, x)
        self.attr("axis", a)
        values = [r.randint(-x[a], x[a] - 1) for _ in range(count(i))]
        self.value(Type(7), i, r.random() < 0.5, [v & 2 ** 64 - 1 for v in values])
        return self.like(t, x, x[:a] + i + x[a + 1:])

    def make_pad(self):
        r, x = self.r, self.shape(1, 4, zero=0)
        mode = r.choice(["constant", "constant", "edge", "reflect"])
        limit = {"reflect": lambda d: d - 1}.get(mode, lambda d: 3)
        begins, ends = [r.randint(0, min(2, limit(d))) for d in x], [r.randint(0, min(2, limit(d))) for d in x]
        t = self.real(x)
        self.value(t, x)
        self.ints(begins + ends, r.random() < 0.8)
        self.attr("mode", mode)
        if mode == "constant" and r.random() < 0.4:
            self.value(self.real([]), [], r.random() < 0.6)
        return self.like(t, x, [b + d + e for b, d, e in zip(begins, x, ends)])

    def make_expand(self):
        r, y = self.r, self.shape(1)
        x = self.broadcastable(y)
        t = self.real(x)
        self.value(t, x)
        if self.op == "Tile":
            repeats = [r.randint(0, 3) for _ in x]
            y = [d * k for d, k in zip(x, repeats)]
            self.ints(repeats)
        else:
            self.ints(y, r.random() < 0.8)
        return self.like(t, x, y)

    def make_where(self):
        y = self.shape(1)
        c = self.broadcastable(y)
        self.value(Type(9), c, False, [self.r.getrandbits(1) for _ in range(count(c))])
        self.value(self.real(y), y)
        b = self.broadcastable(y)
        t = self.real(b)
        self.value(t, b)
        return self.like(t, b, y)

    def make_blocks(self):
        r, b = self.r, self.r.randint(1, 2)
        n, c, h, w = 1, r.randint(1, 3), r.randint(1, 2), r.randint(1, 3)
        small, large = [n, c * b * b, h, w], [n, c, h * b, w * b]
        x, y = (small, large) if self.op == "DepthToSpace" else (large, small)
        t = self.real(x)
        self.value(t, x)
        self.attr("blocksize", b)
        if self.op == "DepthToSpace" and r.random() < 0.5:
            self.attr("mode", "CRD")
        return self.like(t, x, y)

    def make_resize(self):
        r, x = self.r, self.shape(1, 4, zero=0)
        y = [r.randint(1, 6) if r.random() < 0.6 else d for d in x]
        t = self.real(x)
        self.value(t, x)
        self.none()
        if r.random() < 0.5:
            s = [self.f32(r.choice([0.5, 1.0, 1.5, 2.0, 0.7, 2.3])) for _ in x]
            y = [math.floor(struct.unpack("<f", struct.pack("<f", v))[0] * d) for v, d in zip(s, x)]
            self.value(Type(1), [len(x)], True, [struct.unpack("<I", struct.pack("<f", v))[0] for v in s])
        else:
            self.none()
            self.ints(y)
        self.attr("mode", r.choice(["nearest", "linear"]))
        self.attr("coordinate_transformation_mode", r.choice(["half_pixel", "asymmetric", "align_corners",
                                                              "pytorch_half_pixel"]))
        self.attr("nearest_mode", r.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
        return self.like(t, x, y)

    def make_grid_sample(self):
        r = self.r
        self.opset = r.choice([16, 20, 22])
        axes = 2 if self.opset < 20 else r.choice([1, 2, 2, 3])
        x = [r.randint(1, 2), r.randint(1, 2), *[r.randint(1, 4) for _ in range(axes)]]
        y = [r.randint(1, 3) for _ in range(axes)]
        t = self.real(x)
        self.value(t, x)
        self.attr("mode", r.choice(["nearest", "bilinear" if self.opset < 20 else "linear"]))
        self.attr("padding_mode", r.choice(["zeros", "border", "reflection"]))
        self.attr("align_corners", r.randint(0, 1))
        g = [x[0], *y, axes]
        if r.random() < 0.7:  # points in x and about it, ties and ends among them
            points = [r.choice([r.uniform(-1.5, 1.5), r.randint(-12, 12) / 4, r.uniform(-9, 9), -1.0, 1.0]) for _ in range(count(g))]
            self.value(Type(1), g, r.random() < 0.3, [struct.unpack("<I", struct.pack("<f", v))[0] for v in points])
        elif r.random() < 0.5:
            kind, self.kind = self.kind, "eight" if self.kind == "plain" else self.kind
            self.value(self.real(g), g)
            self.kind = kind
        else:
            self.value(Type(1), g)
        return self.like(t, x, x[:2] + y)

    def make_top_k(self):
        x = self.shape(1, zero=0)
        a = self.r.randrange(len(x))
        k = self.r.randint(1, x[a])
        t = self.real(x)
        self.value(t, x)
        self.ints([k])
        self.attr("axis", a)
        self.attr("largest", self.r.randint(0, 1))
        y = x[:a] + [k] + x[a + 1:]
        return [self.like(t, x, y)[0], (Type(7), y)]

    def make_tuples(self):
        r, x = self.r, self.shape(1, 4, zero=0)
        n, k = r.randint(0, 4), r.randint(1, len(x))
        t = self.real(x)
        self.value(t, x)
        codes = [r.randint(-x[j], x[j] - 1) & 2 ** 64 - 1 for _ in range(n) for j in range(k)]
        self.value(Type(7), [n, k], r.random() < 0.5, codes)
        if self.op == "GatherND":
            return self.like(t, x, [n] + x[k:])
        return self.scattered(t, x, [n] + x[k:])

    def make_elements(self):
        r, x = self.r, self.shape(1, 4, zero=0)
        a = r.randrange(len(x))
        i = [r.randint(0, 4) if k == a else r.randint(1, d) for k, d in enumerate(x)]
        t = self.real(x)
        self.value(t, x)
        self.attr("axis", a - r.choice([0, len(x)]))
        bits = r.choice([32, 64])
        codes = [r.randint(-x[a], x[a] - 1) & 2 ** bits - 1 for _ in range(count(i))]
        self.value(Type({32: 6, 64: 7}[bits]), i, r.random() < 0.5, codes)
        return self.scattered(t, x, i) if self.op == "ScatterElements" else self.like(t, x, i)

    def make_sequences(self):
        r, x, batch = self.r, self.shape(2, 4), self.r.randint(0, 1)
        t = self.real(x)
        self.value(t, x)
        self.ints([r.randint(0, x[1 - batch]) for _ in range(x[batch])], r.random() < 0.5)
        if batch == 0 or r.random() < 0.5:
            self.attr("batch_axis", batch)
            self.attr("time_axis", 1 - batch)
        return self.like(t, x, x)

    def scattered(self, t, x, updates):
        """Adds the updates and a reduction to data of type t and shape x."""
        self.value(self.real(updates), updates)
        self.opset = max(self.opset, 18)
        self.attr("reduction", self.r.choice(["none", "add", "mul", "max", "min"]))
        return self.like(t, x, x)
