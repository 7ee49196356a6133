// Elements of a tensor of any type as numbers, one by one, and back: spec/arithmetic/exact.md S1,
// S3 to S10.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/interval.h"
#include "engine/number.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::engine {

/// The bits of elements, packed as the tensor's type says.
class Codes {
 public:
  explicit Codes(int bits) : bits_(static_cast<unsigned>(bits)) {}
  std::uint64_t Get(std::span<const std::byte> bytes, std::int64_t element) const;
  void Set(std::span<std::byte> bytes, std::int64_t element, std::uint64_t code) const;

 private:
  unsigned bits_;  // 1, 2, 4, 8, 16, 32 or 64
};

/// Reads elements.  REQUIRES: the tensor outlives it; not STRING or complex, and what CheckReals
/// asks of a quantized type holds.
class NumberReader {
 public:
  explicit NumberReader(const format::Tensor& from);
  Number operator()(std::int64_t element) const;
  /// Of an element with these bits and parameter.
  Number Decode(std::uint64_t code, std::int64_t parameter) const;
  std::uint64_t Code(std::int64_t element) const { return codes_.Get(from_.bytes, element); }

 private:
  const format::Tensor& from_;
  const format::Quantization& parameters_;
  format::ElementType storage_;
  format::ParameterMap parameter_;
  Codes codes_;
};

/// Writes elements, each rounded once by its own parameters.  REQUIRES: as NumberReader.
class NumberWriter {
 public:
  explicit NumberWriter(format::Tensor& to);
  void Put(std::int64_t element, const Number& number) { PutCode(element, Code(element, number)); }
  void Put(std::int64_t element, const Real& real) { PutCode(element, Code(element, real)); }
  void PutCode(std::int64_t element, std::uint64_t code) { codes_.Set(to_.bytes, element, code); }
  std::uint64_t Code(std::int64_t element, const Number& number) const;
  std::uint64_t Code(std::int64_t element, const Real& real) const;
  /// True and put when every number of the interval is rounded alike.
  bool PutIfCertain(std::int64_t element, const Interval& interval);
  /// The tie an interval cannot be told from (exact.S6).
  void PutTie(std::int64_t element, const Interval& interval);
  /// The code when all within `error` of `estimate` are rounded alike; for quantized integers and
  /// FLOAT only.
  std::optional<std::uint64_t> EstimatedCode(std::int64_t element, double estimate,
                                             double error) const;

 private:
  std::uint64_t Quantized(const Number& number, std::int64_t parameter) const;
  std::uint64_t PlainFloat(const Number& number) const;
  std::uint64_t PlainInteger(const Number& number) const;

  format::Tensor& to_;
  const format::Quantization& parameters_;
  format::ElementType storage_;
  format::ParameterMap parameter_;
  format::IntegerRange range_;
  Codes codes_;
};

/// Puts values that are known together, as precise as is asked for: element elements[i] is value i.
/// Those that are in doubt are computed again with more bits, and at last are ties (exact.S6).
void PutEnclosed(NumberWriter& writer, std::span<const std::int64_t> elements,
                 const std::function<std::vector<Interval>(mpfr_prec_t bits)>& values);

/// Whether all elements have the same parameters, or none.
bool OneParameter(const format::Tensor& tensor);

}  // namespace qtx::backend::engine
