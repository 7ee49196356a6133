// What an expression of a formula can be: a number, a condition, a text, a list or a tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "number.h"

namespace qtx::formula {

struct Value;
using List = std::shared_ptr<const std::vector<Value>>;

/// Operands `first` to `first + count - 1` of a scope: one tensor, or those of a variadic input.
struct Tensors {
  int first = 0;
  int count = 0;
  bool variadic = false;
  bool broadcasts = false;  // as a number it is the element that broadcasts to that of the result
};

/// Small integers, which most indices are, are held apart from other numbers.
struct Value {
  std::variant<std::int64_t, Number, bool, std::string, List, Tensors> data;
  bool of_element = false;  // it comes from an element of a real operand

  Value() = default;
  Value(std::int64_t integer) : data(integer) {}     // NOLINT(google-explicit-constructor)
  Value(Number number) : data(std::move(number)) {}  // NOLINT(google-explicit-constructor)
  Value(mpq_class number)
      : data(Number(std::move(number))) {}  // NOLINT(google-explicit-constructor)
  explicit Value(bool condition) : data(condition) {}
  explicit Value(std::string text) : data(std::move(text)) {}
  explicit Value(Tensors tensors) : data(tensors) {}
  explicit Value(std::vector<Value> list)
      : data(std::make_shared<const std::vector<Value>>(std::move(list))) {}

  bool is_number() const { return data.index() <= 1; }
  const std::vector<Value>* list() const {
    const auto* list = std::get_if<List>(&data);
    return list == nullptr ? nullptr : list->get();
  }
};

inline Value ListOf(const std::vector<std::int64_t>& integers) {
  return Value(std::vector<Value>(integers.begin(), integers.end()));
}

/// REQUIRES: value.is_number().
inline Number ToNumber(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    static_assert(sizeof(long) == sizeof(std::int64_t));
    return mpq_class(static_cast<long>(*integer));
  }
  return std::get<Number>(value.data);
}

/// "a number", "a list": for messages.
std::string KindOf(const Value& value);

/// The integer that a value is; nullopt for other numbers, for those beyond 64 bits and for what is
/// no number.
std::optional<std::int64_t> AsInteger(const Value& value);

}  // namespace qtx::formula
