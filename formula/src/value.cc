#include "value.h"

#include <array>
#include <optional>

namespace qtx::formula {

std::string KindOf(const Value& value) {
  constexpr std::array kKinds = {"a number", "a number", "a condition",
                                 "a text",   "a list",   "a tensor"};
  return kKinds[value.data.index()];
}

std::optional<std::int64_t> AsInteger(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return *integer;
  const auto* number = std::get_if<Number>(&value.data);
  const auto* rational = number == nullptr ? nullptr : AsRational(*number);
  if (rational == nullptr || rational->get_den() != 1 || !rational->get_num().fits_slong_p()) {
    return std::nullopt;
  }
  return rational->get_num().get_si();
}

}  // namespace qtx::formula
