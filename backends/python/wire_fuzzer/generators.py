"""Drafts of operators on bits, of those that make tensors out of sizes and numbers, and of those that keep some elements."""
import struct

from .draft import BITS, FLOAT_BITS, PLAIN, QUANTIZED, Type, count


class Generators:
    def make_bits(self):
        r, a = self.r, self.shape()
        code = r.choice([c for c, _ in PLAIN.values()])
        self.opset = 28 if self.op == "BitShift" else max(self.opset, 18)
        b = self.broadcastable(a)
        if self.op == "BitShift":
            self.attr("direction", r.choice(["LEFT", "RIGHT"]))
            codes = [r.choice([r.randrange(BITS[code] + 2), r.getrandbits(BITS[code])]) & (1 << BITS[code]) - 1
                     for _ in range(count(b))]
            self.value(Type(code), a)
            self.value(Type(code), b, r.random() < 0.2, codes)
        else:
            for d in [a] if self.op == "BitwiseNot" else r.sample([a, b], 2):
                self.value(Type(code), d)
        return [(Type(code), a)]

    def make_question(self):
        x = self.shape()
        t = self.real(x) if self.kind != "plain" else Type(11)
        self.value(t, x)
        if self.op == "IsInf":
            for name in ("detect_negative", "detect_positive"):
                if self.r.random() < 0.4:
                    self.attr(name, self.r.randint(0, 1))
        return [(Type(9), x)]

    def make_cast_like(self):
        r, d = self.r, self.shape()
        self.opset = max(self.opset, 15)
        t = r.choice([self.real(d), Type(r.choice([1, 11, 10, 16, 7, 6, 3, 2, 9, 17, 19]))])
        self.value(t, d, codes=[r.getrandbits(1) for _ in range(count(d))] if t.code == 9 else None)
        like = r.choice([self.real([]), Type(r.choice([1, 11, 10, 16, 7, 6, 3, 2, 9, 17, 18, 19, 20]))])
        self.value(like, [], codes=[0])
        name = next((n for n, v in QUANTIZED.items() if v[0] == like.code), None)
        return [(self.quantized(name, d) if name else like, d)]

    def make_filled(self):
        r, x = self.r, self.shape()
        t = self.real(x)
        codes = self.within(t, self.bits_of(t, 1)) * count(x)
        if t.code != 1 or r.random() < 0.7:
            storage = t.code - 1000 if t.q is not None and t.code < 1100 else t.code
            if t.code > 1100:
                t, storage, codes = Type(1), 1, [0x3fc00000]
            one = {"data_type": storage, "dims": [1], "raw_data": self.bytes_of(t.code, codes[:1] or [0])}
            self.attrs.append({"name": "value", "type": 4, "t": one})
        self.ints(list(x), r.random() < 0.6)
        return [(t, x)]

    def make_eye(self):
        r, x = self.r, self.shape(2, 2)
        t = self.real(x)
        self.value(t, x)
        self.attr("k", r.randint(-3, 3))
        if r.random() < 0.4:
            self.attr("dtype", r.choice([1, 6, 7, 9, 10, 11]))
            return [(Type(self.attrs[-1]["i"]), x)]
        return self.out(x)

    def make_range(self):
        r = self.r
        whole = r.random() < 0.3
        code = r.choice([3, 5, 6, 7, 2, 11]) if self.kind == "plain" else r.choice([1, 1, 1, 10, 16])
        low = 0 if code == 2 else -40
        ends = [r.randint(low, 40), r.randint(low, 40), r.choice([1, 2, 3, 7] + ([-1, -5] if low else []))]
        if code not in (2, 3, 5, 6, 7) and not whole:
            ends = [v + r.choice([0, 0.25, 0.1, 1 / 3]) for v in ends]
        for v in ends:
            pattern = int(v) & (1 << BITS[code]) - 1 if code not in FLOAT_BITS else \
                int.from_bytes(struct.pack({1: "<f", 16: "<f", 10: "<e", 11: "<d"}[code], v), "little") >> (16 if code == 16 else 0)
            self.value(Type(code), [], r.random() < 0.6, [pattern])
        self.opset = 27
        u = self.real([]) if self.kind not in ("plain", "float") else Type(code)
        if u.q is not None and len(u.q["scale"]) > 1:
            u = Type(code)
        return [(u, [None])]

    def make_size(self):
        x = self.shape()
        self.value(self.real(x), x)
        return [(Type(7), [])]

    def make_non_zero(self):
        x = self.shape()
        t = self.real(x)
        self.value(t, x, codes=self.sparse(t, x))
        return [(Type(7), [len(x), None])]

    def sparse(self, t, x):
        zero = (t.q or {}).get("offset", [0])[0] & (1 << BITS[t.code]) - 1
        return [zero if self.r.random() < 0.5 else c for c in self.bits_of(t, count(x))]

    def make_compress(self):
        r, x = self.r, self.shape(1)
        t = self.real(x)
        self.value(t, x)
        a = r.randint(-len(x), len(x) - 1) if r.random() < 0.7 else None
        if a is not None:
            self.attr("axis", a)
        size = count(x) if a is None else x[a]
        kept = [r.randint(0, 1) for _ in range(size if r.random() < 0.7 else r.randint(0, size))]
        self.value(Type(9), [len(kept)], r.random() < 0.5, kept)
        y = [sum(kept)] if a is None else [sum(kept) if k == a % len(x) else d for k, d in enumerate(x)]
        return self.like(t, x, y)

    def make_boxes(self):
        r, code = self.r, lambda v: struct.unpack("<I", struct.pack("<f", v))[0]
        self.opset = max(self.opset, 11)
        images, classes, boxes = r.randint(0, 2), r.randint(1, 2), r.randint(0, 7)
        centred = r.random() < 0.5
        self.attr("center_point_box", int(centred))
        for k, d in enumerate(([images, boxes, 4], [images, classes, boxes])):
            t = Type(1) if self.kind in ("plain", "float") else self.real(d)
            t = Type(1) if t.code in (10, 16) else t  # ONNX has FLOAT alone
            numbers = None
            if t.code == 1 and r.random() < 0.9:  # boxes that overlap, with sides and scores that are equal
                numbers = [code(r.choice([r.randint(0, 6), r.randint(0, 6) / 2, r.uniform(0, 5)])) for _ in range(count(d))]
            self.value(t, d, False, numbers)
        given = [r.random() < 0.9, r.random() < 0.7, r.random() < 0.4]
        if given[0]:
            self.value(Type(7), r.choice([[], [1]]), r.random() < 0.7, [r.choice([0, 1, 2, 5, 9, -1]) & (1 << 64) - 1])
        elif any(given):
            self.none()
        for k, choices in ((1, [0.0, 0.2, 1 / 3, 0.5, 0.25, 0.75]), (2, [0.0, 1.0, 2.5])):
            if given[k]:
                self.value(Type(1), r.choice([[], [1]]), r.random() < 0.7, [code(r.choice(choices))])
            elif any(given[k + 1:]):
                self.none()
        return [(Type(7), [None, 3])]

    def make_trilu(self):
        r, x = self.r, self.shape(2)
        t = self.real(x)
        self.value(t, x)
        self.opset = max(self.opset, 14)
        self.attr("upper", r.randint(0, 1))
        if r.random() < 0.7:
            self.value(Type(7), [], r.random() < 0.7, [r.randint(-4, 4) & (1 << 64) - 1])
        return self.like(t, x, x)

    def make_dropout(self):
        r, x = self.r, self.shape()
        t = self.real(x)
        self.value(t, x)
        self.opset = max(self.opset, 12)
        if r.random() < 0.4:
            self.value(Type(1), [], True, [0x3f000000])
        return self.like(t, x, x) + [(Type(9), x)]
