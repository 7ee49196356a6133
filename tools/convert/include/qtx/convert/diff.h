// In what two models differ.
#pragma once

#include <string>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::convert {

struct Difference {
  std::string place;  // "model", "node 'conv'", "value 'x'", "initializer 'w'", "input[0]"
  std::string field;  // "scale", "attribute 'pads'", "data", "present", ...
  std::string a, b;   // what each has, as text; data: the first element that differs, and how many
};

/// Values and initializers are compared by name, nodes by what they produce, initializers by the
/// elements they hold, whatever carries them. Empty: the models mean the same and say the same.
/// Errors: those of Decode, with the initializer and "a" or "b" in `where`.
Result<std::vector<Difference>> Diff(const format::Model& a, const format::Model& b);

}  // namespace qtx::convert
