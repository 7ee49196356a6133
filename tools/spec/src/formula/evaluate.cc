#include "formula/evaluate.h"

#include <algorithm>

#include "formula/lexer.h"

namespace qtx::spec {
namespace {

using Op = Code::Op;

std::size_t Index(std::int64_t i) { return static_cast<std::size_t>(i); }

format::Dims CoordinatesOf(std::int64_t element, const format::Dims& dims) {
  format::Dims coordinates(dims.size());
  for (std::size_t i = dims.size(); i-- > 0;) {
    coordinates[i] = element % dims[i];
    element /= dims[i];
  }
  return coordinates;
}

bool IsTooLong(const Number& value) {
  const auto* rational = AsRational(value);
  if (rational == nullptr) return false;
  constexpr std::size_t kLimbs = kMaxRationalBits / GMP_NUMB_BITS;
  return mpz_size(rational->get_num_mpz_t()) > kLimbs ||
         mpz_size(rational->get_den_mpz_t()) > kLimbs;
}

// a modulo b takes the sign of b.
std::optional<Number> Modulo(const Number& a, const Number& b, Precision& precision) {
  const auto quotient = Divide(a, b, precision);
  if (!quotient) return std::nullopt;
  const Number whole = Round(*quotient, Rounding::kFloor, precision);
  return Add(a, Negate(Multiply(whole, b, precision)), precision);
}

}  // namespace

Evaluator::Evaluator(const Program& program, const Scope& scope, const std::string& where)
    : program_(program), scope_(scope), where_(where), caches_(Index(program.caches)) {}

Error Evaluator::Refuse(const Code& code, std::string message) const {
  return Error{ErrorCode::kInvalid, PlaceIn(where_, code.place), std::move(message)};
}

Result<Number> Evaluator::Element(const Program::Result& result, std::int64_t element) {
  for (mpfr_prec_t bits = kFirstBits;; bits *= 2) {
    precision_ = Precision{std::min(bits, kMaxBits)};
    auto value = InType(result, element);
    if (!precision_.undecided) return value;
    if (bits < kMaxBits) continue;
    return Error{
        ErrorCode::kTooLarge, where_,
        std::to_string(kMaxBits) + " bits do not decide how a value is rounded or compared"};
  }
}

Result<Number> Evaluator::InType(const Program::Result& result, std::int64_t element) {
  const Operand& output = scope_.operands[Index(scope_.first_output + result.output)];
  const Code& body = program_.routines[Index(result.routine)].body;
  coordinates_ = CoordinatesOf(element, output.dims());
  values_.assign(program_.routines.size(), std::nullopt);
  locals_.clear();
  base_ = 0;
  steps_ = 0;
  QTX_ASSIGN_OR_RETURN(Number value, Eval(body));
  if (result.stored || precision_.undecided) return value;
  auto mapped = MapToType(value, output, element, precision_);
  if (!mapped) return Refuse(body, mapped.error().message);
  return mapped;
}

Result<void> Evaluator::Step(const Code& code) {
  if (++steps_ <= kMaxSteps) return {};
  return Error{ErrorCode::kTooLarge, PlaceIn(where_, code.place),
               "expected at most " + std::to_string(kMaxSteps) + " steps for an element"};
}

Result<Number> Evaluator::Eval(const Code& code) {
  if (code.op == Op::kConstant) return code.constant;
  if (code.op == Op::kLocal) return locals_[base_ + Index(code.index)];
  QTX_RETURN_IF_ERROR(Step(code));
  if (code.cache < 0) return Fresh(code);
  if (const Cache& cache = caches_[Index(code.cache)];
      cache.value && cache.bits == precision_.bits) {
    return *cache.value;
  }
  QTX_ASSIGN_OR_RETURN(Number value, Fresh(code));
  if (!precision_.undecided) caches_[Index(code.cache)] = {value, precision_.bits};
  return value;
}

Result<Number> Evaluator::Fresh(const Code& code) {
  switch (code.op) {
    case Op::kCoordinate:
      return Number(mpq_class(static_cast<long>(coordinates_[Index(code.index)])));
    case Op::kRoutine:
      return Routine(code);
    case Op::kPart:
      return Part(code);
    case Op::kApply:
      return Apply(code);
    case Op::kNegate: {
      QTX_ASSIGN_OR_RETURN(const Number value, Eval(code.children[0]));
      return Negate(value);
    }
    case Op::kSum:
    case Op::kProduct:
    case Op::kLeast:
    case Op::kGreatest:
      return Range(code);
    case Op::kFold:
      return Fold(code);
    default:
      return OfTwo(code);
  }
}

Result<Number> Evaluator::Bounded(const Code& code, Number value) const {
  if (!IsTooLong(value)) return value;
  return Error{ErrorCode::kTooLarge, PlaceIn(where_, code.place),
               "found a number of more than " + std::to_string(kMaxRationalBits) + " bits"};
}

Result<Number> Evaluator::OfTwo(const Code& code) {
  QTX_ASSIGN_OR_RETURN(const Number a, Eval(code.children[0]));
  if (code.op == Op::kShiftLeft || code.op == Op::kShiftRight) {
    QTX_ASSIGN_OR_RETURN(const long bits, Integer(code.children[1]));
    const Number shifted = Multiply(a, TwoTo(code.op == Op::kShiftLeft ? bits : -bits), precision_);
    return Bounded(code, Round(shifted, Rounding::kFloor, precision_));
  }
  QTX_ASSIGN_OR_RETURN(const Number b, Eval(code.children[1]));
  switch (code.op) {
    case Op::kAdd:
      return Bounded(code, Add(a, b, precision_));
    case Op::kSubtract:
      return Bounded(code, Add(a, Negate(b), precision_));
    case Op::kMultiply:
      return Bounded(code, Multiply(a, b, precision_));
    case Op::kPower:
      return Bounded(code, Power(a, b, precision_));
    default: {
      auto quotient = code.op == Op::kModulo ? Modulo(a, b, precision_) : Divide(a, b, precision_);
      if (!quotient) return Refuse(code, "found a division of " + ToText(a) + " by zero");
      return Bounded(code, *std::move(quotient));
    }
  }
}

Result<Number> Evaluator::Routine(const Code& code) {
  const spec::Routine& routine = program_.routines[Index(code.index)];
  const bool is_value = routine.parameters == 0;
  if (is_value && values_[Index(code.index)]) return *values_[Index(code.index)];
  const std::size_t caller = base_;
  const std::size_t top = locals_.size();
  std::vector<Number> arguments;
  for (const Code& child : code.children) {
    QTX_ASSIGN_OR_RETURN(arguments.emplace_back(), Eval(child));
  }
  std::ranges::move(arguments, std::back_inserter(locals_));
  base_ = top;
  auto value = Eval(routine.body);
  base_ = caller;
  locals_.resize(top);
  if (is_value && value) values_[Index(code.index)] = *value;
  return value;
}

Result<std::int64_t> Evaluator::ElementOf(const Code& code, const Operand& operand) {
  if (code.children.empty()) {
    if (operand.size() == 1) return 0;
    const auto element = operand.Broadcast(coordinates_);
    if (!element) return Refuse(code, operand.name() + " does not broadcast to the output");
    return *element;
  }
  format::Dims at;
  std::string written;
  for (const Code& child : code.children) {
    QTX_ASSIGN_OR_RETURN(at.emplace_back(), Integer(child));
    written += (written.empty() ? "" : ", ") + std::to_string(at.back());
  }
  const auto element = operand.At(at);
  if (!element) {
    return Refuse(code, "found index [" + written + "] of " + operand.name() + ", whose shape is " +
                            format::ToString(operand.dims()));
  }
  return *element;
}

Result<Number> Evaluator::Part(const Code& code) {
  const Operand& operand = scope_.operands[Index(code.index)];
  if (code.part == Code::Part::kMin) return Number(mpq_class(operand.Least()));
  if (code.part == Code::Part::kMax) return Number(mpq_class(operand.Greatest()));
  if (code.part == Code::Part::kReal || code.part == Code::Part::kStored) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t element, ElementOf(code, operand));
    return code.part == Code::Part::kReal ? operand.Real(element) : operand.Stored(element);
  }
  std::int64_t parameter = 0;
  if (!code.children.empty()) {
    QTX_ASSIGN_OR_RETURN(parameter, Integer(code.children[0]));
    if (parameter < 0 || parameter >= operand.parameters()) {
      return Refuse(code, "found parameter " + std::to_string(parameter) + " of " + operand.name() +
                              ", which has " + std::to_string(operand.parameters()));
    }
  } else if (!operand.per_tensor()) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t element, ElementOf(code, operand));
    parameter = operand.Parameter(element);
  }
  if (code.part == Code::Part::kScale) return Number(operand.Scale(parameter));
  return Number(mpq_class(operand.Offset(parameter)));
}

