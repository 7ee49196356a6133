#include "arithmetic/sum_across.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace qtx::reference {
namespace {

constexpr std::size_t kMaxTerms = 4;

}  // namespace

SumAcross::SumAcross(const Arithmetic& arithmetic, std::span<const Operand> operands,
                     Output* output)
    : domain_(DomainFor(arithmetic, *output)),
      operands_(operands),
      output_(output),
      few_integers_(operands.size() <= kMaxTerms &&
                    std::ranges::all_of(operands, &Operand::is_integer)) {}

void SumAcross::PutFloat32(std::int64_t element, std::span<const std::int64_t> indices,
                           std::int64_t divisor) {
  float sum = operands_[0].binary32(indices[0]);
  for (std::size_t k = 1; k < indices.size(); ++k) sum += operands_[k].binary32(indices[k]);
  output_->PutFloat(element, divisor == 1 ? sum : sum / static_cast<float>(divisor));
}

void SumAcross::PutTerms(std::int64_t element, std::span<const std::int64_t> indices,
                         std::int64_t divisor) {
  std::array<Term, kMaxTerms> terms;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const Operand& x = operands_[k];
    terms[k] = {x.integer(indices[k]), static_cast<double>(x.scale(indices[k]))};
  }
  output_->PutTerms(element, std::span(terms).first(indices.size()), divisor);
}

// Each of n - 1 additions errs by at most u = 2^-53 times the sum of magnitudes, which errs as much
// itself, and the division by u: less than (n + 2)u of it, of which twice is taken.
bool SumAcross::PutIfCertain(std::int64_t element, std::span<const std::int64_t> indices,
                             std::int64_t divisor) {
  double sum = 0;
  double magnitude = 0;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const Dyadic x = operands_[k].exact(indices[k]);
    if (x.kind != Dyadic::Kind::kFinite) return false;
    const auto value = ExactDouble(x);
    if (!value) return false;
    sum += *value;
    magnitude += std::abs(*value);
  }
  const auto over = static_cast<double>(divisor);
  const double bound = magnitude / over * (static_cast<double>(indices.size()) + 2) * 0x1p-52;
  return output_->PutIfCertain(element, {sum / over, bound});
}

void SumAcross::Put(std::int64_t element, std::span<const std::int64_t> indices,
                    std::int64_t divisor) {
  if (domain_ == Domain::kFloat32) return PutFloat32(element, indices, divisor);
  if (few_integers_) return PutTerms(element, indices, divisor);
  if (PutIfCertain(element, indices, divisor)) return;
  output_->CountFallback();
  ExactSum sum;
  for (std::size_t k = 0; k < indices.size(); ++k) sum.Add(operands_[k].exact(indices[k]));
  Real total = sum.Value();
  if (total.finite && divisor != 1) total.value /= Rational(static_cast<long>(divisor));
  output_->PutReal(element, total);
}

}  // namespace qtx::reference
