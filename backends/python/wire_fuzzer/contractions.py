"""Drafts of Einsum, sums of products that an equation names, and of RotaryEmbedding."""
from .draft import Type, count

LETTERS = "abcXYZ"


class Contractions:
    def make_einsum(self):
        r = self.r
        width = r.choice([0, 0, 1, 2])
        sizes = {n: r.choice([0, 1, 4]) if r.random() < 0.1 else r.randint(1, 3) for n in LETTERS}
        sizes |= {k: r.randint(1, 3) for k in range(width)}  # the axes of ellipses
        terms, named = [], []
        for _ in range(r.choice([1, 2, 2, 2, 3])):
            axes = [r.choice(LETTERS) for _ in range(r.randint(0, 3))]
            term = list(axes)
            if r.random() < (0.7 if width else 0.1):
                at = r.randint(0, len(axes))
                term.insert(at, "...")
                axes[at:at] = range(width)
            dims = [1 if r.random() < 0.1 else sizes[n] for n in axes]
            self.value(self.real(dims), dims, r.random() < 0.2)
            terms.append("".join(term))
            named += zip(axes, dims)
        equation, y = self.result_of(terms, [n for n, _ in named], width)
        self.attr("equation", equation)
        return self.out([next((d for m, d in named if m == n and d != 1), 1) for n in y])

    def result_of(self, terms, named, width):
        """An equation of these terms, and the names of y's axes, implied or not."""
        r, equation = self.r, self.r.choice([",", " , "]).join(terms)
        ellipsis = [k for k in range(width) if k in named]
        letters = [n for n in dict.fromkeys(named) if isinstance(n, str)]
        if r.random() < 0.3:
            return equation, ellipsis + sorted(n for n in letters if named.count(n) == 1)
        y = r.sample(letters, r.randint(0, min(3, len(letters))))
        term = list(y)
        if ellipsis and r.random() < 0.8:
            at = r.randint(0, len(y))
            term.insert(at, "...")
            y[at:at] = ellipsis
        return equation + "->" + "".join(term), y

    def make_rotary(self):
        r, self.opset = self.r, max(self.opset, 23)
        self.kind = "eight" if self.kind == "plain" else self.kind
        batch, heads, length, size = r.randint(1, 2), r.randint(1, 3), r.randint(0, 3), 2 * r.randint(1, 3)
        flat, rotated = r.random() < 0.5, r.choice([0, 0, 2, size])
        x = [batch, length, heads * size] if flat else [batch, heads, length, size]
        if flat or r.random() < 0.2:
            self.attr("num_heads", heads)
        self.attr("rotary_embedding_dim", rotated)
        self.attr("interleaved", r.randint(0, 1))
        rows, named = r.randint(1, 5), r.random() < 0.5
        cache = [*([rows] if named else [batch, length]), (rotated or size) // 2]
        for d in (x, cache, cache):
            self.value(self.real(d), d, r.random() < 0.2)
        if named:
            tokens = [batch, length]
            self.value(Type(7), tokens, r.random() < 0.5, [r.randrange(rows) for _ in range(count(tokens))])
        return self.out(x)
