// Elements of inputs moved to places of y, for all types: where every element comes from is known
// when the node is planned, or computed from indices and sizes at run time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/ops/types.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// For each element of y the element of the inputs, one after the other, that it holds.
using Sources = std::vector<std::int64_t>;
using SourceFunction = std::function<Result<Sources>()>;

/// y[i] = element source[i] of all inputs. Equal types keep their stored values, others are mapped
/// to y's parameters once.  REQUIRES: CheckTypes.
StepResult MakeSelection(const std::vector<const Value*>& inputs, Value* y, Sources sources);
/// The same, computed now if the model computes none of `controls`, else whenever it runs.
/// Errors: those of `sources`.
StepResult MakeSelection(const std::vector<const Value*>& inputs, Value* y, SourceFunction sources,
                         std::span<const Value* const> controls);

/// Steps one after the other, for nodes of several outputs.
std::unique_ptr<Step> MakeSequence(std::vector<std::unique_ptr<Step>> steps);

/// Integers of INT64 or INT32.  REQUIRES: IsIndex(tensor.elem_type).
std::vector<std::int64_t> IndicesOf(const format::Tensor& tensor);
bool IsIndex(format::ElementType type);

/// `axis`, counted from the end of `rank` axes when negative.  REQUIRES: it is one of them.
std::size_t AxisOf(std::int64_t axis, std::size_t rank);

}  // namespace qtx::backend::engine
