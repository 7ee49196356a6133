// Softmax and LogSoftmax: their rows, and the general paths that compute them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/ops/indexing.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// The rows that the node normalizes.  Source: softmax.S4.
AxisRows SoftmaxRowsOf(const NodePlan& node, const format::Dims& dims);

/// A step that can compute some of its rows alone.
class RowsStep : public Step {
 public:
  explicit RowsStep(const AxisRows& rows) : rows_(rows) {}
  Result<void> Run() override;
  /// Computes these rows, whose other elements stay as they are.
  virtual Result<void> RunRows(std::span<const std::int64_t> rows) = 0;

 protected:
  AxisRows rows_;
};

/// Softmax of reals.
std::unique_ptr<RowsStep> MakeGeneralSoftmax(const NodePlan& node, const Value* x, Value* y,
                                             const AxisRows& rows);
/// Softmax or, with `logarithms`, LogSoftmax of any types.
std::unique_ptr<RowsStep> MakeSoftmaxRows(const Value* x, Value* y, const AxisRows& rows,
                                          bool logarithms);
/// Softmax or LogSoftmax of FLOAT in binary64 with an error bound, and by `exactly` the rows where
/// that does not decide. Gives back `exactly` for other types.  REQUIRES: arithmetic `exact`.
std::unique_ptr<Step> MakeFloatSoftmax(const NodePlan& node, const Value* x, Value* y,
                                       const AxisRows& rows, bool logarithms,
                                       std::unique_ptr<RowsStep> exactly);

}  // namespace qtx::backend::engine
