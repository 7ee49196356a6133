"""Holds the expansions of com.microsoft's operators to ONNX Runtime: operators.py QTX [FILTER]

Each case is a model of one node, run in ONNX Runtime; then converted, checked, run by the reference (exact and
float32), lowered, run in ONNX Runtime, lifted to the same bytes, and written back with the same node.
"""
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from common import MICROSOFT, Forms, distance, in_reference, in_runtime

RNG = np.random.default_rng(29)
FLOAT = TensorProto.FLOAT


def real(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def caches(rows, half):
    angles = np.arange(rows)[:, None] / 10000 ** (np.arange(half) / half)[None, :]
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


class Case:
    """One node: inputs by name, arrays (graph inputs) or ("c", array) for constants, None for absent ones."""

    def __init__(self, name, op_type, inputs, outputs, attributes=None, domain=MICROSOFT, valid=None, opset=17,
                 stays=False):
        self.name, self.op_type, self.inputs, self.outputs = name, op_type, inputs, outputs
        self.attributes, self.domain, self.valid, self.opset = attributes or {}, domain, valid or {}, opset
        self.stays = stays

    def model(self):
        names, inputs, stored = [], [], []
        for name, value in self.inputs:
            names.append("" if value is None else name)
            if value is None:
                continue
            constant = isinstance(value, tuple)
            array = value[1] if constant else value
            if constant:
                stored.append(onnx.numpy_helper.from_array(array, name))
            else:
                kind = helper.np_dtype_to_tensor_dtype(array.dtype)
                inputs.append(helper.make_tensor_value_info(name, kind, array.shape))
        node = helper.make_node(self.op_type, names, self.outputs, name="the_node", domain=self.domain,
                                **self.attributes)
        outputs = [helper.make_tensor_value_info(name, TensorProto.INT32 if name.startswith("i_") else FLOAT, None)
                   for name in self.outputs if name]
        graph = helper.make_graph([node], "g", inputs, outputs, stored)
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    def given(self):
        return {name: value for name, value in self.inputs if value is not None and not isinstance(value, tuple)}


def normalizations():
    x, skip, gamma, beta, bias = real(2, 3, 8), real(2, 3, 8), real(8), real(8), real(8)
    yield Case("simplified", "SimplifiedLayerNormalization", [("x", x), ("g", ("c", gamma))], ["y"],
               {"axis": -1, "epsilon": 1e-6}, domain="")
    yield Case("simplified_default", "SimplifiedLayerNormalization", [("x", x), ("g", ("c", gamma))], ["y"], domain="")
    for name, op_type in (("skip", "SkipLayerNormalization"), ("skip_simplified", "SkipSimplifiedLayerNormalization")):
        rest = [("b", ("c", beta))] if name == "skip" else []
        base = [("x", x), ("s", skip), ("g", ("c", gamma))]
        yield Case(name, op_type, base + rest, ["y"], {"epsilon": 1e-5})
        yield Case(name + "_sum", op_type, base + rest, ["y", "", "", "sum"], {"epsilon": 1e-5})
        yield Case(name + "_bias", op_type, base + rest + [("bias", ("c", bias))], ["y", "", "", "sum"])
        yield Case(name + "_training", op_type, base + rest, ["y", "mean", "var"] if name == "skip" else
                   ["y", "", "var"], stays=True)
    ids = RNG.integers(0, 11, (2, 4)).astype(np.int32)
    segments = RNG.integers(0, 2, (2, 4)).astype(np.int32)
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)
    tables = [("w", ("c", real(11, 8))), ("p", ("c", real(6, 8))), ("t", ("c", real(2, 8))), ("g", ("c", gamma)),
              ("b", ("c", beta))]
    yield Case("embed", "EmbedLayerNormalization", [("ids", ids), ("seg", segments)] + tables, ["y", "i_count"])
    yield Case("embed_mask", "EmbedLayerNormalization", [("ids", ids), ("seg", segments)] + tables + [("m", mask)],
               ["y", "i_count", "sum"])
    two = [("ids", ids), ("seg", None)] + [(n, v if n != "t" else None) for n, v in tables]
    yield Case("embed_positions", "EmbedLayerNormalization",
               two + [("m", None), ("pos", RNG.integers(0, 6, (2, 4)).astype(np.int32))], ["y", "i_count"])


