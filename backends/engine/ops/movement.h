// What operators that only move data share: elements are converted to the output's type where that
// differs from the input's, then moved; byte by byte where types allow, else as reals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/ops/conversion.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// An input brought to the output's type, its own shape kept.
class Converted {
 public:
  /// Errors: kUnsupported for types that no Converter takes, that are packed, or per axis in y.
  static Result<Converted> Make(const NodePlan& node, const Value* x, const format::Tensor& y);
  /// The input's elements now.
  std::span<const std::byte> Get();

 private:
  Converted(const Value* x, Converter converter) : x_(x), converter_(std::move(converter)) {}
  const Value* x_;
  Converter converter_;
  std::vector<std::byte> bytes_;  // unless the converter copies
};

/// y[i] = x[index[i]]; where the index is -1, the scalar `padding`. An empty index means all in
/// order.  Errors: those of CheckTypes.
StepResult MakeMove(const NodePlan& node, const Value* x, Value* y, std::vector<std::int64_t> index,
                    const Value* padding = nullptr);

/// The general path: element i of y is element index[i] of all inputs, one after the other; where
/// the index is -1, that of `padding`, a scalar.  Errors: those of CheckTypes.
StepResult MakeGeneralMove(const NodePlan& node, std::vector<const Value*> inputs, Value* y,
                           std::vector<std::int64_t> index, const Value* padding = nullptr);

/// Output 0 as other dims in another layout over the elements of input 0.
/// Errors: kUnsupported where their type changes.
StepResult RenameElements(const NodePlan& node, Layout from, format::Dims dims, Layout to);

}  // namespace qtx::backend::engine
