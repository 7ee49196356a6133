// The elements of a tensor as numbers: exact, binary32, or integer times scale.
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "qtx/format/tensor.h"
#include "rational.h"

namespace qtx::reference {

/// Unpacks a tensor once; for one thread at a time. Borrows its quantization: must not outlive the
/// tensor.
class Operand {
 public:
  /// Errors: kInvalid for STRING and complex tensors, kUnsupported for a scaled float with an
  /// offset and for a UINT64 of 2^63 or more.
  static Result<Operand> Make(const format::Tensor& tensor);

  const format::Tensor& tensor() const { return *tensor_; }
  /// True when real = scale(i) * integer(i) with a positive scale and integers of at most 33 bits:
  /// no base, no code book, no scale of 0 or below (quantization.S8).
  bool is_integer() const { return kind_ == Kind::kInteger && integer_form_; }
  /// True for plain integers of more than 32 bits: real = integer(i).
  bool is_wide() const { return kind_ == Kind::kWide; }
  bool per_tensor() const { return map_.per_tensor(); }

  /// stored - offset.  REQUIRES: is_integer() or is_wide(), or the same with scales of 0 and below.
  std::int64_t integer(std::int64_t i) const {
    assert(bases_.empty() && book_.empty());
    return Steps(i);
  }
  /// REQUIRES: as integer(), of at most 32 bits.
  std::int32_t stored(std::int64_t i) const {
    assert(bases_.empty() && book_.empty());
    return integers_[static_cast<std::size_t>(i)];
  }
  /// The bits of an element, of at most 8.  REQUIRES: float8 or float4 storage.
  std::int32_t code(std::int64_t i) const;
  /// 1 for a tensor that is not quantized.
  float scale(std::int64_t i) const {
    return scales_.empty() ? 1.0F : scales_[Parameter(scales_.size(), i)];
  }
  std::int32_t offset(std::int64_t i) const {
    return offsets_.empty() ? 0 : offsets_[Parameter(offsets_.size(), i)];
  }
  Dyadic exact(std::int64_t i) const;
  /// binary32(stored - offset), or the code book's value, times scale, the product rounded to
  /// binary32, plus the base, rounded again: float32.S1, quantization.S8.
  float binary32(std::int64_t i) const;

 private:
  enum class Kind { kInteger, kWide, kFloat };

  explicit Operand(const format::Tensor& tensor);
  std::int64_t Steps(std::int64_t i) const {
    if (is_wide()) return wide_[static_cast<std::size_t>(i)];
    return std::int64_t{integers_[static_cast<std::size_t>(i)]} - offset(i);
  }
  // What the scale is multiplied by, where the storage is an integer of at most 32 bits.
  float Binary32Steps(std::int64_t i) const {
    return book_.empty() ? static_cast<float>(Steps(i))
                         : book_[static_cast<std::size_t>(integers_[static_cast<std::size_t>(i)])];
  }
  float base(std::int64_t i) const { return bases_[Parameter(bases_.size(), i)]; }
  std::size_t Parameter(std::size_t count, std::int64_t i) const {
    if (count == 1) return 0;
    if (i < run_.begin || i >= run_.end) run_ = RunOf(i);
    return run_.index;
  }
  // Elements [begin, end), which share a parameter.
  struct Run {
    std::int64_t begin = 0, end = 0;
    std::size_t index = 0;
  };
  Run RunOf(std::int64_t i) const;
  const format::Tensor* tensor_;
  Kind kind_ = Kind::kFloat;  // by the element type: a tensor may be empty
  format::ParameterMap map_;
  // Of the last axis that has parameters: elements from one coordinate to the next, coordinates,
  // and how many share a parameter.
  std::int64_t stride_ = 1, dim_ = 1, block_ = 1;
  mutable Run run_;  // of the last element that was asked for: the next mostly lies in it, too
  std::vector<float> scales_;
  std::vector<std::int32_t> offsets_;
  std::vector<float> bases_;  // empty: 0
  std::vector<float> book_;   // the code book; empty: none
  bool integer_form_ = true;
  std::vector<std::int32_t> integers_;  // kInteger: integer storage of at most 32 bits, BOOL
  std::vector<std::int64_t> wide_;      // kWide: UINT32, INT64, UINT64
  std::vector<double> values_;          // kFloat
};

}  // namespace qtx::reference
