#include "arithmetic/extreme_finder.h"

namespace qtx::reference {

bool Precedes(End end, const Dyadic& a, const Dyadic& b) {
  if (b.kind == Dyadic::Kind::kNan) return false;
  if (a.kind == Dyadic::Kind::kNan) return true;
  return end == End::kGreatest ? Compare(a, b) > 0 : Compare(a, b) < 0;
}

std::int64_t ExtremeFinder::At(std::span<const std::int64_t> sources) const {
  std::int64_t best = sources[0];
  if (one_scale_) {
    for (const std::int64_t source : sources) {
      const std::int64_t a = x_->integer(source);
      const std::int64_t b = x_->integer(best);
      if (end_ == End::kGreatest ? a > b : a < b) best = source;
    }
    return best;
  }
  Dyadic value = x_->exact(best);
  for (const std::int64_t source : sources.subspan(1)) {
    const Dyadic candidate = x_->exact(source);
    if (!Precedes(end_, candidate, value)) continue;
    best = source;
    value = candidate;
  }
  return best;
}

ExtremeAcross::ExtremeAcross(End end, const Arithmetic& arithmetic,
                             std::span<const Operand> operands, Output* output)
    : end_(end), operands_(operands) {
  for (const Operand& operand : operands) {
    converters_.emplace_back(arithmetic, operand, output, Purpose::kSelect);
  }
}

void ExtremeAcross::Put(std::int64_t element, std::span<const std::int64_t> indices) {
  std::size_t best = 0;
  Dyadic value = operands_[0].exact(indices[0]);
  for (std::size_t k = 1; k < indices.size(); ++k) {
    const Dyadic candidate = operands_[k].exact(indices[k]);
    if (!Precedes(end_, candidate, value)) continue;
    best = k;
    value = candidate;
  }
  converters_[best].Put(element, indices[best]);
}

}  // namespace qtx::reference
