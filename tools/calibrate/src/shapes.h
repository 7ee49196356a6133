// Which sizes of a graph's values follow from sizes that its inputs leave open.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "qtx/calibrate/calibrate.h"
#include "qtx/format/model.h"

namespace qtx::calibrate {

/// True when some input leaves a size open, so that shapes of values need more than one run.
bool HasOpenSizes(const format::Model& model);

/// Shapes of values that the model does not declare: a size that changes with an open one of the
/// inputs is that symbol where it equals it, else unknown; others are numbers. Found by runs on
/// zeros, each with one of the open sizes changed; where the model fails on these, every size is
/// unknown.  `inputs`: one sample.
/// Errors: those of the executor on the sample itself.
Result<std::map<std::string, format::Shape>> ProbeShapes(const format::Model& model,
                                                         const std::vector<format::Tensor>& inputs,
                                                         Executor& executor);

}  // namespace qtx::calibrate
