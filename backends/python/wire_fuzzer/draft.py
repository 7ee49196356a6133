"""What drafts of nodes are made of: element types with parameters, stored values, shapes; and their frames."""
import math
import random
import struct

from qtx_text.wire import encode

QUANTIZED = {"INT8Q": (1003, 8, -128, 127), "UINT8Q": (1002, 8, 0, 255), "INT16Q": (1005, 16, -32768, 32767),
             "UINT16Q": (1004, 16, 0, 65535), "INT32Q": (1006, 32, -2 ** 31, 2 ** 31 - 1), "INT4Q": (1022, 4, -8, 7),
             "UINT4Q": (1021, 4, 0, 15), "INT2Q": (1026, 2, -2, 1), "UINT2Q": (1025, 2, 0, 3),
             "BIPOLAR1Q": (1101, 1, -1, 1),
             "FLOAT8E4M3FNQ": (1017, 8, None, None), "FLOAT8E4M3FNUZQ": (1018, 8, None, None),
             "FLOAT8E5M2Q": (1019, 8, None, None), "FLOAT8E5M2FNUZQ": (1020, 8, None, None),
             "FLOAT4E2M1Q": (1023, 4, None, None)}
PLAIN = {"INT8": (3, 8), "UINT8": (2, 8), "INT16": (5, 16), "UINT16": (4, 16), "INT32": (6, 32), "UINT32": (12, 32),
         "INT64": (7, 64), "UINT64": (13, 64), "INT4": (22, 4), "UINT4": (21, 4)}
FLOATS = {"FLOAT": (1, 32), "FLOAT16": (10, 16), "BFLOAT16": (16, 16), "DOUBLE": (11, 64)}
BITS = {**{c: b for c, b, *_ in QUANTIZED.values()}, **{c: b for c, b in PLAIN.values()},
        **{c: b for c, b in FLOATS.values()},
        9: 8, 17: 8, 18: 8, 19: 8, 20: 8, 23: 4, 24: 8, 25: 2, 26: 2}
NAMES = {v[0]: k for k, v in {**QUANTIZED, **PLAIN, **FLOATS, "BOOL": (9,), "FLOAT8E4M3FN": (17,),
                              "FLOAT8E5M2": (19,)}.items()}
FLOAT_BITS = {1: (8, 23), 10: (5, 10), 16: (8, 7), 11: (11, 52), 17: (4, 3), 18: (4, 3), 19: (5, 2), 20: (5, 2),
              23: (2, 1)}


# TFLite's operators that nodes may stand for, where an arithmetic has a kernel for them.
KERNELS = {"Cast": "QUANTIZE", "Clip": "RELU6", "Conv": "CONV_2D DEPTHWISE_CONV_2D", "Gemm": "FULLY_CONNECTED",
           "GlobalAveragePool": "MEAN AVERAGE_POOL_2D", "LeakyRelu": "LEAKY_RELU", "MatMul": "FULLY_CONNECTED BATCH_MATMUL",
           "Pow": "RSQRT", "ReduceMean": "MEAN", "ReduceSum": "SUM"}


def count(dims):
    return math.prod(dims)


class Type:
    """An element type with parameters, for a value of known dims."""

    def __init__(self, code, q=None):
        self.code, self.q = code, q

    def message(self, dims):
        t = {"elem_type": self.code, "shape": {"dim": [{} if d is None else {"dim_value": d} for d in dims]}}
        if self.q is not None:
            t["quantization"] = self.q
        return {"tensor_type": t}

    def text(self, dims):
        q = {k: v for k, v in (self.q or {}).items() if v not in (None, [])}
        return "%s%s %s" % (NAMES.get(self.code, self.code), list(dims), q or "")


