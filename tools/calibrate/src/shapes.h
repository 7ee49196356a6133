// Finds the sizes of values that depend on open sizes of inputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "qtx/calibrate/calibrate.h"
#include "qtx/format/model.h"

namespace qtx::calibrate {

/// True if an input has an open size, so that shapes need several runs.
bool HasOpenSizes(const format::Model& model);

/// Shapes of undeclared values. A size that changes with an open size becomes its symbol if equal
/// to it, else unknown; other sizes are numbers. Runs the model on zeros, changing one open size at
/// a time; if it fails on these, every size is unknown.  `inputs`: one sample.
/// Errors: those of the executor on the sample itself.
Result<std::map<std::string, format::Shape>> ProbeShapes(const format::Model& model,
                                                         const std::vector<format::Tensor>& inputs,
                                                         Executor& executor);

}  // namespace qtx::calibrate
