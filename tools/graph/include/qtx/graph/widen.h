// FLOAT in the place of FLOAT16 and BFLOAT16.
#pragma once

#include <cstddef>

#include "qtx/format/model.h"

namespace qtx::graph {

struct Widened {
  format::Model model;
  std::size_t count = 0;  // nodes, constants and declarations that had a half; 0: the same model
};

/// The model with FLOAT values, constants and Casts where it has FLOAT16 or BFLOAT16, in bodies,
/// too. Graph inputs and outputs keep their types, with a Cast to FLOAT behind, or before, each. A
/// Cast that has nothing left to do is an Identity. Constants keep their numbers; what was rounded
/// to a half on the way is not rounded any more.
/// Errors: those of Decode, naming the initializer.
Result<Widened> WidenHalves(const format::Model& model);

}  // namespace qtx::graph
