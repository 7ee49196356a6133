#include "shapes.h"

#include <algorithm>
#include <string>

#include "qtx/format/inference.h"
#include "run.h"

namespace qtx::calibrate {
namespace {

bool HasOpenSizes(const format::Model& model) {
  return std::ranges::any_of(RequiredInputs(model), [](const format::ValueInfo* input) {
    return input->type && input->type->shape && !format::FixedDims(*input->type->shape);
  });
}

}  // namespace

void OpenSizes(const format::Model& model, Observations& observations) {
  if (!HasOpenSizes(model)) return;
  const format::Inference inference(model);
  for (auto& [value, observation] : observations) {
    if (!observation.shape) continue;
    const format::ValueFacts* facts = inference.Find(value);
    const bool known =
        facts != nullptr && facts->dims && facts->dims->size() == observation.shape->size();
    for (std::size_t i = 0; i < observation.shape->size(); ++i) {
      const std::int64_t size = known ? (*facts->dims)[i] : format::kUnknownSize;
      if (size >= 0) continue;
      (*observation.shape)[i] = {.value = {}, .symbol = std::string(inference.Symbol(size))};
    }
  }
}

}  // namespace qtx::calibrate
