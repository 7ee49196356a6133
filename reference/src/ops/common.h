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

/// Input `i`, which is given.  Errors: those of Operand::Make.
Result<Operand> OperandAt(const Call& call, std::size_t i);
/// The same, or nullopt for an absent optional input.
Result<std::optional<Operand>> OptionalOperandAt(const Call& call, std::size_t i);
/// nullptr for nullopt.
const Operand* PointerTo(const std::optional<Operand>& operand);

/// The values of input `i`, of integers.  REQUIRES: it is given.
std::vector<std::int64_t> IntegersAt(const Call& call, std::size_t i);
/// Attribute `axis`, which lies in [-rank, rank), as a non-negative one.
std::size_t AxisOf(const Call& call, std::size_t rank);
/// `axis` likewise.
std::size_t FromFirst(std::int64_t axis, std::size_t rank);

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
  /// Errors: kTooLarge.
  static Result<Mover> Make(const Call& call, const format::Tensor& like, format::Dims dims,
                            std::size_t output = 0);
  /// The same for output `output` of the shape that the catalogue derives.
  static Result<Mover> Of(const Call& call, const format::Tensor& like, std::size_t output = 0);
  /// Output elements become `input`'s, all in their order.  Errors: those of Operand::Make.
  Result<void> Copy(const format::Tensor& input);
  /// Output element elements[i] becomes `input`'s element sources[i]; elements empty: 0, 1, ....
  /// Notes the refusals of the arithmetic also where there is none to copy (fixed_point.C1).
  /// Errors: those of Operand::Make.
  Result<void> Copy(const format::Tensor& input, std::span<const std::int64_t> elements,
                    std::span<const std::int64_t> sources);
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

/// Output 0 with the elements of input 0 in their order.
Result<format::Tensor> Reshaped(const Call& call);

}  // namespace qtx::reference
