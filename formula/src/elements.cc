#include "qtx/formula/elements.h"

#include <cmath>
#include <limits>
#include <optional>

#include "operand.h"

namespace qtx::formula {

Elements::Elements(const format::Tensor& tensor, const ElementTable* table)
    : operand_(std::make_unique<Operand>("", tensor, table)) {}
Elements::Elements(Elements&&) noexcept = default;
Elements::~Elements() = default;

std::int64_t Elements::size() const { return operand_->size(); }

std::string Elements::Stored(std::int64_t element) const {
  return ToText(ToNumber(operand_->Stored(element)));
}

std::string Elements::Real(std::int64_t element) const {
  return ToText(ToNumber(operand_->Real(element)));
}

double Elements::Magnitude(std::int64_t element) const {
  const Number real = ToNumber(operand_->Real(element));
  const auto* rational = AsRational(real);
  return rational == nullptr ? std::numeric_limits<double>::infinity()
                             : std::abs(rational->get_d());
}

bool Elements::Same(const Elements& other, std::int64_t element) const {
  const Number a = ToNumber(operand_->Stored(element));
  const Number b = ToNumber(other.operand_->Stored(element));
  if (IsNan(a) || IsNan(b)) return IsNan(a) && IsNan(b);
  Precision exact;
  return Compare(a, b, exact) == 0;
}

std::int64_t Elements::Broadcast(const format::Dims& coordinates) const {
  return operand_->Broadcast(coordinates).value_or(-1);
}

}  // namespace qtx::formula
