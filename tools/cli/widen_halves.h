// Models in FLOAT16 and BFLOAT16, which have no statistics of their own.
#pragma once

#include <string>

#include "qtx/format/print.h"
#include "qtx/graph/widen.h"

namespace qtx::cli {

/// Puts FLOAT in the place of halves, and says so on stderr.  Errors: those of graph::WidenHalves.
inline Result<void> WidenHalves(format::Model& model, const std::string& name) {
  auto widened = graph::WidenHalves(model);
  if (!widened.has_value()) return At(name, widened.error());
  if (widened->count == 0) return {};
  model = std::move(widened->model);
  format::Print(stderr,
                "{}: found FLOAT16 or BFLOAT16 in {} places, which are FLOAT from here on\n", name,
                widened->count);
  return {};
}

}  // namespace qtx::cli
