// Operators and functions of numbers, and of lists element by element.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "evaluator.h"
#include "qtx/formula/parser.h"

namespace qtx::formula {
namespace {

using Op = Code::Op;

// a modulo b takes the sign of b.
std::optional<Number> Modulo(const Number& a, const Number& b, Precision& precision) {
  const auto quotient = Divide(a, b, precision);
  if (!quotient) return std::nullopt;
  const Number whole = Round(*quotient, Rounding::kFloor, precision);
  return Add(a, Negate(Multiply(whole, b, precision)), precision);
}

// a times 2^bits, rounded down.
std::optional<std::int64_t> Shifted(std::int64_t a, std::int64_t bits) {
  constexpr std::int64_t kMostBits = 62;
  if (bits < -kMostBits || bits > kMostBits) return std::nullopt;
  if (bits <= 0) return a >> -bits;
  std::int64_t result = 0;
  const bool overflows = __builtin_mul_overflow(a, std::int64_t{1} << bits, &result);
  return overflows ? std::nullopt : std::optional(result);
}

// Of small integers, where the result is one.
std::optional<std::int64_t> OfIntegers(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case Op::kAdd:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::kSubtract:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::kMultiply:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::kDivide:
      if (b == 0 || b == -1 || a % b != 0) return std::nullopt;
      return a / b;
    case Op::kModulo:
      if (b == 0 || b == -1) return std::nullopt;
      return a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;
    case Op::kShiftLeft:
      return b == INT64_MIN ? std::nullopt : Shifted(a, b);
    case Op::kShiftRight:
      return b == INT64_MIN ? std::nullopt : Shifted(a, -b);
    default:
      return std::nullopt;
  }
}

// Likewise; of functions that give an integer for integers.
std::optional<std::int64_t> OfIntegers(Function function, std::span<const std::int64_t> x) {
  constexpr std::int64_t kMostBits = 62;
  const auto has_width = [&] { return x[1] >= 1 && x[1] <= kMostBits; };
  switch (function) {
    case Function::kFloor:
    case Function::kCeiling:
    case Function::kTowardZero:
    case Function::kHalfEven:
    case Function::kHalfAway:
    case Function::kHalfUp:
    case Function::kHalfDown:
      return x[0];
    case Function::kAbs:
      return x[0] == INT64_MIN ? std::nullopt : std::optional(std::abs(x[0]));
    case Function::kMin:
      return std::ranges::min(x);
    case Function::kMax:
      return std::ranges::max(x);
    case Function::kClamp:
      return std::min(std::max(x[0], x[1]), x[2]);
    case Function::kWrap: {
      if (!has_width()) return std::nullopt;
      const auto width = static_cast<unsigned>(64 - x[1]);
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(x[0]) << width) >> width;
    }
    case Function::kSaturate: {
      if (!has_width()) return std::nullopt;
      const std::int64_t limit = std::int64_t{1} << (x[1] - 1);
      return std::clamp(x[0], -limit, limit - 1);
    }
    case Function::kFloat32: {
      constexpr std::int64_t kExact = 1 << 24;
      return x[0] >= -kExact && x[0] <= kExact ? std::optional(x[0]) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

bool IsArithmetic(Function function) {
  return function >= Function::kSqrt && function <= Function::kErf;
}

// Those of the arguments that are integers.
std::vector<std::int64_t> IntegersOf(std::span<const Value> arguments) {
  std::vector<std::int64_t> integers;
  for (const Value& argument : arguments) {
    if (const auto* integer = argument.integer()) integers.push_back(*integer);
  }
  return integers;
}

}  // namespace

Result<Value> Evaluator::OfTwo(const Code& code) {
  QTX_ASSIGN_OR_RETURN(Value a, Eval(code.children[0]));
  QTX_ASSIGN_OR_RETURN(Value b, Eval(code.children[1]));
  if (a.tensors() != nullptr) {
    QTX_ASSIGN_OR_RETURN(a, Plain(code.children[0], std::move(a)));
  }
  if (b.tensors() != nullptr) {
    QTX_ASSIGN_OR_RETURN(b, Plain(code.children[1], std::move(b)));
  }
  return Combine(code, code.op, a, b);
}

Result<Value> Evaluator::Combine(const Code& code, Op op, const Value& a, const Value& b) {
  const auto *left = a.list(), *right = b.list();
  if (left == nullptr && right == nullptr) return CombineNumbers(code, op, a, b);
  if (left != nullptr && right != nullptr && left->size() != right->size()) {
    return Refuse(code, "found lists of " + std::to_string(left->size()) + " and " +
                            std::to_string(right->size()) + " elements, expected as many");
  }
  std::vector<Value> list;
  const std::size_t count = left != nullptr ? left->size() : right->size();
  for (std::size_t i = 0; i < count; ++i) {
    QTX_ASSIGN_OR_RETURN(list.emplace_back(), Combine(code, op, left != nullptr ? (*left)[i] : a,
                                                      right != nullptr ? (*right)[i] : b));
  }
  return Value(std::move(list));
}

Result<Value> Evaluator::CombineNumbers(const Code& code, Op op, const Value& a, const Value& b) {
  const auto *left = a.integer(), *right = b.integer();
  const bool of_element = a.of_element || b.of_element;
  if (left != nullptr && right != nullptr) {
    if (const auto integer = OfIntegers(op, *left, *right)) {
      Value value(*integer);
      value.of_element = of_element;
      return Rounded(code, std::move(value));
    }
  }
  Number x_storage, y_storage, result;
  QTX_ASSIGN_OR_RETURN(const Number* at_x, NumberAt(code, a, x_storage));
  const Number& x = *at_x;
  if (op == Op::kShiftLeft || op == Op::kShiftRight) {
    QTX_ASSIGN_OR_RETURN(const long bits, Integer(code, b));
    if (bits > static_cast<long>(kMaxRationalBits) || bits < -static_cast<long>(kMaxRationalBits)) {
      return Refuse(code, "found a shift by " + std::to_string(bits) + " bits");
    }
    const Number shifted = Multiply(x, TwoTo(op == Op::kShiftLeft ? bits : -bits), precision_);
    result = Round(shifted, Rounding::kFloor, precision_);
  } else {
    QTX_ASSIGN_OR_RETURN(const Number* at_y, NumberAt(code, b, y_storage));
    const Number& y = *at_y;
    switch (op) {
      case Op::kAdd:
        result = Add(x, y, precision_);
        break;
      case Op::kSubtract:
        result = Add(x, Negate(y), precision_);
        break;
      case Op::kMultiply:
        result = Multiply(x, y, precision_);
        break;
      case Op::kPower:
        result = Power(x, y, precision_);
        break;
      default: {
        auto quotient = op == Op::kModulo ? Modulo(x, y, precision_) : Divide(x, y, precision_);
        if (!quotient) return Refuse(code, "found a division of " + ToText(x) + " by zero");
        result = *std::move(quotient);
      }
    }
  }
  QTX_RETURN_IF_ERROR(Bounded(code, result));
  Value value(std::move(result));
  value.of_element = of_element;
  return Rounded(code, std::move(value));
}

// What an arithmetic does with the result of each operation on elements.
Result<Value> Evaluator::Rounded(const Code& code, Value value) {
  if (!code.rounds || !value.of_element || !program_.operation || precision_.undecided)
    return value;
  QTX_ASSIGN_OR_RETURN(Value rounded, CallReading(code, *program_.operation, std::move(value)));
  rounded.of_element = true;
  return rounded;
}

Result<Value> Evaluator::Negated(const Code& code) {
  QTX_ASSIGN_OR_RETURN(Value value, Eval(code.children[0]));
  QTX_ASSIGN_OR_RETURN(value, Plain(code.children[0], std::move(value)));
  if (const auto* list = value.list()) {
    std::vector<Value> negated;
    for (const Value& element : *list) {
      QTX_ASSIGN_OR_RETURN(const Number number, NumberIn(code.children[0], element));
      negated.emplace_back(Negate(number));
      if (const auto integer = AsInteger(negated.back())) negated.back() = Value(*integer);
    }
    return Value(std::move(negated));
  }
  Value negated;
  if (const auto* integer = value.integer(); integer && *integer != INT64_MIN) {
    negated = Value(-*integer);
  } else {
    Number storage;
    QTX_ASSIGN_OR_RETURN(const Number* number, NumberAt(code.children[0], value, storage));
    negated = Value(Negate(*number));
  }
  negated.of_element = value.of_element;
  return negated;
}

Result<Value> Evaluator::Apply(const Code& code) {
  switch (code.function) {
    case Function::kIf:
    case Function::kChoose:
      return Choose(code);
    case Function::kIsNan:
    case Function::kIsFinite: {
      QTX_ASSIGN_OR_RETURN(const bool holds, FreshTruth(code));
      return Value(holds);
    }
    case Function::kCodes:
      return Codes(code);
    case Function::kLength:
    case Function::kRowMajor:
    case Function::kCoordinates:
      return ApplyToList(code);
    default:
      break;
  }
  if (IsOfTensor(code.function)) return ApplyToTensor(code);
  std::vector<Value> arguments;
  for (const Code& child : code.children) {
    if (child.op == Op::kRest) {
      return Refuse(child, "found a list where one value is expected");
    }
    QTX_ASSIGN_OR_RETURN(Value value, Eval(child));
    QTX_ASSIGN_OR_RETURN(arguments.emplace_back(), Plain(child, std::move(value)));
  }
  if (code.function == Function::kClamp && arguments.size() == 1) {
    const Operand& output = OperandAt(output_);
    arguments.emplace_back(output.Least());
    arguments.emplace_back(output.Greatest());
  }
  return ApplyToNumbers(code, std::move(arguments));
}

Result<Value> Evaluator::ApplyToNumbers(const Code& code, std::vector<Value> arguments) {
  // One list, or several of one length, and numbers.
  std::optional<std::size_t> length;
  for (const Value& argument : arguments) {
    const auto* list = argument.list();
    if (list == nullptr) continue;
    if (length && *length != list->size()) return Refuse(code, "found lists of several lengths");
    length = list->size();
  }
  if (length) {
    std::vector<Value> list;
    for (std::size_t i = 0; i < *length; ++i) {
      std::vector<Value> each;
      for (const Value& argument : arguments) {
        each.push_back(argument.list() != nullptr ? (*argument.list())[i] : argument);
      }
      QTX_ASSIGN_OR_RETURN(list.emplace_back(), ApplyToNumbers(code, std::move(each)));
    }
    return Value(std::move(list));
  }
  const bool of_element = std::ranges::any_of(arguments, &Value::of_element);
  const std::vector<std::int64_t> integers = IntegersOf(arguments);
  if (integers.size() == arguments.size()) {
    if (const auto integer = OfIntegers(code.function, integers)) {
      Value value(*integer);
      value.of_element = of_element;
      return value;
    }
  }
  std::vector<Number> numbers;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Code& child = code.children[std::min(i, code.children.size() - 1)];
    QTX_ASSIGN_OR_RETURN(numbers.emplace_back(), NumberIn(child, arguments[i]));
  }
  auto number = formula::Apply(code.function, numbers, precision_);
  if (!number) return Refuse(code, number.error().message);
  Value value(*std::move(number));
  if (const auto integer = AsInteger(value)) value = Value(*integer);
  value.of_element = of_element;
  return IsArithmetic(code.function) ? Rounded(code, std::move(value)) : Result<Value>(value);
}

Result<Value> Evaluator::Choose(const Code& code) {
  if (code.function == Function::kIf) {
    QTX_ASSIGN_OR_RETURN(const bool holds, Truth(code.children[0]));
    return Eval(code.children[holds ? 1 : 2]);
  }
  QTX_ASSIGN_OR_RETURN(const Value number, Eval(code.children[0]));
  QTX_ASSIGN_OR_RETURN(const long which, Integer(code.children[0], number));
  if (which >= 0 && which + 1 < std::ssize(code.children))
    return Eval(code.children[Slot(which + 1)]);
  return Refuse(code, "found choice " + std::to_string(which) + " of " +
                          std::to_string(code.children.size() - 1));
}

Result<Value> Evaluator::Codes(const Code& code) {
  QTX_ASSIGN_OR_RETURN(const Value value, Eval(code.children[0]));
  const auto* text = value.text();
  if (text == nullptr) return Refuse(code, "found " + KindOf(value) + ", expected a text");
  if (text->size() > kMostOfList) return TooLong(code);
  std::vector<Value> codes;
  for (const char character : *text) {
    codes.emplace_back(std::int64_t{static_cast<unsigned char>(character)});
  }
  return Value(std::move(codes));
}

Result<Value> Evaluator::ApplyToList(const Code& code) {
  QTX_ASSIGN_OR_RETURN(const std::vector<Value> arguments, Items(code, 0));
  if (code.function == Function::kLength) {
    if (const auto* list = arguments[0].list()) return Value(std::ssize(*list));
    const auto* tensors = arguments[0].tensors();
    if (tensors != nullptr && tensors->count == 1) {
      const Operand& tensor = OperandAt(tensors->first);
      return tensor.has_dims() ? Value(tensor.size()) : Result<Value>(Open(code, tensor));
    }
    return Refuse(code, "found " + KindOf(arguments[0]) + ", expected a list");
  }
  const auto* sizes = arguments[1].list();
  if (sizes == nullptr) return Refuse(code, "found " + KindOf(arguments[1]) + ", expected a list");
  format::Dims dims;
  for (const Value& size : *sizes) {
    QTX_ASSIGN_OR_RETURN(dims.emplace_back(), Integer(code, size));
  }
  if (code.function == Function::kCoordinates) {
    QTX_ASSIGN_OR_RETURN(const long element, Integer(code, arguments[0]));
    if (element < 0 || std::ranges::any_of(dims, [](std::int64_t dim) { return dim < 1; })) {
      return Refuse(code, "found an element of a tensor without elements");
    }
    const format::Dims at = CoordinatesOf(element, dims);
    return Value(std::vector<Value>(at.begin(), at.end()));
  }
  const auto* at = arguments[0].list();
  if (at == nullptr || at->size() != dims.size()) {
    return Refuse(code, "expected as many coordinates as sizes");
  }
  std::int64_t element = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const long coordinate, Integer(code, (*at)[i]));
    element = element * dims[i] + coordinate;
  }
  return Value(element);
}

// quantization.S13.
Result<Value> Evaluator::InRealType(const Code& code, format::ElementType type, Value value) {
  if (!format::IsHalf(type)) return value;
  const Function function =
      type == format::ElementType::kFloat16 ? Function::kFloat16 : Function::kBfloat16;
  QTX_ASSIGN_OR_RETURN(const Number number, NumberIn(code, value));
  auto rounded = formula::Apply(function, std::span(&number, 1), precision_);
  if (!rounded.has_value()) return Refuse(code, rounded.error().message);
  return Value(*std::move(rounded));
}

}  // namespace qtx::formula