def activations():
    x, bias = real(2, 3, 8, scale=3), real(8)
    yield Case("gelu", "Gelu", [("x", x)], ["y"])
    yield Case("bias_gelu", "BiasGelu", [("x", x), ("b", ("c", bias))], ["y"])
    yield Case("fast_gelu", "FastGelu", [("x", x)], ["y"])
    yield Case("fast_gelu_bias", "FastGelu", [("x", x), ("b", ("c", bias))], ["y"])
    yield Case("quick_gelu", "QuickGelu", [("x", x)], ["y"], {"alpha": 1.5})


def rotary():
    cos, sin = caches(32, 4)
    ids = np.array([[3, 4, 5], [0, 7, 2]], np.int64)
    tables = [("c", ("c", cos)), ("s", ("c", sin))]
    yield Case("rotary", "RotaryEmbedding", [("x", real(2, 3, 24)), ("i", ids)] + tables, ["y"])
    yield Case("rotary_interleaved", "RotaryEmbedding", [("x", real(2, 3, 24)), ("i", ids)] + tables, ["y"],
               {"interleaved": 1})
    yield Case("rotary_first", "RotaryEmbedding", [("x", real(2, 3, 24)), ("i", np.array([5], np.int64))] + tables, ["y"])
    yield Case("rotary_heads", "RotaryEmbedding", [("x", real(2, 2, 3, 8)), ("i", ids)] + tables, ["y"])
    yield Case("rotary_part", "RotaryEmbedding", [("x", real(2, 3, 32)), ("i", ids)] + tables, ["y"],
               {"num_heads": 2, "rotary_embedding_dim": 8})


