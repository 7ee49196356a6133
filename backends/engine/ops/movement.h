// Data movement: elements are converted to the output's type if that differs from the input's, then
// moved. Whole bytes are copied, other elements go through their reals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/ops/conversion.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// An input converted to the output's type, with its own shape.
class Converted {
 public:
  /// Errors: kUnsupported for types that no Converter takes, that are packed, or per axis in y.
  static Result<Converted> Make(const NodePlan& node, const Value* x, const format::Tensor& y);
  /// The converted elements of the present run.
  std::span<const std::byte> Get();

 private:
  Converted(const Value* x, Converter converter) : x_(x), converter_(std::move(converter)) {}
  const Value* x_;
  Converter converter_;
  std::vector<std::byte> bytes_;  // empty if the converter copies
};

/// y[i] = x[index[i]], or the scalar `padding` if index[i] is -1. An empty index stands for 0, 1,
/// 2, ...  Errors: those of CheckTypes.
StepResult MakeMove(const NodePlan& node, const Value* x, Value* y, std::vector<std::int64_t> index,
                    const Value* padding = nullptr);

/// The general path: y[i] = element index[i] of the concatenated inputs, or the scalar `padding` if
/// index[i] is -1.  Errors: those of CheckTypes.
StepResult MakeGeneralMove(const NodePlan& node, std::vector<const Value*> inputs, Value* y,
                           std::vector<std::int64_t> index, const Value* padding = nullptr);

/// Makes output 0 an alias of input 0 with other dims and layout.  Errors: kUnsupported if the type
/// changes.
StepResult RenameElements(const NodePlan& node, Layout from, format::Dims dims, Layout to);

}  // namespace qtx::backend::engine
