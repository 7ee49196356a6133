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

/// Reads elements.  REQUIRES: the tensor outlives the reader; it is not STRING or complex; a
/// quantized one fulfils CheckReals.
class NumberReader {
 public:
  explicit NumberReader(const format::Tensor& from);
  Number operator()(std::int64_t element) const;
  /// The number that an element with this code and parameter stands for.
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
  /// If all numbers of the interval round to the same code, writes that code and returns true.
  bool PutIfCertain(std::int64_t element, const Interval& interval);
  /// Writes the tie that the interval cannot be distinguished from (exact.S6).
  void PutTie(std::int64_t element, const Interval& interval);
  /// The code to which all numbers within `error` of `estimate` round; nullopt if there are
  /// several, or for other types than quantized integers and FLOAT.
  std::optional<std::uint64_t> EstimatedCode(std::int64_t element, double estimate,
                                             double error) const;

 private:
  /// The code to which all numbers from `low` to `high` round; nullopt if there are several.
  std::optional<std::uint64_t> CertainCode(std::int64_t element, const mpq_class& low,
                                           const mpq_class& high) const;
  /// The code of the tie that no bits tell from an interval of these ends.
  std::uint64_t TieCode(std::int64_t element, const mpq_class& low, const mpq_class& high) const;
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

/// Writes value i as element elements[i]. `values` computes all of them with a given number of
/// bits. Calls it with more bits while a rounding is in doubt; after the last call such a value is
/// a tie (exact.S6).
void PutEnclosed(NumberWriter& writer, std::span<const std::int64_t> elements,
                 const std::function<std::vector<Interval>(mpfr_prec_t bits)>& values);

/// True if all elements have the same parameters, or none.
bool OneParameter(const format::Tensor& tensor);

}  // namespace qtx::backend::engine