def grouped(name, batch=1, past=0, buffer=None, new=4, lengths=None, heads=4, kv=2, size=16, rotary_size=16, packed=False,
            positions=None, bias=False, **attributes):
    """A GroupQueryAttention; `lengths` are the total lengths by batch entry, of which the longest is T."""
    lengths = lengths or [past + new] * batch
    total = max(lengths)
    rows = past if buffer is None else buffer
    q, k, v = real(batch, new, heads * size), real(batch, new, kv * size), real(batch, new, kv * size)
    inputs = [("q", np.concatenate([q, k, v], 2)), ("k", None), ("v", None)] if packed else [("q", q), ("k", k), ("v", v)]
    inputs += [("pk", real(batch, kv, rows, size)), ("pv", real(batch, kv, rows, size)),
               ("lens", np.array(lengths, np.int32) - 1), ("total", np.array([total], np.int32))]
    do_rotary = attributes.get("do_rotary", 0)
    cos, sin = caches(32, rotary_size // 2)
    inputs += [("c", ("c", cos)), ("s", ("c", sin))] if do_rotary else [("c", None), ("s", None)]
    inputs += [("pos", None if positions is None else np.array(positions, np.int64))]
    inputs += [("bias", real(1, 1, new, total) if bias else None)]
    first = new == total
    starts = [0 if first else n - new for n in lengths]
    valid = {"y": [slice(0, n - s) for n, s in zip(lengths, starts)], "k2": lengths, "v2": lengths}
    return Case("gqa_" + name, "GroupQueryAttention", inputs, ["y", "k2", "v2"],
                {"num_heads": heads, "kv_num_heads": kv, **attributes}, valid=valid)


def group_query():
    yield grouped("prompt")
    yield grouped("prompt_rotary", do_rotary=1)
    yield grouped("prompt_batch", batch=2, do_rotary=1, lengths=[4, 2])
    yield grouped("token", past=5, new=1, do_rotary=1)
    yield grouped("token_batch", batch=2, past=5, new=1, do_rotary=1)
    yield grouped("token_ragged", batch=2, past=5, new=1, do_rotary=1, lengths=[6, 4])
    yield grouped("token_buffer", past=5, buffer=16, new=1, do_rotary=1)
    yield grouped("chunk", past=5, new=3, do_rotary=1)
    yield grouped("interleaved", past=5, new=1, do_rotary=1, rotary_interleaved=1)
    yield grouped("part", past=5, new=1, do_rotary=1, size=32, rotary_size=16)
    yield grouped("packed", past=5, new=1, do_rotary=1, packed=True)
    yield grouped("packed_prompt", packed=True, do_rotary=1)
    yield grouped("positions", past=5, new=1, do_rotary=1, positions=[[9]])
    yield grouped("positions_prompt", do_rotary=1, positions=[[2, 3, 4, 5]])
    yield grouped("window", past=7, new=1, local_window_size=3)
    yield grouped("window_prompt", new=6, local_window_size=2)
    yield grouped("softcap", past=5, new=1, softcap=2.5)
    yield grouped("scale", past=5, new=1, scale=0.25)
    yield grouped("bias", past=5, new=3, bias=True)
    sink = grouped("smooth", past=5, new=1, smooth_softmax=1)
    sink.stays = True
    yield sink


def multi_head():
    q, k, v = real(2, 3, 16), real(2, 5, 16), real(2, 5, 16)
    base = [("q", q), ("k", k), ("v", v)]
    yield Case("mha", "MultiHeadAttention", base, ["y"], {"num_heads": 2})
    bias = ("c", real(48))
    yield Case("mha_bias", "MultiHeadAttention", base + [("b", bias)], ["y"], {"num_heads": 2, "scale": 0.3})
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    yield Case("mha_mask", "MultiHeadAttention", base + [("b", None), ("m", mask)], ["y"], {"num_heads": 2})
    none = np.array([[0, 0, 0, 0, 0], [1, 0, 1, 1, 1]], np.int32)
    yield Case("mha_mask_none", "MultiHeadAttention", base + [("b", None), ("m", none)], ["y"],
               {"num_heads": 2, "mask_filter_value": -8.0})  # -10000 leaves binary32 few bits of a score
    full = RNG.integers(0, 2, (2, 3, 5)).astype(np.int32)
    yield Case("mha_mask_full", "MultiHeadAttention", base + [("b", None), ("m", full)], ["y"],
               {"num_heads": 2, "mask_filter_value": -5.0})
    yield Case("mha_attention_bias", "MultiHeadAttention", base + [("b", None), ("m", mask), ("a", real(1, 2, 3, 5))],
               ["y"], {"num_heads": 2})
    yield Case("mha_past", "MultiHeadAttention",
               [("q", real(2, 2, 16)), ("k", real(2, 2, 16)), ("v", real(2, 2, 16)), ("b", bias), ("m", None),
                ("a", None), ("pk", real(2, 2, 3, 8)), ("pv", real(2, 2, 3, 8))],
               ["y", "k2", "v2"], {"num_heads": 2, "unidirectional": 1})
    yield Case("mha_packed", "MultiHeadAttention", [("q", real(2, 3, 2, 3, 8))], ["y"], {"num_heads": 2}, stays=True)


def attention():
    x, w, b = real(2, 3, 12), ("c", real(12, 48, scale=0.5)), ("c", real(48))
    yield Case("attention", "Attention", [("x", x), ("w", w), ("b", b)], ["y"], {"num_heads": 2})
    yield Case("attention_causal", "Attention", [("x", x), ("w", w), ("b", b)], ["y"],
               {"num_heads": 2, "unidirectional": 1})
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    yield Case("attention_mask", "Attention", [("x", x), ("w", w), ("b", b), ("m", mask)], ["y"], {"num_heads": 2})
    yield Case("attention_mask_causal", "Attention", [("x", x), ("w", w), ("b", b), ("m", mask)], ["y"],
               {"num_heads": 2, "unidirectional": 1})
    yield Case("attention_past", "Attention",
               [("x", x), ("w", w), ("b", b), ("m", None), ("past", real(2, 2, 2, 4, 8))], ["y", "p2"],
               {"num_heads": 2, "unidirectional": 1})
    yield Case("attention_sizes", "Attention", [("x", x), ("w", ("c", real(12, 40))), ("b", ("c", real(40)))], ["y"],
               {"num_heads": 2, "qkv_hidden_sizes": [16, 16, 8]})
    yield Case("attention_length", "Attention", [("x", x), ("w", w), ("b", b), ("m", np.array([2, 3], np.int32))], ["y"],
               {"num_heads": 2}, stays=True)


def of_valid(case, name, array):
    """The elements that ONNX Runtime specifies: not those of padding."""
    valid = case.valid.get(name)
    if not valid:
        return array
    if name == "y":
        return np.concatenate([array[b, rows].ravel() for b, rows in enumerate(valid)])
    return np.concatenate([array[b, :, :n].ravel() for b, n in enumerate(valid)])


def dynamic_lstm():
    steps, batch, size, hidden = 5, 3, 6, 4

    def make(name, directions=1, signed=True, by_channel=False, bias=True, states=True, peepholes=False, lengths=False, outputs=("y", "h", "c"), **attributes):
        kind = np.int8 if signed else np.uint8
        low, high = (-127, 128) if signed else (0, 256)
        shape = (directions, 4 * hidden) if by_channel else (directions,)
        given = [("x", real(steps, batch, size))]
        given += [(k, ("c", RNG.integers(low, high, (directions, rows, 4 * hidden)).astype(kind))) for k, rows in (("w", size), ("r", hidden))]
        given.append(("b", ("c", real(directions, 8 * hidden, scale=0.3)) if bias else None))
        given.append(("lengths", ("c", np.full(batch, steps - 1, np.int32)) if lengths else None))
        given += [(k, real(directions, batch, hidden, scale=0.5) if states else None) for k in ("h0", "c0")]
        given.append(("p", ("c", real(directions, 3 * hidden, scale=0.5)) if peepholes else None))
        for k in ("w", "r"):
            zero = np.full(shape, 0 if signed else 131, kind)
            given += [(k + "s", ("c", np.abs(real(*shape, scale=0.01)) + np.float32(0.003))), (k + "z", ("c", zero))]
        return Case("dynamic_lstm_" + name, "DynamicQuantizeLSTM", given, list(outputs), {"hidden_size": hidden, **attributes}, stays=lengths)

    yield make("plain")
    yield make("unsigned", signed=False)
    yield make("by_channel", by_channel=True)
    yield make("bare", bias=False, states=False, outputs=("y",))
    yield make("last", outputs=("", "h"))
    yield make("reverse", direction="reverse")
    yield make("bidirectional", directions=2, by_channel=True, direction="bidirectional")
    yield make("bidirectional_bare", directions=2, signed=False, bias=False, states=False, direction="bidirectional")
    yield make("peepholes", peepholes=True)
    yield make("clip", clip=0.4)
    yield make("clip_peepholes", clip=0.4, peepholes=True)
    yield make("input_forget", input_forget=1)
    yield make("lengths", lengths=True)


def hold(program, case, folder):
    forms = Forms(program, case.model(), folder)
    forms.convert()
    kept = [n for n in onnx.load(forms.extended).graph.node if n.domain == MICROSOFT]
    if case.stays:
        assert kept, "it was to stay"
        return "stays"
    expected = in_runtime(forms.stock, case.given())
    assert not kept, "it stays as it is"
    worst = {}
    forms.lower()
    for label, results in (("exact", in_reference(program, forms.extended, case.given(), "exact")),
                           ("float32", in_reference(program, forms.extended, case.given(), "float32")),
                           ("lowered", in_runtime(forms.lowered, case.given()))):
        for name, array in expected.items():
            far = distance(of_valid(case, name, results[name]), of_valid(case, name, array))
            worst[label] = max(worst.get(label, 0), far)
    assert forms.lift(), "lifting gives other bytes"
    differs = forms.come_back()
    assert not differs, differs
    assert max(worst.values()) < 2e-6, f"results differ: {worst}"
    return " ".join(f"{label} {far:.1e}" for label, far in worst.items())


def main():
    program, wanted = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    failed = total = 0
    for family in (normalizations, activations, rotary, group_query, multi_head, attention, dynamic_lstm):
        for case in family():
            if wanted not in case.name:
                continue
            total += 1
            with tempfile.TemporaryDirectory() as folder:
                try:
                    print(f"{case.name}: {hold(program, case, folder)}")
                except Exception as error:  # pylint: disable=broad-except
                    failed += 1
                    print(f"{case.name}: FAILED {str(error)[:600]}")
    print(f"{total - failed} of {total}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
