#include "onnx/dimensions.h"

namespace qtx::convert {

void OpenNegativeDimensions(format::Model& model, Ledger& ledger) {
  for (auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (format::ValueInfo& info : *list) {
      if (!info.type || !info.type->shape) continue;
      for (format::Dimension& dimension : *info.type->shape) {
        if (!dimension.value || *dimension.value >= 0) continue;
        ledger.Changed(
            info.name, "shape",
            "dimension " + std::to_string(*dimension.value) + " is negative, so unknown");
        dimension.value.reset();
      }
    }
  }
}

}  // namespace qtx::convert
