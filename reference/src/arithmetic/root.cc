#include "arithmetic/root.h"

namespace qtx::reference {

std::optional<Rational> RationalRoot(const Rational& value, unsigned degree) {
  // In lowest terms, so both parts are powers when the quotient is one.
  Rational root;
  if (mpz_root(root.get_num_mpz_t(), value.get_num_mpz_t(), degree) == 0) return std::nullopt;
  if (mpz_root(root.get_den_mpz_t(), value.get_den_mpz_t(), degree) == 0) return std::nullopt;
  return root;
}

void PutRoot(std::int64_t element, const Real& value, unsigned degree, Output* output) {
  if (!value.finite) return output->PutReal(element, value);
  if (auto root = RationalRoot(value.value, degree)) {
    return output->PutReal(element, {true, 0, *std::move(root)});
  }
  output->PutEnclosed(element, [&](int bits) { return Root(Interval(value.value, bits), degree); });
}

float NearestRoot(const Rational& value, unsigned degree) {
  if (const auto root = RationalRoot(value, degree)) return NearestFloat(*root);
  return NearestFloat([&](int bits) { return Root(Interval(value, bits), degree); });
}

}  // namespace qtx::reference
