"""Holds decoders whose cache is quantized to ONNX Runtime: caches.py QTX [FILTER]

- GroupQueryAttention with k_quant_type and v_quant_type: a scale for all or for each channel, of 8 and of 4 bits, with
  and without turned queries, buffers of a fixed size, packed queries, FLOAT and FLOAT16;
- caches whose scales the graph computes, token by token: greatest magnitude / 127, QuantizeLinear, Concat,
  DequantizeLinear, of one scale a token along an axis or a block of the head. A padded token has the scale 0.

A prompt and two more tokens run in ONNX Runtime and in the reference; the cache of a step is the past of the next.
"""
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from common import MICROSOFT, Forms, distance, in_reference, in_runtime

RNG = np.random.default_rng(29)
HEADS, KV_HEADS, SIZE, ROWS = 4, 2, 16, 32
value = helper.make_tensor_value_info


def constant(name, array):
    return onnx.numpy_helper.from_array(array, name)


class Grouped:
    """One GroupQueryAttention with a quantized cache."""

    def __init__(self, kind, bits, real=np.float32, turned=False, buffer=0, packed=False):
        self.kind, self.bits, self.real = kind, bits, real
        self.turned, self.buffer, self.packed = turned, buffer, packed
        self.dtype = np.int8 if bits == 8 else np.uint8
        self.width = SIZE if bits == 8 else SIZE // 2
        self.codes, self.bound = ("present_key", "present_value"), 2e-6 if real == np.float32 else 2e-3

    def model(self):
        kind, cached = (helper.np_dtype_to_tensor_dtype(np.dtype(t)) for t in (self.real, self.dtype))
        channels = (HEADS + 2 * KV_HEADS) * SIZE if self.packed else HEADS * SIZE
        shape = ["batch", KV_HEADS, "past", self.width]
        inputs = [value("query", kind, ["batch", "length", channels])]
        if not self.packed:
            inputs += [value(name, kind, ["batch", "length", KV_HEADS * SIZE]) for name in ("key", "value")]
        inputs += [value(name, cached, shape) for name in ("past_key", "past_value")]
        inputs += [value("lengths", TensorProto.INT32, ["batch"]), value("total", TensorProto.INT32, [])]
        count = 1 if self.kind == "PER_TENSOR" else KV_HEADS * SIZE
        steps = 40 if self.bits == 8 else 3
        stored = [constant(name, (RNG.uniform(0.7, 1.3, [1] if count == 1 else [1, KV_HEADS, 1, SIZE]) / steps)
                           .astype(np.float32)) for name in ("k_scale", "v_scale")]
        names = [v.name for v in inputs]
        if self.packed:
            names[1:1] = ["", ""]
        angles = np.arange(ROWS)[:, None] / 100 ** (np.arange(SIZE // 2) / (SIZE // 2))[None, :]
        if self.turned:
            stored += [constant("cos", np.cos(angles).astype(self.real)), constant("sin", np.sin(angles).astype(self.real))]
        names += ["cos", "sin"] if self.turned else ["", ""]
        names += ["", "", "", "k_scale", "v_scale"]
        node = helper.make_node("GroupQueryAttention", names, ["y", "present_key", "present_value"], domain=MICROSOFT,
                                name="attention", num_heads=HEADS, kv_num_heads=KV_HEADS, k_quant_type=self.kind,
                                v_quant_type=self.kind, kv_cache_bit_width=self.bits, do_rotary=int(self.turned))
        new = ["batch", KV_HEADS, "rows", self.width]
        outputs = [value("y", kind, ["batch", "length", HEADS * SIZE]),
                   value("present_key", cached, new), value("present_value", cached, new)]
        graph = helper.make_graph([node], "graph", inputs, outputs, stored)
        imports = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    def first(self, batch):
        empty = np.zeros((batch, KV_HEADS, self.buffer, self.width), self.dtype)
        return {"past_key": empty, "past_value": empty}

    def given(self, batch, step, total, past):
        channels = [HEADS * SIZE, KV_HEADS * SIZE, KV_HEADS * SIZE]
        q, k, v = (RNG.standard_normal((batch, step, c)).astype(self.real) for c in channels)
        k[0, 0, :6] = [9.0, -9.0, 0.0, -0.0, 3.0e4, -3.0e4]  # beyond the codes
        fresh = {"query": np.concatenate([q, k, v], 2)} if self.packed else {"query": q, "key": k, "value": v}
        return {**fresh, **past, "lengths": np.full(batch, total - 1, np.int32), "total": np.array(total, np.int32)}

    def cut(self, name, array, total):
        return array[:, :, :total] if name in self.codes else array


class Tokens:
    """Attention over a cache of INT8 whose tokens have scales of their own, as ai.onnx says it."""

    def __init__(self, blocks):
        self.blocks, self.bound, self.buffer = blocks, 2e-6, 0
        self.codes = ("present_key", "present_value", "present_key_scale", "present_value_scale")

    def model(self):
        nodes = []

        def add(op_type, inputs, output, **attributes):
            nodes.append(helper.make_node(op_type, inputs, [output], **attributes))

        for part in ("key", "value"):
            add("Abs", [part], part + "_abs")
            add("ReduceMax", [part + "_abs", "last_axis"], part + "_max", keepdims=1)
            add("Div", [part + "_max", "steps"], part + "_scale")
            add("Concat", [f"past_{part}_scale", part + "_scale"], f"present_{part}_scale", axis=2)
            if self.blocks:  # the head is a block
                add("QuantizeLinear", [part, part + "_scale"], part + "_codes", axis=3, block_size=SIZE, output_dtype=3)
                add("Concat", ["past_" + part, part + "_codes"], "present_" + part, axis=2)
                add("DequantizeLinear", ["present_" + part, f"present_{part}_scale"], part + "_all", axis=3, block_size=SIZE)
                continue
            add("Reshape", [part, "rows"], part + "_rows")  # a token is a row
            add("Reshape", [part + "_scale", "line"], part + "_line")
            add("QuantizeLinear", [part + "_rows", part + "_line"], part + "_row_codes", axis=0, output_dtype=3)
            add("Reshape", [part + "_row_codes", "heads"], part + "_codes")
            add("Concat", ["past_" + part, part + "_codes"], "present_" + part, axis=2)
            add("Reshape", ["present_" + part, "rows"], part + "_present_rows")
            add("Reshape", [f"present_{part}_scale", "line"], part + "_present_line")
            add("DequantizeLinear", [part + "_present_rows", part + "_present_line"], part + "_row_reals", axis=0)
            add("Shape", ["present_" + part], part + "_shape")
            add("Reshape", [part + "_row_reals", part + "_shape"], part + "_all")
        add("Transpose", ["key_all"], "turned", perm=[0, 1, 3, 2])
        add("MatMul", ["query", "turned"], "scores")
        add("Softmax", ["scores"], "shares", axis=-1)
        add("MatMul", ["shares", "value_all"], "y")
        fresh, past, new = (["batch", KV_HEADS, rows, SIZE] for rows in ("length", "past", "rows"))
        inputs = [value(name, TensorProto.FLOAT, fresh) for name in ("query", "key", "value")]
        outputs = [value("y", TensorProto.FLOAT, fresh)]
        for part in ("key", "value"):
            for end, kind, size in (("", TensorProto.INT8, SIZE), ("_scale", TensorProto.FLOAT, 1)):
                inputs.append(value(f"past_{part}{end}", kind, past[:3] + [size]))
                outputs.append(value(f"present_{part}{end}", kind, new[:3] + [size]))
        stored = [constant("steps", np.float32(127)), constant("last_axis", np.array([3])),
                  constant("rows", np.array([-1, SIZE])), constant("line", np.array([-1])),
                  constant("heads", np.array([1, KV_HEADS, -1, SIZE]))]  # a batch of 1
        graph = helper.make_graph(nodes, "graph", inputs, outputs, stored)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)

    def first(self, batch):
        return {f"past_{part}{end}": np.zeros((batch, KV_HEADS, 0, size), kind)
                for part in ("key", "value") for end, kind, size in (("", np.int8, SIZE), ("_scale", np.float32, 1))}

    def given(self, batch, step, _, past):
        fresh = {name: RNG.standard_normal((batch, KV_HEADS, step, SIZE)).astype(np.float32)
                 for name in ("query", "key", "value")}
        return {**fresh, **past}

    def cut(self, _, array, __):
        return array


class Padded(Tokens):
    """One token of the prompt is padding: its scales are 0, and ONNX Runtime's codes the least ones, of which -128 * 0 is 0."""

    def given(self, batch, step, total, past):
        given = super().given(batch, step, total, past)
        if step > 1:
            for part in ("key", "value"):
                given[part][:, :, 1] = 0
        return given

    def cut(self, name, array, _):
        if name in ("present_key", "present_value"):
            array = array.copy()
            array[:, :, 1] = 0
        return array


MODELS = {
    **{f"grouped_{kind.lower()}_{bits}": Grouped(kind, bits) for kind in ("PER_TENSOR", "PER_CHANNEL") for bits in (8, 4)},
    "grouped_turned_8": Grouped("PER_CHANNEL", 8, turned=True),
    "grouped_turned_packed_4": Grouped("PER_CHANNEL", 4, turned=True, packed=True),
    "grouped_buffer_8": Grouped("PER_TENSOR", 8, buffer=12),
    "grouped_buffer_4": Grouped("PER_CHANNEL", 4, buffer=12),
    "grouped_float16_8": Grouped("PER_TENSOR", 8, real=np.float16),
    "grouped_float16_4": Grouped("PER_CHANNEL", 4, real=np.float16),
    "tokens_rows": Tokens(False), "tokens_blocks": Tokens(True),
    "padded_rows": Padded(False), "padded_blocks": Padded(True),
}


def hold(program, made, batch):
    with tempfile.TemporaryDirectory() as folder:
        forms = Forms(program, made.model(), folder)
        forms.convert()
        kept = [n.op_type for n in onnx.load(forms.extended).graph.node if n.domain == MICROSOFT]
        assert not kept, f"{kept} stay as they are"
        forms.lower()
        assert forms.lift(), "lifting gives other bytes"
        differs = forms.come_back()
        assert not differs, differs
        past, total, worst, codes = made.first(batch), 0, {}, 0
        for step in (5, 1, 1):
            total += step
            given = made.given(batch, step, total, past)
            expected = in_runtime(forms.stock, given)
            for label, results in (("exact", in_reference(program, forms.extended, given, "exact")),
                                   ("float32", in_reference(program, forms.extended, given, "float32")),
                                   ("lowered", in_runtime(forms.lowered, given)),
                                   ("back", in_runtime(forms.back, given))):
                for name, array in expected.items():
                    found, array = made.cut(name, results[name], total), made.cut(name, array, total)
                    if name in made.codes:
                        assert np.array_equal(found, array), f"{label}: {name} differs"
                        codes += array.size
                    else:
                        worst[label] = max(worst.get(label, 0), distance(found, array))
            past = {name.replace("present", "past"): expected[name] for name in made.codes}
        assert max(worst.values()) < made.bound, f"results differ: {worst}"
        return f"{codes} elements of caches equal; " + " ".join(f"{label} {far:.1e}" for label, far in worst.items())


def main():
    program, wanted = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    failed = total = 0
    for name, made in MODELS.items():
        for batch in (1, 2):
            if wanted not in name or (batch == 2 and name.endswith("_rows")):
                continue
            total += 1
            try:
                print(f"{name}_{batch}: {hold(program, made, batch)}")
            except Exception as error:  # pylint: disable=broad-except
                failed += 1
                print(f"{name}_{batch}: FAILED {str(error)[:600]}")
    print(f"{total - failed} of {total}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
