// What an expression of a formula can be: a number, a condition, a text, a list or a tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "number.h"

namespace qtx::formula {

/// Operands `first` to `first + count - 1` of a scope: one tensor, or those of a variadic input.
struct Tensors {
  int first = 0;
  int count = 0;
  bool variadic = false;
  bool broadcasts = false;  // as a number it is the element that broadcasts to that of the result
};

/// Small integers, which most indices are, are held apart from other numbers. What is larger is
/// shared, so that a value is cheap to copy.
class Value {
 public:
  Value() = default;                                  // 0
  Value(std::int64_t integer) : integer_(integer) {}  // NOLINT(google-explicit-constructor)
  Value(Number number)                                // NOLINT(google-explicit-constructor)
      : kind_(Kind::kNumber), object_(std::make_shared<const Number>(std::move(number))) {}
  Value(mpq_class number)  // NOLINT(google-explicit-constructor)
      : Value(Number(std::move(number))) {}
  explicit Value(bool condition) : kind_(Kind::kCondition), condition_(condition) {}
  explicit Value(std::string text)
      : kind_(Kind::kText), object_(std::make_shared<const std::string>(std::move(text))) {}
  explicit Value(Tensors tensors) : kind_(Kind::kTensors), tensors_(tensors) {}
  explicit Value(std::vector<Value> list)
      : kind_(Kind::kList), object_(std::make_shared<const std::vector<Value>>(std::move(list))) {}

  bool is_number() const { return kind_ == Kind::kInteger || kind_ == Kind::kNumber; }
  // What it is; nullptr where it is something else.
  const std::int64_t* integer() const { return kind_ == Kind::kInteger ? &integer_ : nullptr; }
  const Number* number() const { return Object<Number>(Kind::kNumber); }  // no small integer
  const bool* condition() const { return kind_ == Kind::kCondition ? &condition_ : nullptr; }
  const std::string* text() const { return Object<std::string>(Kind::kText); }
  const std::vector<Value>* list() const { return Object<std::vector<Value>>(Kind::kList); }
  const Tensors* tensors() const { return kind_ == Kind::kTensors ? &tensors_ : nullptr; }

  bool of_element = false;  // it comes from an element of a real operand

 private:
  enum class Kind : std::uint8_t { kInteger, kNumber, kCondition, kText, kList, kTensors };
  template <typename T>
  const T* Object(Kind kind) const {
    return kind_ == kind ? static_cast<const T*>(object_.get()) : nullptr;
  }

  Kind kind_ = Kind::kInteger;
  bool condition_ = false;
  Tensors tensors_;
  std::int64_t integer_ = 0;
  std::shared_ptr<const void> object_;
};

inline Value ListOf(const std::vector<std::int64_t>& integers) {
  return Value(std::vector<Value>(integers.begin(), integers.end()));
}

/// REQUIRES: value.is_number().
inline Number ToNumber(const Value& value) {
  const auto* integer = value.integer();
  if (integer == nullptr) return *value.number();
  static_assert(sizeof(long) == sizeof(std::int64_t));
  return mpq_class(static_cast<long>(*integer));
}

/// "a number", "a list": for messages.
std::string KindOf(const Value& value);

/// The integer that a value is; nullopt for other numbers, for those beyond 64 bits and for what is
/// no number.
std::optional<std::int64_t> AsInteger(const Value& value);

}  // namespace qtx::formula
