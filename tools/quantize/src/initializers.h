// The initializers of a model to be quantized.
#pragma once

#include <string>

#include "qtx/graph/graph_index.h"

namespace qtx::quantize {

using graph::GraphIndex;
using graph::PlaceOf;
using graph::Use;

/// "initializer 'w1'".
inline std::string PlaceOfInitializer(const std::string& name) {
  return "initializer '" + name + "'";
}

/// The elements of a FLOAT initializer.  Errors: those of Decode.  REQUIRES: there is an
/// initializer of this name.
inline Result<format::Tensor> LoadInitializer(const GraphIndex& index, const std::string& name) {
  auto tensor = format::Decode(*index.Initializer(name), index.model().folder);
  if (!tensor.has_value()) return At(PlaceOfInitializer(name), tensor.error());
  return tensor;
}

}  // namespace qtx::quantize