class Draft:
    """One random node: what its operator's draft is made by."""

    def __init__(self, seed, operators, arithmetics):
        self.r = random.Random(seed)
        self.arithmetic = self.r.choice(arithmetics)
        self.op = self.r.choice(operators)
        self.kind = self.r.choices(["kernel", "eight", "wild", "float", "plain"], [30, 25, 35, 10, 6])[0]
        self.scale_style = self.r.choices(["tame", "pow2", "wild"], [50, 27, 23])[0]
        if self.arithmetic.startswith("pow2") and self.r.random() < 0.9:
            self.scale_style = "pow2"
        self.inputs, self.initializers, self.attrs, self.lines = [], [], [], []
        self.opset = self.r.choice([13, 17, 18, 19, 21, 23])
        self.one = self.domain = None

    # Types.
    def scale(self):
        r = self.r
        if self.scale_style == "pow2":
            return 2.0 ** r.randint(-8, 3)
        if self.scale_style == "wild" and r.random() < 0.5:
            return r.choice([2.0 ** -149, 2.0 ** -126, 3.4028234663852886e38, 2.0 ** 127, 2.0 ** r.randint(-149, 127),
                             self.f32(math.ldexp(r.uniform(1, 2), r.randint(-140, 120)))])
        return self.f32(r.choice([r.uniform(0.001, 0.2), r.uniform(0.05, 4.0), 0.1, 0.25, 0.5, 1.0]))

    @staticmethod
    def f32(x):
        return struct.unpack("<f", struct.pack("<f", x))[0]

    def quantized(self, name, dims, axis=None, plain=False):
        r = self.r
        code, bits, lo, hi = QUANTIZED[name]
        q, n = {}, 1
        granular = r.random()
        if axis is not None and granular < 0.5 and dims and not plain:
            q["axis"], n = [axis], dims[axis]
        elif not plain and dims and granular < 0.12:
            axes = r.sample(range(len(dims)), r.randint(1, min(2, len(dims))))
            block = [r.randint(1, max(1, dims[a])) for a in axes]
            q["axis"] = axes
            if r.random() < 0.6:
                q["block_shape"] = block
            n = math.prod(-(-dims[a] // b) for a, b in zip(axes, q.get("block_shape", [1] * len(axes))))
        q["scale"] = [self.scale() for _ in range(n)]
        if lo is not None and bits > 1:
            style = r.random()
            if style < 0.6:
                q["offset"] = [r.choice([lo, hi, 0, r.randint(lo, hi), max(lo, min(hi, r.randint(-5, 5)))])
                               for _ in range(n)]
            if r.random() < 0.15:
                a, b = sorted((r.randint(lo, hi), r.randint(lo, hi)))
                q.update(r.choice([{"quant_min": a}, {"quant_max": b}, {"quant_min": a, "quant_max": b}]))
        elif bits == 1 and r.random() < 0.1:
            q["quant_min"] = q["quant_max"] = r.choice([-1, 1])
        return Type(code, q)

    def real(self, dims, axis=None, weights=False):
        """The type of a real operand."""
        r = self.r
        if self.kind == "plain":
            if self.one is None:
                self.one = r.choice([c for c, _ in PLAIN.values()] + [11, 11])
            return Type(self.one)
        if self.kind == "float":
            return Type(r.choice([1, 1, 1, 1, 10, 16])) if r.random() < 0.3 else Type(1)
        if self.kind == "kernel":
            if self.one is None:
                self.one = r.choice(["INT8Q", "INT8Q", "UINT8Q", "INT16Q"])
            name = "INT8Q" if weights and (self.one == "INT16Q" or r.random() < 0.3) else self.one
            t = self.quantized(name, dims, axis if weights else None, not weights or r.random() < 0.3)
            if self.one == "INT16Q" and r.random() < 0.8:
                t.q.pop("offset", None)
            return t
        if self.kind == "eight":
            return self.quantized(r.choice(["INT8Q", "UINT8Q"]), dims, axis, r.random() < 0.6)
        if r.random() < 0.12:
            return Type(r.choice([1, 1, 10, 16]))
        return self.quantized(r.choice(list(QUANTIZED)), dims, axis)

    # Values.
    def bits_of(self, t, n):
        """Stored values as unsigned codes."""
        r, bits = self.r, BITS[t.code]
        style = r.random()
        if t.code in FLOAT_BITS:
            e, m = FLOAT_BITS[t.code]
            special = [0, 1 << e + m, ((1 << e) - 1) << m, ((1 << e) - 1) << m | 1 << e + m, (1 << e + m) - 1, 1,
                       (1 << m) * ((1 << e - 1) - 1)]
            out = []
            for _ in range(n):
                if t.code < 17 and style < 0.75:
                    x = r.choice([r.uniform(-4, 4), r.uniform(-100, 100), r.randint(-8, 8) / 2,
                                  (r.randint(-300, 300) + 0.5) / 4])
                    x = struct.unpack("<Q", struct.pack("<d", x))[0] if t.code == 11 else struct.unpack("<I",
                                                                                                        struct.pack(
                        "<f", x))[0] >> (16 if t.code == 16 else 0)
                    if t.code == 10:
                        x = struct.unpack("<H", struct.pack("<e", r.randint(-64, 64) / 8))[0]
                    out.append(x)
                elif r.random() < 0.15:
                    out.append(r.choice(special))
                else:
                    out.append(r.getrandbits(bits))
            return out
        if style < 0.12 and bits > 1:
            ends = [1 << bits - 1, (1 << bits - 1) - 1, 0, (1 << bits) - 1]
            return [r.choice(ends) for _ in range(n)]
        if bits > 8 and style < 0.6:
            return [r.randint(-200, 200) & (1 << bits) - 1 for _ in range(n)]
        return [r.getrandbits(bits) for _ in range(n)]

    @staticmethod
    def bytes_of(code, codes):
        bits = BITS[code]
        if bits >= 8:
            return b"".join(c.to_bytes(bits // 8, "little") for c in codes)
        per = 8 // bits
        out = bytearray((len(codes) * bits + 7) // 8)
        for i, c in enumerate(codes):
            out[i // per] |= c << i % per * bits
        return bytes(out)

    def within(self, t, codes):
        """Initializers stay within quant_min and quant_max (element_types.C5)."""
        q = t.q or {}
        lo, hi, bits = q.get("quant_min"), q.get("quant_max"), BITS[t.code]
        if lo is None and hi is None:
            return codes
        if bits == 1:
            return [int((lo if lo is not None else hi) > 0)] * len(codes)
        signed = next(v for v in QUANTIZED.values() if v[0] == t.code)[2] < 0
        out = []
        for c in codes:
            v = c - (1 << bits) if signed and c >> bits - 1 else c
            v = max(v, lo) if lo is not None else v
            v = min(v, hi) if hi is not None else v
            out.append(v & (1 << bits) - 1)
        return out

    def value(self, t, dims, initializer=False, codes=None):
        """Adds an input of the node."""
        name = "x%d" % len(self.inputs)
        own = codes is not None
        codes = codes if own else self.bits_of(t, count(dims))
        self.lines.append("%s%s: %s" % (name, " (initializer)" if initializer else "", t.text(dims)))
        self.inputs.append((name, t, tuple(dims), initializer, self.within(t, codes) if initializer else codes, own))

    def none(self):
        self.inputs.append(None)

    def ints(self, values, initializer=True, code=7):
        size = BITS[code]
        self.value(Type(code), [len(values)], initializer, [v & (1 << size) - 1 for v in values])

    def attr(self, name, value):
        kind = {float: 1, int: 2, str: 3, list: 7}[type(value)]
        field = {1: "f", 2: "i", 3: "s", 7: "ints"}[kind]
        self.attrs.append({"name": name, "type": kind, field: value.encode() if kind == 3 else value})

    def shape(self, least=0, most=5, zero=0.06):
        r = self.r
        rank = r.choices(range(least, most + 1), [3 if k in (1, 2, 3) else 1 for k in range(least, most + 1)])[0]
        return [0 if r.random() < zero else r.choice([1, 1, 2, 3, 4, 5, 7]) if rank < 4 else r.choice([1, 2, 3])
                for _ in range(rank)]

    def broadcastable(self, dims):
        """A shape that broadcasts with dims."""
        out = [d if self.r.random() < 0.7 else 1 for d in dims]
        return out[self.r.randint(0, len(out)):] if self.r.random() < 0.4 else out

    # Outputs, as (type, dims).
    def out(self, dims, axis=None):
        return [(self.real(dims, axis), dims)]

    def like(self, t, x, y):
        """An output with the parameters of the input, often; else others."""
        if self.r.random() < 0.5 and (t.q is None or not t.q.get("axis")):
            return [(Type(t.code, dict(t.q) if t.q else None), y)]
        return self.out(y)

    # The frames.
    def frames(self, runs=1):
        """The request that prepares the node, and the input tensors of each run."""
        outputs = self.build()
        node = {"op_type": self.op, "name": "node", "domain": self.domain, "attribute": self.attrs,
                "input": [v[0] if v else "" for v in self.inputs], "output": ["y%d" % k for k in range(len(outputs))]}
        origin = self.origin()
        if origin:
            node["origin"] = {"framework": "tflite", "op_type": origin}
            self.lines.append("origin: " + origin)
        graph = {"node": [node], "input": [], "output": [], "initializer": [], "value_info": []}
        for v in self.inputs:
            if v is None:
                continue
            name, t, dims, initializer, codes, _ = v
            info = {"name": name, "type": t.message(dims)}
            if initializer:
                graph["value_info"].append(info)
                graph["initializer"].append(self.stored(name, t, dims, codes))
            else:
                graph["input"].append(info)
        for k, (t, dims) in enumerate(outputs):
            graph["output"].append({"name": "y%d" % k, "type": t.message(dims)})
            self.lines.append("y%d: %s" % (k, t.text(dims)))
        model = encode("MODEL", {"ir_version": 10, "graph": graph, "opset_import": [
            {"domain": "", "version": self.opset}, {"domain": "qtx", "version": 1},
            *([{"domain": self.domain, "version": 1}] if self.domain else [])]})
        prepare = encode("REQUEST", {"prepare": {"model": model, "arithmetic": self.arithmetic}})
        return prepare, [self.tensors(k > 0) for k in range(runs)]

    def origin(self):
        """TFLite's operator that the node stands for, or None. Drawn apart, so that a seed's nodes stay what they were."""
        kernels = KERNELS.get(self.op, "").split()
        own = random.Random(self.r.random())
        if not kernels or not self.arithmetic.startswith(("tflite", "xnnpack", "cmsis")) or own.random() < 0.5:
            return None
        return own.choice(kernels)

    def stored(self, name, t, dims, codes):
        """A TensorProto of stored values (element_types.C4)."""
        data, bipolar = self.bytes_of(t.code, codes), t.code == 1101
        return {"name": name, "data_type": 2 if bipolar else t.code % 1000, "raw_data": data,
                "dims": [len(data)] if bipolar else list(dims)}

    def tensors(self, again):
        """The inputs as tensors; those that the operator's draft left to chance are drawn again."""
        out = []
        for _, t, dims, initializer, codes, own in filter(None, self.inputs):
            if not initializer:
                codes = self.bits_of(t, count(dims)) if again and not own else codes
                out.append({"elem_type": t.code, "dims": list(dims), "data": self.bytes_of(t.code, codes)})
                if t.q is not None:
                    out[-1]["quantization"] = encode("QUANTIZATION", t.q)
        return out

    def description(self):
        attributes = {a["name"]: a.get("f", a.get("i", a.get("s", a.get("ints")))) for a in self.attrs}
        return "\n".join(["%s opset %d %s in %s" % (self.op, self.opset, attributes, self.arithmetic), *self.lines])
