// Elements of a formula's tensors, and conversion of its result to an output's type. A second
// implementation of spec/format/quantization.md, exact.S1, exact.S3 to exact.S5 and exact.S10,
// independent of the reference.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formula/number.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::spec {

class Operand {
 public:
  Operand(std::string name, const format::Tensor& tensor);

  const std::string& name() const { return name_; }
  const format::Dims& dims() const { return dims_; }
  format::ElementType type() const { return type_; }
  std::int64_t size() const { return size_; }
  bool is_quantized() const { return quantization_.has_value(); }
  bool per_tensor() const { return quantization_ && quantization_->axis.empty(); }
  std::int64_t parameters() const;  // how many; 0 when not quantized

  /// Row-major index of the element at `coordinates`; nullopt when there is none.
  std::optional<std::int64_t> At(std::span<const std::int64_t> coordinates) const;
  /// The index of the element that broadcasts to `coordinates` of a larger shape.
  std::optional<std::int64_t> Broadcast(std::span<const std::int64_t> coordinates) const;

  Number Stored(std::int64_t element) const;
  Number Real(std::int64_t element) const;
  /// The index of the parameters of an element. REQUIRES for these: is_quantized().
  std::int64_t Parameter(std::int64_t element) const;
  mpq_class Scale(std::int64_t parameter) const;
  mpz_class Offset(std::int64_t parameter) const;
  /// The bounds of stored values: quant_min and quant_max, or those of the storage.
  mpz_class Least() const;
  mpz_class Greatest() const;

 private:
  std::string name_;
  format::ElementType type_;
  format::Dims dims_;
  std::optional<format::Quantization> quantization_;
  std::int64_t size_ = 0;
  std::vector<double> floats_;          // one of the two
  std::vector<std::int64_t> integers_;  // also of UINT64, whose values lie above as 2^64 less
};

/// Converts the exact result `real` to `output`'s type at `element`, as Stored.  Errors:
/// kUnsupported for a type that formulas do not map to.
Result<Number> MapToType(const Number& real, const Operand& output, std::int64_t element,
                         Precision& precision);

}  // namespace qtx::spec