Result<Number> Evaluator::Apply(const Code& code) {
  if (code.function == Function::kIf) {
    QTX_ASSIGN_OR_RETURN(const bool holds, Truth(code.children[0]));
    return Eval(code.children[holds ? 1 : 2]);
  }
  if (code.function == Function::kChoose) {
    QTX_ASSIGN_OR_RETURN(const long which, Integer(code.children[0]));
    if (which >= 0 && which + 1 < std::ssize(code.children)) {
      return Eval(code.children[Index(which + 1)]);
    }
    return Refuse(code, "found choice " + std::to_string(which) + " of " +
                            std::to_string(code.children.size() - 1));
  }
  std::vector<Number> arguments;
  for (const Code& child : code.children) {
    QTX_ASSIGN_OR_RETURN(arguments.emplace_back(), Eval(child));
  }
  auto value = spec::Apply(code.function, arguments, precision_);
  if (!value) return Refuse(code, value.error().message);
  return value;
}

Result<Number> Evaluator::Range(const Code& code) {
  if (code.op == Op::kSum || code.op == Op::kProduct) {
    Number total = mpq_class(code.op == Op::kSum ? 0 : 1);
    QTX_RETURN_IF_ERROR(Each(code, 0, code.children.size() - 1, total));
    return total;
  }
  Number total = Infinity{code.op == Op::kLeast ? 1 : -1};
  QTX_RETURN_IF_ERROR(Each(code, 0, code.children.size() - 1, total));
  return total;
}

