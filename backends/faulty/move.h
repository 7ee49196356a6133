// Results whose elements are elements of the inputs, or padding.
#pragma once

#include <vector>

#include "values.h"

namespace qtx::backend::faulty {

struct Source {
  const Values* from = nullptr;  // nullptr: real zero
  std::size_t element = 0;
};

/// Each element's real mapped to the output's type; but for Cast, which is no data movement, stored
/// values are copied between equal parameters of a whole tensor.  Source: float32.S7, identity.S2.
/// Errors: those of Writer::Make, kUnsupported for plain types that differ.
Result<Tensor> Moved(const Call& call, std::size_t output, Dims dims,
                     const std::vector<Source>& sources);

/// All elements of `from` in their order.
std::vector<Source> AllOf(const Values& from);

}  // namespace qtx::backend::faulty
