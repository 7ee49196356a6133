"""Holds decoder layers as onnxruntime-genai's builder writes them to ONNX Runtime: decoder.py QTX

One layer and the head of a llama: GatherBlockQuantized or a table, SimplifiedLayerNormalization, MatMulNBits of 4 and
8 bits, GroupQueryAttention with rotary embedding and a cache, SkipSimplifiedLayerNormalization, SwiGLU. A prompt and
two more tokens run in ONNX Runtime and in the reference; the names of nodes and values are those of the builder.
"""
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from common import MICROSOFT, Forms, distance, in_reference, in_runtime

RNG = np.random.default_rng(37)
HIDDEN, HEADS, KV_HEADS, SIZE, INTERMEDIATE, VOCABULARY, BLOCK, ROWS = 64, 4, 2, 16, 96, 40, 32, 64


class Builder:
    def __init__(self, real):
        self.real, self.kind = real, helper.np_dtype_to_tensor_dtype(np.dtype(real))
        self.nodes, self.stored = [], []

    def constant(self, name, array):
        self.stored.append(onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, op_type, name, inputs, outputs=None, domain="", **attributes):
        outputs = outputs or [name + "/output_0"]
        self.nodes.append(helper.make_node(op_type, inputs, outputs, name=name, domain=domain, **attributes))
        return outputs[0]

    def product(self, name, x, rows, columns, bits=4):
        """A MatMulNBits of random weights."""
        codes = RNG.integers(0, 256, (columns, rows // BLOCK, BLOCK * bits // 8)).astype(np.uint8)
        stem = name[1:].replace("/", ".")
        scales = (RNG.random((columns, rows // BLOCK)) * 2.0 ** -bits + 0.001).astype(self.real)
        inputs = [x, self.constant(stem + f".weight_Q{bits}", codes), self.constant(stem + ".weight_scales", scales)]
        return self.node("MatMulNBits", name + f"_Q{bits}", inputs, domain=MICROSOFT, K=rows, N=columns, bits=bits,
                         block_size=BLOCK, accuracy_level=1)

    def gamma(self, name, size=HIDDEN):
        return self.constant(name, (1 + 0.1 * RNG.standard_normal(size)).astype(self.real))

    def lengths(self):
        mask, base = "attention_mask", "/model/attn_mask_reformat/attn_mask_subgraph"
        total = self.node("ReduceSum", base + "/ReduceSum", [mask, self.constant("one_axis", np.array([1], np.int64))],
                          keepdims=0)
        less = self.node("Sub", base + "/Sub", [total, self.constant("one", np.array([1], np.int64))])
        self.node("Cast", base + "/Sub/Cast", [less], to=TensorProto.INT32)
        shape = self.node("Shape", base + "/Shape", [mask])
        size = self.node("Gather", base + "/Gather", [shape, self.constant("one_index", np.array(1, np.int64))], axis=0)
        self.node("Cast", base + "/Gather/Cast", [size], to=TensorProto.INT32)
        return base + "/Sub/Cast/output_0", base + "/Gather/Cast/output_0"

    def embedding(self, gathered):
        name = "/model/embed_tokens/Gather"
        if not gathered:
            table = self.constant("model.embed_tokens.weight", RNG.standard_normal((VOCABULARY, HIDDEN)).astype(self.real))
            return self.node("Gather", name, [table, "input_ids"])
        data = self.constant("model.embed_tokens.weight_Q4",
                             RNG.integers(0, 256, (VOCABULARY, HIDDEN // 2)).astype(np.uint8))
        scales = self.constant("model.embed_tokens.weight_scales",
                               (0.1 + RNG.random((VOCABULARY, HIDDEN // BLOCK)) / 8).astype(self.real))
        return self.node("GatherBlockQuantized", name + "_Q4", [data, "input_ids", scales], domain=MICROSOFT, bits=4,
                         block_size=BLOCK, gather_axis=0, quantize_axis=1)

    def layer(self, x, lengths):
        at = "/model/layers.0"
        norm = self.node("SimplifiedLayerNormalization", at + "/input_layernorm/LayerNorm",
                         [x, self.gamma("model.layers.0.input_layernorm.weight")], axis=-1, epsilon=1e-5, stash_type=1)
        q = self.product(at + "/attn/q_proj/MatMul", norm, HIDDEN, HEADS * SIZE)
        k = self.product(at + "/attn/k_proj/MatMul", norm, HIDDEN, KV_HEADS * SIZE, bits=8)
        v = self.product(at + "/attn/v_proj/MatMul", norm, HIDDEN, KV_HEADS * SIZE)
        angles = np.arange(ROWS)[:, None] / 10000 ** (np.arange(SIZE // 2) / (SIZE // 2))[None, :]
        cos = self.constant("cos_cache", np.cos(angles).astype(self.real))
        sin = self.constant("sin_cache", np.sin(angles).astype(self.real))
        inputs = [q, k, v, "past_key_values.0.key", "past_key_values.0.value", *lengths, cos, sin]
        attended = self.node("GroupQueryAttention", at + "/attn/GroupQueryAttention", inputs,
                             [at + "/attn/GroupQueryAttention/output_0", "present.0.key", "present.0.value"],
                             domain=MICROSOFT, num_heads=HEADS, kv_num_heads=KV_HEADS, scale=SIZE ** -0.5, softcap=0.0,
                             do_rotary=1, rotary_interleaved=0, local_window_size=-1)
        o = self.product(at + "/attn/o_proj/MatMul", attended, HEADS * SIZE, HIDDEN)
        after = at + "/post_attention_layernorm/SkipLayerNorm"
        norm = self.node("SkipSimplifiedLayerNormalization", after,
                         [x, o, self.gamma("model.layers.0.post_attention_layernorm.weight")],
                         [after + "/output_0", "", "", after + "/output_3"], domain=MICROSOFT, epsilon=1e-5)
        gate = self.product(at + "/mlp/gate_proj/MatMul", norm, HIDDEN, INTERMEDIATE)
        up = self.product(at + "/mlp/up_proj/MatMul", norm, HIDDEN, INTERMEDIATE)
        sigmoid = self.node("Sigmoid", at + "/mlp/act_fn/Sigmoid", [gate])
        act = self.node("Mul", at + "/mlp/act_fn/Mul", [gate, sigmoid])
        both = self.node("Mul", at + "/mlp/Mul", [act, up])
        down = self.product(at + "/mlp/down_proj/MatMul", both, INTERMEDIATE, HIDDEN)
        return after + "/output_3", down

    def model(self, gathered):
        lengths = self.lengths()
        skip, down = self.layer(self.embedding(gathered), lengths)
        last = "/model/layers.1/final_norm_layernorm/SkipLayerNorm"
        norm = self.node("SkipSimplifiedLayerNormalization", last, [skip, down, self.gamma("model.final_norm.weight")],
                         domain=MICROSOFT, epsilon=1e-5)
        head = self.product("/lm_head/MatMul", norm, HIDDEN, VOCABULARY, bits=8)
        self.nodes[-1].output[0] = "logits"
        assert head
        value = helper.make_tensor_value_info
        cache = ["batch_size", KV_HEADS, "past_sequence_length", SIZE]
        new = ["batch_size", KV_HEADS, "total_sequence_length", SIZE]
        inputs = [value("input_ids", TensorProto.INT64, ["batch_size", "sequence_length"]),
                  value("attention_mask", TensorProto.INT64, ["batch_size", "total_sequence_length"])]
        inputs += [value(f"past_key_values.0.{part}", self.kind, cache) for part in ("key", "value")]
        outputs = [value("logits", self.kind, ["batch_size", "sequence_length", VOCABULARY])]
        outputs += [value(f"present.0.{part}", self.kind, new) for part in ("key", "value")]
        graph = helper.make_graph(self.nodes, "main_graph", inputs, outputs, self.stored)
        imports = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10, producer_name="onnxruntime-genai")


def hold(program, real, gathered, batch):
    with tempfile.TemporaryDirectory() as folder:
        forms = Forms(program, Builder(real).model(gathered), folder)
        forms.convert()
        kept = [n.op_type for n in onnx.load(forms.extended).graph.node if n.domain == MICROSOFT]
        assert not kept, f"{kept} stay as they are"
        forms.lower()
        assert forms.lift(), "lifting gives other bytes"
        differs = forms.come_back()
        assert not differs, differs
        past = {f"past_key_values.0.{part}": np.zeros((batch, KV_HEADS, 0, SIZE), real) for part in ("key", "value")}
        total, worst = 0, {}
        for step in (5, 1, 1):
            total += step
            given = {"input_ids": RNG.integers(0, VOCABULARY, (batch, step)), **past,
                     "attention_mask": np.ones((batch, total), np.int64)}
            expected = in_runtime(forms.stock, given)
            for label, results in (("exact", in_reference(program, forms.extended, given, "exact")),
                                   ("float32", in_reference(program, forms.extended, given, "float32")),
                                   ("lowered", in_runtime(forms.lowered, given)),
                                   ("back", in_runtime(forms.back, given))):
                for name, array in expected.items():
                    worst[label] = max(worst.get(label, 0), distance(results[name], array))
            past = {f"past_key_values.0.{part}": expected[f"present.0.{part}"] for part in ("key", "value")}
        bound = 2e-6 if real == np.float32 else 1e-2
        assert max(worst.values()) < bound, f"results differ: {worst}"
        return " ".join(f"{label} {far:.1e}" for label, far in worst.items())


def main():
    program, wanted = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    failed = total = 0
    for real in (np.float32, np.float16):
        for gathered in (False, True):
            for batch in (1, 2):
                name = f"{np.dtype(real).name}_{'blocks' if gathered else 'table'}_{batch}"
                if wanted not in name:
                    continue
                total += 1
                try:
                    print(f"{name}: {hold(program, real, gathered, batch)}")
                except Exception as error:  # pylint: disable=broad-except
                    failed += 1
                    print(f"{name}: FAILED {str(error)[:600]}")
    print(f"{total - failed} of {total}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
