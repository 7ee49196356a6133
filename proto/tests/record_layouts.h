// Encodings of published formats, written from their definitions, for tests.
// Sources: ggml-org/llama.cpp ggml/src/ggml-common.h (block_q4_0 to block_nvfp4) and the gguf
// package 0.19.0, quants.py; AutoGPTQ's and AutoAWQ's packing; ONNX Runtime's MatMulNBits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qtx/format/encoding.h"

namespace qtx::format::testing {

struct NamedLayout {
  std::string name;
  ElementType elem_type;
  std::vector<std::int64_t> record_shape;
  std::int32_t record_bytes;
  std::int64_t block = 0;  // elements along the last axis that share a factor; 0: no factors
  std::vector<EncodedField> fields;
  bool negated_base = false;  // real = ... - base
  std::vector<float> code_book = {};
  std::optional<IntegerRange> range = {};  // of the stored values, where the storage has more
};

using Ints = std::vector<std::int32_t>;

inline BitSpan Span(std::int32_t value_bit, std::int32_t width, std::int32_t record_bit, Ints count,
                    Ints stride, std::int32_t first = 0) {
  return {.value_bit = value_bit,
          .width = width,
          .first = first,
          .record_bit = record_bit,
          .count = std::move(count),
          .stride = std::move(stride),
          .unknown_fields = {}};
}

inline EncodedField Field(EncodedRole role, std::int32_t level, ElementType type,
                          std::vector<BitSpan> bits, std::int32_t bias = 0) {
  return {.role = role,
          .level = level,
          .elem_type = type,
          .bias = bias,
          .bits = std::move(bits),
          .unknown_fields = {}};
}

// One binary16 that begins at byte `byte`.
inline EncodedField Half(EncodedRole role, std::int32_t level, std::int32_t byte) {
  return Field(role, level, ElementType::kFloat16, {Span(0, 16, 8 * byte, {}, {})});
}

inline EncodedField Codes(ElementType type, std::vector<BitSpan> bits, std::int32_t bias = 0) {
  return Field(EncodedRole::kCode, 0, type, std::move(bits), bias);
}

// The 12 bytes of Q4_K and Q5_K: six bits of eight factors, of the scale or of the minimum.
inline EncodedField SixBits(EncodedRole role) {
  const std::int32_t minimum = role == EncodedRole::kBase ? 1 : 0;
  const std::int32_t low = 32 + 32 * minimum;
  return Field(role, 0, ElementType::kUint8,
               {Span(0, 6, low, {4}, {8}), Span(0, 4, 96 + 4 * minimum, {4}, {8}, 4),
                Span(4, 2, low + 6, {4}, {8}, 4)});
}

inline std::vector<NamedLayout> GgmlLayouts() {
  using enum ElementType;
  using enum EncodedRole;
  const Ints halves = {16, 2}, eight_four = {8, 4};
  const Ints quarters = {32, 4, 2}, of_quarters = {8, 2, 256};
  const Ints nibbles = {32, 2, 4}, of_nibbles = {8, 4, 256};
  const std::vector<float> nl = {-127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113};
  return {
      {"Q4_0",
       kInt4Q,
       {1, 32},
       18,
       32,
       {Half(kScale, 0, 0), Codes(kUint8, {Span(0, 4, 16, halves, eight_four)}, -8)}},
      {"Q4_1",
       kUint4Q,
       {1, 32},
       20,
       32,
       {Half(kScale, 0, 0), Half(kBase, 0, 2),
        Codes(kUint8, {Span(0, 4, 32, halves, eight_four)})}},
      {"Q5_0",
       kInt8Q,
       {1, 32},
       22,
       32,
       {Half(kScale, 0, 0),
        Codes(kUint8, {Span(0, 4, 48, halves, eight_four), Span(4, 1, 16, {32}, {1})}, -16)},
       false,
       {},
       IntegerRange{-16, 15}},
      {"Q5_1",
       kUint8Q,
       {1, 32},
       24,
       32,
       {Half(kScale, 0, 0), Half(kBase, 0, 2),
        Codes(kUint8, {Span(0, 4, 64, halves, eight_four), Span(4, 1, 32, {32}, {1})})},
       false,
       {},
       IntegerRange{0, 31}},
      {"Q8_0",
       kInt8Q,
       {1, 32},
       34,
       32,
       {Half(kScale, 0, 0), Codes(kInt8, {Span(0, 8, 16, {32}, {8})})}},
      {"Q2_K",
       kUint2Q,
       {1, 256},
       84,
       16,
       {Field(kScale, 0, kUint8, {Span(0, 4, 0, {16}, {8})}),
        Field(kBase, 0, kUint8, {Span(0, 4, 4, {16}, {8})}),
        Codes(kUint8, {Span(0, 2, 128, quarters, of_quarters)}), Half(kScale, 1, 80),
        Half(kBase, 1, 82)},
       true},
      {"Q3_K",
       kInt4Q,
       {1, 256},
       110,
       16,
       {Codes(kUint8, {Span(0, 2, 256, quarters, of_quarters), Span(2, 1, 0, {32, 8}, {8, 1})}, -4),
        Field(kScale, 0, kUint8,
              {Span(0, 4, 768, {8, 2}, eight_four), Span(4, 2, 832, {4, 4}, {8, 2})}, -32),
        Half(kScale, 1, 108)}},
      {"Q4_K",
       kUint4Q,
       {1, 256},
       144,
       32,
       {Half(kScale, 1, 0), Half(kBase, 1, 2), SixBits(kScale), SixBits(kBase),
        Codes(kUint8, {Span(0, 4, 128, nibbles, of_nibbles)})},
       true},
      {"Q5_K",
       kUint8Q,
       {1, 256},
       176,
       32,
       {Half(kScale, 1, 0), Half(kBase, 1, 2), SixBits(kScale), SixBits(kBase),
        Codes(kUint8, {Span(0, 4, 384, nibbles, of_nibbles), Span(4, 1, 128, {32, 8}, {8, 1})})},
       true,
       {},
       IntegerRange{0, 31}},
      {"Q6_K",
       kInt8Q,
       {1, 256},
       210,
       16,
       {Codes(kUint8,
              {Span(0, 4, 0, {64, 2, 2}, {8, 4, 512}), Span(4, 2, 1024, quarters, of_quarters)},
              -32),
        Field(kScale, 0, kInt8, {Span(0, 8, 1536, {16}, {8})}), Half(kScale, 1, 208)},
       false,
       {},
       IntegerRange{-32, 31}},
      {"IQ4_NL",
       kUint4Q,
       {1, 32},
       18,
       32,
       {Half(kScale, 0, 0), Codes(kUint8, {Span(0, 4, 16, halves, eight_four)})},
       false,
       nl},
      {"IQ4_XS",
       kUint4Q,
       {1, 256},
       136,
       32,
       {Half(kScale, 1, 0),
        Field(kScale, 0, kUint8, {Span(0, 4, 32, {8}, {4}), Span(4, 2, 16, {8}, {2})}, -32),
        Codes(kUint8, {Span(0, 4, 64, {16, 2, 8}, {8, 4, 128})})},
       false,
       nl},
      {"TQ2_0",
       kInt4Q,
       {1, 256},
       66,
       256,
       {Codes(kUint8, {Span(0, 2, 0, quarters, of_quarters)}, -1), Half(kScale, 0, 64)}},
      {"MXFP4",
       kFloat4E2M1Q,
       {1, 32},
       17,
       32,
       {Field(kScale, 0, kFloat8E8M0, {Span(0, 8, 0, {}, {})}),
        Codes(kFloat4E2M1, {Span(0, 4, 8, halves, eight_four)})}},
      // Its E4M3 has no sign: ggml does not look at the bit.
      {"NVFP4",
       kFloat4E2M1Q,
       {1, 64},
       36,
       16,
       {Field(kScale, 0, kFloat8E4M3FN, {Span(0, 7, 0, {4}, {8})}),
        Codes(kFloat4E2M1, {Span(0, 4, 32, {8, 2, 4}, {8, 4, 64})})}},
  };
}

// Words of other formats, which keep their factors elsewhere.
inline std::vector<NamedLayout> WordLayouts() {
  using enum ElementType;
  return {
      {"GPTQ qweight", kUint4Q, {8, 1}, 4, 0, {Codes(kUint8, {Span(0, 4, 0, {8}, {4})})}},
      // Nibble i of a word has column 0 2 4 6 1 3 5 7.
      {"AWQ qweight", kUint4Q, {1, 8}, 4, 0, {Codes(kUint8, {Span(0, 4, 0, {2, 4}, {16, 4})})}},
      {"MatMulNBits B", kUint4Q, {1, 32}, 16, 0, {Codes(kUint8, {Span(0, 4, 0, {32}, {4})})}},
      {"MatMulNBits B of 2 bits",
       kUint2Q,
       {1, 32},
       8,
       0,
       {Codes(kUint8, {Span(0, 2, 0, {32}, {2})})}},
  };
}

/// The type of a tensor of shape [rows, columns].
inline TensorType TypeOf(const NamedLayout& layout, const Dims& dims) {
  TensorType type;
  type.elem_type = layout.elem_type;
  type.shape = ToShape(dims);
  Quantization& q = type.quantization.emplace();
  q.code_book = layout.code_book;
  if (layout.range) {
    q.quant_min = layout.range->min;
    q.quant_max = layout.range->max;
  }
  q.encoding = Encoding{.record_bytes = layout.record_bytes,
                        .record_shape = layout.record_shape,
                        .fields = layout.fields,
                        .unknown_fields = {}};
  if (layout.block == 0) {
    q.scale = {1};
    return type;
  }
  q.axis = {0, 1};
  q.block_shape = {1, layout.block};
  const auto add = [&](EncodedRole role, std::vector<BlockFactors>& levels) {
    for (std::size_t i = 0; FindField(*q.encoding, role, i) != nullptr; ++i) {
      BlockFactors& level = levels.emplace_back();
      if (i > 0) level.block_shape = layout.record_shape;
    }
  };
  add(EncodedRole::kScale, q.scale_levels);
  add(EncodedRole::kBase, q.base_levels);
  if (layout.negated_base) {
    BlockFactors& minus = q.base_levels.emplace_back();
    minus.value = {-1};
    minus.block_shape = dims;
  }
  return type;
}

}  // namespace qtx::format::testing
