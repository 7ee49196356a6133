// Tensors as lists of elements with their parameters, and the writer of results.
#pragma once

#include <vector>

#include "call.h"
#include "qtx/format/levels.h"

namespace qtx::backend::faulty {

/// For each element the scale, offset and base it has.
struct Parameters {
  std::vector<float> scale;
  std::vector<std::int64_t> offset;
  std::vector<float> base;
};
Parameters Expand(const format::Quantization& q, const Dims& dims, Fault fault);

/// A tensor of reals: integers with parameters, or floats.
struct Values {
  Dims dims;
  ElementType type = ElementType::kUndefined;
  bool quantized = false;
  bool per_tensor = false;           // one scale and offset for all
  std::vector<std::int64_t> stored;  // of integer types, plain ones too
  std::vector<std::int64_t> offset;  // of quantized types
  std::vector<float> scale;          // of quantized types
  std::vector<float> base;           // of quantized types
  std::vector<double> real;          // of float types
  std::optional<format::Quantization> quantization;
  Fault fault = Fault::kNone;

  std::size_t size() const { return At(Size(dims)); }
  bool has_integer_form() const { return quantization && format::HasIntegerForm(*quantization); }
  double Steps(std::size_t i) const;
  /// The exact real, or in binary32 float32.S1.
  template <class N>
  N Real(std::size_t i) const;
};
template <>
Exact Values::Real<Exact>(std::size_t i) const;
template <>
float Values::Real<float>(std::size_t i) const;

/// Errors: kUnsupported when input `i` is absent or no FLOAT or quantized integer.
Result<Values> RealsAt(const Call& call, std::size_t i);
/// Any tensor whose elements are integers or floats of 16 or 32 bits.  Errors: kUnsupported.
Result<Values> Read(const Call& call, const Tensor& tensor);

/// The two ways from a real to a stored value; a fault may be in only one of them.
enum class Step { kQuantize, kRequantize };

/// Collects the elements of one output.
template <class N>
class Writer {
 public:
  /// Errors: kInvalid for a shape other than the declared one; kUnsupported for a type that is
  /// neither FLOAT nor a quantized integer.
  static Result<Writer> Make(const Call& call, std::size_t output, Dims dims,
                             Step step = Step::kRequantize);

  bool quantized() const { return quantized_; }
  float scale(std::size_t i) const { return parameters_.scale[i]; }
  std::int64_t offset(std::size_t i) const { return parameters_.offset[i]; }
  std::size_t size() const { return At(Size(tensor_.dims)); }

  void Put(std::size_t i, const N& real);
  /// A real in units of the output's scale.  REQUIRES: quantized().
  void PutQuotient(std::size_t i, const N& quotient);
  /// Clamped to the range.  REQUIRES: quantized().
  void PutStored(std::size_t i, std::int64_t stored);
  void PutRaw(std::size_t i, std::int64_t stored) { stored_[i] = stored; }
  Tensor Take();

 private:
  void PutReal(std::size_t i, const N& real);

  Fault fault_ = Fault::kNone;
  Step step_ = Step::kRequantize;
  bool quantized_ = false;
  Tensor tensor_;
  format::IntegerRange range_, storage_;
  Parameters parameters_;
  std::vector<std::int64_t> stored_;
};

/// A tensor of a plain integer type.
Tensor PlainTensor(ElementType type, Dims dims, const std::vector<std::int64_t>& values);

inline Outputs One(Tensor tensor) {
  std::vector<Tensor> outputs;
  outputs.push_back(std::move(tensor));
  return outputs;
}

}  // namespace qtx::backend::faulty
