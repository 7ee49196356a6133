// NumPy's .npz archives, array by array.
#pragma once

#include <string>

#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::calibrate {

/// The array `name` of an archive, else its only one.
/// Errors: kUnreadable; kInvalid for what is no archive, has no such array, or is damaged;
/// kTooLarge; those of format::ParseNpy. All begin with the path.
Result<format::Tensor> ReadNpzArray(const std::string& path, const std::string& name);

}  // namespace qtx::calibrate