// Children: the limits, the first value, the body; the last local is the value so far.
Result<Number> Evaluator::Fold(const Code& code) {
  const std::size_t indices = code.children.size() - 2;
  QTX_ASSIGN_OR_RETURN(Number total, Eval(code.children[indices]));
  QTX_RETURN_IF_ERROR(Each(code, 0, indices, total));
  return total;
}

Result<void> Evaluator::Each(const Code& code, std::size_t index, std::size_t indices,
                             Number& total) {
  if (index == indices) return Accumulate(code, total);
  QTX_ASSIGN_OR_RETURN(const long limit, Integer(code.children[index]));
  const std::size_t slot = locals_.size();
  locals_.emplace_back(mpq_class(0));
  for (long i = 0; i < limit; ++i) {
    QTX_RETURN_IF_ERROR(Step(code));
    locals_[slot] = mpq_class(i);
    QTX_RETURN_IF_ERROR(Each(code, index + 1, indices, total));
  }
  locals_.resize(slot);
  return {};
}

Result<void> Evaluator::Accumulate(const Code& code, Number& total) {
  QTX_RETURN_IF_ERROR(Step(code));
  const std::size_t top = locals_.size();
  if (code.op == Op::kFold) locals_.push_back(total);
  QTX_ASSIGN_OR_RETURN(Number term, Eval(code.children.back()));
  locals_.resize(top);
  if (code.op == Op::kSum) {
    total = Add(total, term, precision_);
  } else if (code.op == Op::kProduct) {
    total = Multiply(total, term, precision_);
  } else if (code.op == Op::kFold) {
    total = std::move(term);
  } else {
    const auto order = Compare(term, total, precision_);
    if (!order) {
      total = Nan{};
    } else if (code.op == Op::kLeast ? *order < 0 : *order > 0) {
      total = std::move(term);
    }
  }
  QTX_ASSIGN_OR_RETURN(total, Bounded(code, std::move(total)));
  return {};
}

Result<bool> Evaluator::Truth(const Code& code) {
  QTX_RETURN_IF_ERROR(Step(code));
  switch (code.op) {
    case Op::kNot: {
      QTX_ASSIGN_OR_RETURN(const bool truth, Truth(code.children[0]));
      return !truth;
    }
    case Op::kAnd:
    case Op::kOr: {
      QTX_ASSIGN_OR_RETURN(const bool first, Truth(code.children[0]));
      if (first == (code.op == Op::kOr)) return first;
      return Truth(code.children[1]);
    }
    case Op::kApply:
      break;
    default:
      return Relation(code);
  }
  if (code.function == Function::kInside) {
    format::Dims at;
    for (const Code& child : code.children) {
      QTX_ASSIGN_OR_RETURN(at.emplace_back(), Integer(child));
    }
    return scope_.operands[Index(code.index)].At(at).has_value();
  }
  QTX_ASSIGN_OR_RETURN(const Number value, Eval(code.children[0]));
  if (code.function == Function::kIsNan) return IsNan(value);
  return !IsNan(value) && !std::holds_alternative<Infinity>(value);
}

Result<bool> Evaluator::Relation(const Code& code) {
  QTX_ASSIGN_OR_RETURN(const Number a, Eval(code.children[0]));
  QTX_ASSIGN_OR_RETURN(const Number b, Eval(code.children[1]));
  const auto order = Compare(a, b, precision_);
  if (!order) return code.op == Op::kUnequal;  // NaN is unequal to all, as IEEE 754 has it
  switch (code.op) {
    case Op::kEqual:
      return *order == 0;
    case Op::kUnequal:
      return *order != 0;
    case Op::kLess:
      return *order < 0;
    case Op::kAtMost:
      return *order <= 0;
    case Op::kGreater:
      return *order > 0;
    default:
      return *order >= 0;
  }
}

// An index, a limit or a number of bits.
Result<long> Evaluator::Integer(const Code& code) {
  QTX_ASSIGN_OR_RETURN(const Number value, Eval(code));
  const auto* rational = AsRational(value);
  constexpr long kMost = 1 << 20;
  if (rational != nullptr && rational->get_den() == 1 && abs(*rational) <= kMost) {
    return rational->get_num().get_si();
  }
  return Refuse(code, "found " + ToText(value) + ", expected an integer of at most 2^20");
}

}  // namespace qtx::spec
