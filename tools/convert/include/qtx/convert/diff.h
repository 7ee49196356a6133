// Differences between two models.
#pragma once

#include <string>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::convert {

struct Difference {
  std::string place;  // "model", "node 'conv'", "value 'x'", "initializer 'w'", "input[0]"
  std::string field;  // "scale", "attribute 'pads'", "data", "present", ...
  std::string a,
      b;  // both as text; for data the first differing element and the number of differing ones
};

/// Compares values and initializers by name, nodes by their outputs, and initializers by their
/// elements, whatever their encoding. Empty if the models agree.
/// Errors: those of Decode, with the initializer and "a" or "b" in `where`.
Result<std::vector<Difference>> Diff(const format::Model& a, const format::Model& b);

}  // namespace qtx::convert
