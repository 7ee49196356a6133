#include "value.h"

#include <optional>

namespace qtx::formula {

std::string KindOf(const Value& value) {
  if (value.is_number()) return "a number";
  if (value.condition() != nullptr) return "a condition";
  if (value.text() != nullptr) return "a text";
  return value.list() != nullptr ? "a list" : "a tensor";
}

std::optional<std::int64_t> AsInteger(const Value& value) {
  if (const auto* integer = value.integer()) return *integer;
  const auto* number = value.number();
  const auto* rational = number == nullptr ? nullptr : AsRational(*number);
  if (rational == nullptr || rational->get_den() != 1 || !rational->get_num().fits_slong_p()) {
    return std::nullopt;
  }
  return rational->get_num().get_si();
}

}  // namespace qtx::formula
