// Constants of FLOAT16 that a model widens before it uses them, as TFLite's files of FLOAT16 do.
#pragma once

#include <set>
#include <string>

#include "qtx/format/model.h"

namespace qtx::convert {

struct Widened {
  format::Model model;
  std::set<std::string> halves;  // FLOAT initializers whose every value is one of FLOAT16
};

/// The model with an initializer in the place of each Cast of a FLOAT16 initializer to FLOAT, and
/// of each Transpose of one: a kernel's weights must be constants.
/// Errors: those of GraphIndex::Of.
Result<Widened> WidenHalves(const format::Model& model);

}  // namespace qtx::convert
