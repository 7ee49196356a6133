// What operators share: operands, shape inputs, broadcasting, moving elements.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arithmetic/elementwise.h"
#include "arithmetic/output.h"
#include "operand.h"
#include "qtx/reference/op.h"

namespace qtx::reference {

/// "input[1] 'w'", for `where` of errors.
std::string InputName(const Call& call, std::size_t i);

/// Errors: kInvalid for `saturate` other than 0 and 1.
Result<void> CheckSaturate(const format::Node& node);

/// Input `i`, which must be real.  Errors: kInvalid for types that do not stand for reals.
Result<Operand> OperandAt(const Call& call, std::size_t i);
/// The same, or nullopt for an absent optional input.
Result<std::optional<Operand>> OptionalOperandAt(const Call& call, std::size_t i);
/// Input `i` of an operator whose result is real: real, or DOUBLE where output 0 is DOUBLE.
/// Errors: kInvalid for other types of either.
Result<Operand> RealAt(const Call& call, std::size_t i);
/// Input `i` of an operator that also computes with plain numbers (exact.S10): real, or of the type
/// that output 0 has and that is a plain integer type or DOUBLE.  Errors: kInvalid for other types.
Result<Operand> NumberAt(const Call& call, std::size_t i);
/// The same, or nullopt for an absent optional input.
Result<std::optional<Operand>> OptionalNumberAt(const Call& call, std::size_t i);
/// A bias: the same, but for an operator run by a stock one also plain INT32, in units of the
/// accumulator (q_linear_conv.S2).
Result<std::optional<Operand>> BiasAt(const Call& call, std::size_t i);
/// nullptr for nullopt.
const Operand* PointerTo(const std::optional<Operand>& operand);

/// The values of an INT64 input of rank at most 1.  Errors: kInvalid for another type or rank.
Result<std::vector<std::int64_t>> Int64sAt(const Call& call, std::size_t i);

/// The NumPy broadcast of two shapes.  Errors: kInvalid when two sizes differ and neither is 1.
Result<format::Dims> Broadcast(std::span<const std::int64_t> a, std::span<const std::int64_t> b);
/// For each element of `dims`, row-major, the element of a tensor of shape `from` that is broadcast
/// there.  REQUIRES: `from` broadcasts to `dims`.
std::vector<std::int64_t> BroadcastIndices(std::span<const std::int64_t> from,
                                           std::span<const std::int64_t> dims);

/// Steps through the coordinates of `dims` in row-major order, keeping a linear index with the
/// given stride per axis.
class StridedIndex {
 public:
  StridedIndex(format::Dims dims, format::Dims strides, std::int64_t start = 0)
      : dims_(std::move(dims)), strides_(std::move(strides)), at_(dims_.size(), 0), index_(start) {}
  std::int64_t operator*() const { return index_; }
  void Next();

 private:
  format::Dims dims_, strides_, at_;
  std::int64_t index_;
};

/// Moves elements of inputs into one output, converting where parameters differ (reshape.S3).
class Mover {
 public:
  /// `like` is an input: a type that is not a real operand is copied bit for bit.
  /// Errors: kUnsupported for STRING and complex types, kInvalid when output `output` cannot have
  /// elements of `like`, kTooLarge.
  static Result<Mover> Make(const Call& call, const format::Tensor& like, format::Dims dims,
                            std::size_t output = 0);
  /// Output element elements[i] becomes `input`'s element sources[i]; both empty: all, in order.
  /// Errors: kInvalid when types do not fit.
  Result<void> Copy(const format::Tensor& input, std::span<const std::int64_t> elements = {},
                    std::span<const std::int64_t> sources = {});
  /// Output elements become real zero, or the one element of `value`.
  Result<void> Fill(const format::Tensor* value, std::span<const std::int64_t> elements);
  format::Tensor Take();

 private:
  Mover(const Call& call, std::size_t output_index) : call_(&call), output_index_(output_index) {}
  const Call* call_;
  std::size_t output_index_;
  std::optional<Output> output_;       // reals that are converted
  std::optional<format::Tensor> raw_;  // the type of `like`, not quantized
};

/// True for the types that stand for reals: FLOAT and its narrower kin, and the quantized types.
bool IsReal(format::ElementType type);
/// True for DOUBLE and the integer types that are not quantized; not for BOOL.
bool IsPlain(format::ElementType type);

/// Output 0 with the elements of input 0 in their order, under another shape.
Result<format::Tensor> Reshaped(const Call& call, format::Dims dims);

}  // namespace qtx::reference
