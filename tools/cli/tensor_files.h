// Tensors from files, for the inputs of a model.
#pragma once

#include <string>
#include <vector>

#include "qtx/format/feature.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::cli {

/// The inputs of `model`, in the order of graph.input without initializers, from NAME=FILE
/// arguments; a single input needs no NAME, nor does a .npz archive with an array for each input.
/// FLOAT for a quantized input is quantized by that input's own parameters in `arithmetic`, DOUBLE
/// rounded once to a float input's type, and stderr says so.
/// Errors: kUnreadable; kInvalid for an argument or a file that does not fit the model.
Result<std::vector<format::Tensor>> ReadInputs(
    const format::Model& model, const std::vector<std::string>& arguments,
    const std::string& arithmetic, format::Features features = format::Features::Current());

}  // namespace qtx::cli
