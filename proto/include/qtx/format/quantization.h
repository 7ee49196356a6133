// How stored integers map to reals: real = scale * (stored - offset).
// Source: spec/format/quantization.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/element_type.h"
#include "qtx/format/result.h"
#include "qtx/format/shape.h"

namespace qtx::format {

enum class Scheme : std::int32_t {
  kUnspecified = 0,
  kAsymmetric = 1,
  kSymmetric = 2,
  kAsymmetricPow2 = 3,
  kSymmetricPow2 = 4,
  kSymmetricUint8 = 5,
};
std::string_view Name(Scheme scheme);  // "asymmetric_pow2"

/// Fixed-point requantization: Q0.31 multiplier and positive right shift, one pair or one per
/// parameter of the type.
struct Requantization {
  std::vector<std::int32_t> multiplier;
  std::vector<std::int32_t> shift;
  bool operator==(const Requantization&) const = default;
};

/// One level of a parameter that is a product of factors: a factor for each block.
struct BlockFactors {
  std::vector<float> value;
  std::string tensor;                     // an initializer instead of `value`; empty = inline
  std::vector<std::int64_t> block_shape;  // elements along each axis; empty = the Quantization's
  std::string unknown_fields;
  bool operator==(const BlockFactors&) const = default;
};

/// Bits of the values of consecutive indices from `first` on. An index, less `first`, is written in
/// digits of which the first has count[0] values and varies fastest: its bits begin at record_bit
/// plus the sum of digit[i] * stride[i].
struct BitSpan {
  std::int32_t value_bit = 0;  // where in the value they go; 0 is the lowest
  std::int32_t width = 0;
  std::int32_t first = 0;
  std::int32_t record_bit = 0;  // bit b of a record is bit b % 8, from the lowest, of byte b / 8
  std::vector<std::int32_t> count;
  std::vector<std::int32_t> stride;
  std::string unknown_fields;
  bool operator==(const BitSpan&) const = default;
};

enum class EncodedRole : std::int32_t { kCode = 0, kScale = 1, kBase = 2 };

/// What a record keeps: the codes, or the factors of one level of the scale or the base.
struct EncodedField {
  EncodedRole role = EncodedRole::kCode;
  std::int32_t level = 0;                           // of scale_levels or base_levels
  ElementType elem_type = ElementType::kUndefined;  // of the value that the bits are
  std::int32_t bias = 0;                            // added to an integer
  std::vector<BitSpan> bits;
  std::string unknown_fields;  // a role that is not known, too
  bool operator==(const EncodedField&) const = default;
};

/// How the bytes of an initializer hold its codes and parameters: records of equal size, row-major
/// over the grid that they divide the tensor into (proposal 0009).
struct Encoding {
  std::int32_t record_bytes = 0;
  std::vector<std::int64_t> record_shape;  // elements of a record along each axis of the tensor
  std::vector<EncodedField> fields;
  std::string unknown_fields;
  bool operator==(const Encoding&) const = default;
};

struct Quantization {
  std::vector<float> scale;  // finite, > 0 but on initializers; size 1 or as many as parameters
  std::vector<std::int32_t> offset;       // empty = all 0; else as many as scale
  std::vector<std::int64_t> axis;         // empty = per tensor
  std::vector<std::int64_t> block_shape;  // empty = all 1; else as long as axis
  std::string scale_tensor;  // initializers instead of the inline vectors; empty = inline
  std::string offset_tensor;
  std::optional<std::int64_t> quant_min;  // inclusive, in stored units
  std::optional<std::int64_t> quant_max;
  Scheme scheme = Scheme::kUnspecified;
  std::optional<Requantization> requantization;
  ElementType storage_type = ElementType::kUndefined;  // annotation role (elem_type FLOAT) only
  // From fine to coarse (proposal 0001). Resolve turns scale_levels into the inline `scale`, and
  // base_levels into one inline level with a value for each parameter.
  std::vector<BlockFactors> scale_levels;     // instead of scale and scale_tensor
  std::vector<BlockFactors> base_levels;      // real = scale * (stored - offset) + base; empty = 0
  std::vector<std::int32_t> must_understand;  // field numbers of the message (proposal 0002)
  // real = scale * code_book[code] + base (proposal 0008), 2^bits values; empty = none
  std::vector<float> code_book;
  std::string code_book_tensor;  // an initializer instead of `code_book`; empty = inline
  ElementType real_type =
      ElementType::kUndefined;  // of the reals (proposal 0010); kUndefined = FLOAT
  std::optional<Encoding> encoding;
  std::string unknown_fields;

  bool operator==(const Quantization&) const = default;
};

/// The number of parameters along each axis of `q.axis`: ceil(dim / block). Empty if per tensor.
/// Errors: kInvalid for an axis that is out of range or repeated, and for a block below 1.
Result<Dims> ParameterDims(const Quantization& q, std::span<const std::int64_t> dims);

/// Maps each element of a tensor to its index in scale and offset: index = sum over named axes of
/// (coordinate / block) * parameter stride.
class ParameterMap {
 public:
  /// REQUIRES: ParameterDims(q, dims) succeeded.
  ParameterMap(const Quantization& q, std::span<const std::int64_t> dims);
  /// The parameter of element `element` in row-major order.
  std::int64_t operator()(std::int64_t element) const;
  bool per_tensor() const { return terms_.empty(); }
  std::int64_t count() const { return count_; }  // number of parameters

 private:
  struct Term {
    std::int64_t element_stride, dim, block, parameter_stride;
  };
  std::vector<Term> terms_;
  std::int64_t count_ = 1;
};

/// Inclusive range of stored integers: the storage's, narrowed by quant_min and quant_max.
IntegerRange StoredRange(ElementType type, const Quantization& q);

/// Offset of parameter `i`; 0 when the vector is absent.
inline std::int32_t OffsetAt(const Quantization& q, std::int64_t i) {
  return q.offset.empty() ? 0 : q.offset[q.offset.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}
inline float ScaleAt(const Quantization& q, std::int64_t i) {
  return q.scale[q.scale.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}

/// To and from the wire bytes of a qtx.Quantization message.  Errors: kInvalid.
std::string SerializeQuantization(const Quantization& q);
Result<Quantization> ParseQuantization(std::string_view bytes);

}  // namespace qtx::format
