"""Small decoders of each architecture, as GGUF files; the same weights as decoder_test.cc's.

`write(name, path, sizes)` writes a case of CASES with the package gguf; `LlamaCpp(path)` gives llama.cpp's logits, with weights,
cache and sums in binary32 and flash attention off (llama-cpp-python 0.3.36).
"""
import dataclasses

import gguf
import numpy


@dataclasses.dataclass
class Sizes:
    layers: int = 2
    width: int = 32
    heads: int = 4
    kv_heads: int = 2
    feed_forward: int = 48
    vocabulary: int = 24


GEMMA = {"attention.key_length": 12, "attention.value_length": 12}
# Case: architecture, further metadata, tensors that there are besides those of all.
CASES = {
    "llama": ("llama", {}, ["output"]),
    "llama_tied_divisors": ("llama", {"rope.freq_base": 500.0}, ["rope_freqs"]),
    "llama_linear_biases": ("llama", {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0},
                            ["output", "q_bias", "k_bias", "v_bias", "output_bias"]),
    "llama_yarn": ("llama", {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.freq_base": 100.0,
                             "rope.scaling.original_context_length": 16}, ["output"]),
    "qwen2": ("qwen2", {}, ["q_bias", "k_bias", "v_bias"]),
    "qwen3": ("qwen3", {"rope.freq_base": 1e6}, ["head_norms", "output"]),
    "gemma": ("gemma", GEMMA, []),
    "gemma2": ("gemma2", {**GEMMA, "attention.sliding_window": 3, "attn_logit_softcapping": 2.0,
                          "final_logit_softcapping": 3.0}, ["post_norms"]),
    "gemma3": ("gemma3", {**GEMMA, "attention.sliding_window": 3, "attention.sliding_window_pattern": 2,
                          "rope.freq_base": 1e6, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0},
               ["head_norms", "post_norms"]),
    "phi3": ("phi3", {"rope.dimension_count": 6}, ["fused", "output"]),
}


def value(name, count):
    """`count` multiples of 1 / 512 from -1/4 to 1/4: FNV-1a of the name, mixed with the index."""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 % 2**32
    hashes = (numpy.arange(count, dtype=numpy.uint64) ^ numpy.uint64(seed)) * numpy.uint64(16777619) % 2**32
    hashes ^= hashes >> numpy.uint64(15)
    hashes = hashes * numpy.uint64(0x85EBCA6B) % 2**32
    hashes ^= hashes >> numpy.uint64(13)
    return (((hashes >> numpy.uint64(8)) % 257).astype(numpy.float32) - 128) / 512


def shapes(case, sizes):
    """The tensors of a case: name to shape."""
    _, metadata, extra = CASES[case]
    size = metadata.get("attention.key_length", sizes.width // sizes.heads)
    q, kv, n, ff = sizes.heads * size, sizes.kv_heads * size, sizes.width, sizes.feed_forward
    made = {"token_embd.weight": (sizes.vocabulary, n), "output_norm.weight": (n,)}
    if "output" in extra:
        made["output.weight"] = (sizes.vocabulary, n)
    if "rope_freqs" in extra:
        made["rope_freqs.weight"] = (size // 2,)
    for layer in range(sizes.layers):
        block = {"attn_norm.weight": (n,), "ffn_norm.weight": (n,), "attn_output.weight": (n, q),
                 "ffn_down.weight": (n, ff)}
        if "fused" in extra:
            block |= {"attn_qkv.weight": (q + 2 * kv, n), "ffn_up.weight": (2 * ff, n)}
        else:
            block |= {"attn_q.weight": (q, n), "attn_k.weight": (kv, n), "attn_v.weight": (kv, n),
                      "ffn_up.weight": (ff, n), "ffn_gate.weight": (ff, n)}
        biases = {"q_bias": ("attn_q.bias", q), "k_bias": ("attn_k.bias", kv), "v_bias": ("attn_v.bias", kv),
                  "output_bias": ("attn_output.bias", n)}
        block |= {name: (count,) for key, (name, count) in biases.items() if key in extra}
        if "head_norms" in extra:
            block |= {"attn_q_norm.weight": (size,), "attn_k_norm.weight": (size,)}
        if "post_norms" in extra:
            block |= {"post_attention_norm.weight": (n,), "post_ffw_norm.weight": (n,)}
        made |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    return made


def weight(name, shape):
    values = value(name, int(numpy.prod(shape)))
    if name == "rope_freqs.weight":
        values = 1 + 8 * abs(values)
    elif "norm" in name:
        values = 1 + values
    return values.reshape(shape)


def write(case, path, sizes=None, weights=weight, quantize=None):
    """Writes a case; `quantize(name, array)` gives the type of ggml for a tensor, by default F32."""
    sizes = sizes or Sizes()
    architecture, metadata, _ = CASES[case]
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(sizes.layers)
    writer.add_context_length(64)
    writer.add_embedding_length(sizes.width)
    writer.add_feed_forward_length(sizes.feed_forward)
    writer.add_head_count(sizes.heads)
    writer.add_head_count_kv(sizes.kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(sizes.vocabulary)
    writer.add_tokenizer_model("none")
    for key, entry in metadata.items():
        add = {str: writer.add_string, int: writer.add_uint32, float: writer.add_float32}[type(entry)]
        add(f"{architecture}.{key}", entry)
    for name, shape in shapes(case, sizes).items():
        kind = quantize(name, shape) if quantize else gguf.GGMLQuantizationType.F32
        values = weights(name, shape)
        if kind == gguf.GGMLQuantizationType.F32:
            writer.add_tensor(name, values)
        else:
            data = values if values.dtype == numpy.uint8 else gguf.quantize(values, kind)
            writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class LlamaCpp:
    """A context of llama.cpp; what it has seen stays in its cache."""

    def __init__(self, path, threads=1):
        from llama_cpp import llama_cpp as api  # late: `write` works without it
        self.api = api
        api.llama_backend_init()
        self.quiet = api.llama_log_callback(lambda *_: None)
        api.llama_log_set(self.quiet, None)
        self.model = api.llama_model_load_from_file(str(path).encode(), api.llama_model_default_params())
        if not self.model:
            raise ValueError(f"{path}: llama.cpp does not load it")
        params = api.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = 64
        params.n_threads = params.n_threads_batch = threads
        params.type_k = params.type_v = 0  # F32
        params.flash_attn_type = 0
        params.swa_full = True
        self.context = api.llama_init_from_model(self.model, params)
        self.vocabulary = api.llama_vocab_n_tokens(api.llama_model_get_vocab(self.model))
        self.seen = 0

    def __call__(self, tokens):
        """The logits of the next tokens, [tokens, vocabulary]."""
        api = self.api
        batch = api.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i] = token, self.seen + i
            batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = 1, 0, True
        status = api.llama_decode(self.context, batch)
        if status:
            raise ValueError(f"llama_decode gives {status}")
        self.seen += len(tokens)
        rows = [numpy.ctypeslib.as_array(api.llama_get_logits_ith(self.context, i), (self.vocabulary,)).copy()
                for i in range(len(tokens))]
        api.llama_batch_free(batch)
        return numpy.stack(rows)
