"""Drafts of LSTM, GRU, Attention and QGemm."""
import struct

from .draft import PLAIN, Type, count


class States:
    def list_of_texts(self, name, values):
        self.attrs.append({"name": name, "type": 8, "strings": [v.encode() for v in values]})

    def optional(self, chance, t, dims, **options):
        if self.r.random() < chance:
            self.value(t, dims, **options)
        else:
            self.none()

    def make_recurrent(self):
        r, lstm = self.r, self.op == "LSTM"
        gates, names = (4, 3) if lstm else (3, 2)
        if self.kind == "plain":
            self.one = 11
        if self.scale_style == "wild" and r.random() < 0.7:
            self.scale_style = "tame"
        self.opset = max(self.opset, 14)
        direction = r.choice(["forward", "reverse", "bidirectional"])
        D, T, N, size, H = 1 + (direction == "bidirectional"), r.randint(0, 3), r.randint(1, 2), r.randint(1, 3), \
            r.randint(1, 3)
        batch_first = r.random() < 0.4

        def real(dims):
            return self.real(dims, 1 if len(dims) > 1 else None)
        x, state = ([N, T, size], [N, D, H]) if batch_first else ([T, N, size], [D, N, H])
        for dims in (x, [D, gates * H, size], [D, gates * H, H]):
            self.value(real(dims), dims, r.random() < 0.3)
        self.optional(0.6, real([D, 2 * gates * H]), [D, 2 * gates * H])
        lengths = [r.randint(0, T) for _ in range(N)]
        self.optional(0.3, Type(6), [N], codes=lengths)
        for _ in range(1 + lstm):
            self.optional(0.5, real(state), state)
        if lstm:
            self.optional(0.4, real([D, 3 * H]), [D, 3 * H])
        for name, chance, value in (("layout", 1, int(batch_first)), ("clip", 0.3, self.f32(r.uniform(0.1, 3))),
                                    ("input_forget" if lstm else "linear_before_reset", 0.4, 1),
                                    ("direction", 1, direction)):
            if r.random() < chance:
                self.attr(name, value)
        if r.random() < 0.4:
            self.list_of_texts("activations", [r.choice(["Sigmoid", "Tanh", "Relu"]) for _ in range(names * D)])
        y = [N, T, D, H] if batch_first else [T, D, N, H]
        return [out for dims in [y, state, state][:2 + lstm] for out in self.out(dims)]

    def make_attention(self):
        r = self.r
        if self.kind == "plain":
            self.one = 11
        if self.scale_style == "wild" and r.random() < 0.7:
            self.scale_style = "tame"
        self.opset = r.choice([23, 24])
        N, G, S, L = r.randint(1, 2), r.randint(1, 2), r.randint(1, 3), r.randint(1, 4)
        H, E, F, past = G * r.randint(1, 2), r.randint(1, 4), r.randint(1, 3), r.choice([0, 0, r.randint(1, 2)])
        flat = r.random() < 0.4
        for heads, rows, size in ((H, S, E), (G, L, E), (G, L, F)):
            dims = [N, rows, heads * size] if flat else [N, heads, rows, size]
            self.value(self.real(dims), dims)
        if flat:
            self.attr("q_num_heads", H)
            self.attr("kv_num_heads", G)
        mask = self.broadcastable([N, H, S, L + past])
        if r.random() < 0.3:
            self.value(Type(9), mask, codes=[r.getrandbits(1) for _ in range(count(mask))])
        else:
            self.optional(0.4, self.real(mask), mask)
        for size in (E, F):
            self.optional(1 if past else 0, self.real([N, G, past, size]), [N, G, past, size])
        if self.opset == 24 and not past and r.random() < 0.3:
            self.value(Type(7), [N], codes=[r.randint(0, L) for _ in range(N)])
        if r.random() < 0.4:
            self.attr("is_causal", 1)
        for name in ("scale", "softcap"):
            if r.random() < 0.4:
                self.attr(name, self.f32(r.choice([0.5, 1.0, r.uniform(0.01, 2)])))
        self.attr("qk_matmul_output_mode", r.randint(0, 3))
        y = [N, S, H * F] if flat else [N, H, S, F]
        shapes = [y, [N, G, L + past, E], [N, G, L + past, F], [N, H, S, L + past]][:r.choice([1, 3, 4])]
        return [out for dims in shapes for out in self.out(dims)]

    def make_q_gemm(self):
        r, self.domain = self.r, "com.microsoft"
        m, k, n = r.randint(1, 3), r.randint(0, 5), r.randint(1, 3)
        codes = [r.choice([2, 3]) for _ in range(2)]
        if r.random() < 0.6:
            codes[1] = codes[0]
        for code, (rows, columns), name, scales in ((codes[0], (m, k), "transA", 0),
                                                   (codes[1], (k, n), "transB", n if r.random() < 0.4 else 0)):
            turned = r.random() < 0.5
            self.attr(name, int(turned))
            self.value(Type(code), [columns, rows] if turned else [rows, columns], r.random() < 0.3)
            self.parameters(code, [scales] if scales else [])
        c = self.broadcastable([m, n])
        self.optional(0.5, Type(PLAIN["INT32"][0]), c)
        y = 1
        if r.random() < 0.7:
            y = r.choice(codes)
            self.parameters(y, [])
        if r.random() < 0.5:
            self.attr("alpha", self.f32(r.choice([0.5, -1.0, r.uniform(-2, 2)])))
        return [(Type(y), [m, n])]

    def parameters(self, code, dims):
        """Inputs of a scale and a zero point."""
        n = count(dims)
        self.value(Type(1), dims, True, [struct.unpack("<I", struct.pack("<f", self.scale()))[0] for _ in range(n)])
        self.value(Type(code), dims, True)
