#include "arithmetic/quotient.h"

#include <cmath>

namespace qtx::reference {

Divider::Divider(const Arithmetic& arithmetic, const Operand& a, const Operand& b, Output* output)
    : domain_(DomainFor(arithmetic, *output)), a_(&a), b_(&b), output_(output) {}

void Divider::Put(std::int64_t element, std::int64_t ia, std::int64_t ib) {
  if (domain_ == Domain::kFloat32) {
    return output_->PutFloat(element, a_->binary32(ia) / b_->binary32(ib));
  }
  const Dyadic a = a_->exact(ia);
  const Dyadic b = b_->exact(ib);
  const bool finite = a.kind == Dyadic::Kind::kFinite && b.kind == Dyadic::Kind::kFinite;
  if (finite && b.mantissa != 0) {
    const auto left = ExactDouble(a);
    const auto right = ExactDouble(b);
    if (left && right) {
      // Both are exact: the quotient errs by 2^-53 of itself. Reals that are not plain numbers lie
      // between 2^-170 and 2^170, so that it is a normal number.
      const double quotient = *left / *right;
      if (output_->PutIfCertain(element, {quotient, std::abs(quotient) * 0x1p-52})) return;
    }
    output_->CountFallback();
  }
  output_->PutReal(element, Divide(a, b));
}

}  // namespace qtx::reference
