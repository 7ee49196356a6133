// Runs a model in arithmetic `exact` and carries, with every value, a radius: how far from it an
// honest floating-point evaluation of the same nodes may be.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::reference::golden {

struct Enclosed {
  format::Tensor value;        // by arithmetic exact
  std::vector<double> radius;  // one per element, or empty: every bit must agree
};

/// The graph's outputs.  Errors: those of the interpreter; kUnsupported when a rounded value enters
/// an operator of which bounds.h does not know how it spreads.
Result<std::vector<Enclosed>> Enclose(const format::Model& model,
                                      const std::vector<format::Tensor>& inputs);

}  // namespace qtx::reference::golden
