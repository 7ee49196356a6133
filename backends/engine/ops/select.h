// Selection of elements, for all types: the source of each element of y is computed at preparation,
// or at run time from indices and sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/ops/types.h"
#include "engine/plan.h"
#include "qtx/backend/axis.h"

namespace qtx::backend::engine {

/// For each element of y its index in the concatenated inputs.
using Sources = std::vector<std::int64_t>;
using SourceFunction = std::function<Result<Sources>()>;

/// y[i] = element sources[i] of the concatenated inputs. Stored values are copied between equal
/// types, otherwise converted to y's type with one rounding.  REQUIRES: CheckTypes.
StepResult MakeSelection(const std::vector<const Value*>& inputs, Value* y, Sources sources);
/// The same with sources that depend on `controls`: computed at preparation if all of those are
/// constant, else at each run. Errors: those of `sources`.
StepResult MakeSelection(const std::vector<const Value*>& inputs, Value* y, SourceFunction sources,
                         std::span<const Value* const> controls);

/// One step that runs `steps` in order, for nodes with several outputs.
std::unique_ptr<Step> MakeSequence(std::vector<std::unique_ptr<Step>> steps);

/// Integers of INT64 or INT32.  REQUIRES: IsIndex(tensor.elem_type).
std::vector<std::int64_t> IndicesOf(const format::Tensor& tensor);
bool IsIndex(format::ElementType type);

}  // namespace qtx::backend::engine
