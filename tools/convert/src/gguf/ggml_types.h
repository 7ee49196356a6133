// The types of tensors in a GGUF file: one row each, with the bits of its records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/element_type.h"
#include "qtx/format/quantization.h"
#include "qtx/format/shape.h"
#include "qtx/format/tensor_type.h"

namespace qtx::convert::gguf {

/// What a tensor of a type becomes.
enum class Form {
  kPlain,    // elements of an ONNX type, as they lie in the file
  kRecords,  // codes and factors at fixed bits of each record: a qtx.Encoding
  kVectors,  // records that no qtx.Encoding describes (vectors.h): INT8Q and factors
  kOpaque,   // bytes
};

/// One level of a scale or base: a factor for each `block` elements, or one number for all.
struct FactorLevel {
  std::int64_t block = 0;
  float constant = 0;  // where `block` is 0
};

struct GgmlType {
  std::uint32_t id = 0;  // as a tensor info has it
  std::string_view name;
  std::int64_t block = 1;  // elements of a record
  std::int64_t bytes = 0;  // of a record; 0: writers disagree (Q8_1 is 36 in llama.cpp, 40 in gguf)
  Form form = Form::kOpaque;
  format::ElementType elem_type = format::ElementType::kUint8;  // of the tensor in ONNX
  std::optional<format::IntegerRange> range = {};               // of stored values, if narrower
  std::vector<FactorLevel> scale = {}, base = {};               // from fine to coarse
  std::vector<float> code_book = {};
  std::vector<format::EncodedField> fields = {};  // of kRecords
};

/// Bits of the values from `first` on: proto/qtx/quantization.proto says what the numbers are.
format::BitSpan Bits(std::int32_t value_bit, std::int32_t width, std::int32_t record_bit,
                     std::vector<std::int32_t> count, std::vector<std::int32_t> stride,
                     std::int32_t first = 0);

/// Source: ggml/src/ggml-common.h and ggml-quants.c of llama.cpp, and the gguf package 0.19.0.
const std::vector<GgmlType>& GgmlTypes();
/// nullptr for an id that no row has.
const GgmlType* FindGgmlType(std::uint32_t id);

/// The type of a tensor of shape `dims` that is no opaque one. Factors are neither inline nor
/// named: with `in_place`, of kRecords, the encoding says where they are; else the caller names
/// them. REQUIRES: the last of `dims` is a multiple of type.block.
format::TensorType TypeOf(const GgmlType& type, const format::Dims& dims, bool in_place);

}  // namespace qtx::convert::gguf
