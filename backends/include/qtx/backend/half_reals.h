// Values whose reals are FLOAT16 or BFLOAT16, for backends that have no such.
#pragma once

#include <string>

#include "qtx/format/model.h"

namespace qtx::backend {

/// Errors: kUnsupported, naming the first quantized value with reals of 16 bits: kernels of stored
/// integers are not for it.  Source: quantization.S13.
inline Result<void> DeclineHalfReals(const format::Graph& graph) {
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const format::ValueInfo& value : *list) {
      if (!value.type || !value.type->quantization) continue;
      const format::ElementType real = value.type->quantization->real_type;
      if (!format::IsHalf(real)) continue;
      return Error{ErrorCode::kUnsupported, "value '" + value.name + "'",
                   "reals of " + std::string(format::Name(real))};
    }
  }
  return {};
}

}  // namespace qtx::backend
