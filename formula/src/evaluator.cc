#include "evaluator.h"

#include <algorithm>
#include <utility>

#include "qtx/formula/computation.h"
#include "qtx/formula/parser.h"

namespace qtx::formula {
namespace {

using Op = Code::Op;

// Of the longer of numerator and denominator.
std::size_t LimbsOf(const Number& value) {
  const auto* rational = AsRational(value);
  if (rational == nullptr) return 0;
  return std::max(mpz_size(rational->get_num_mpz_t()), mpz_size(rational->get_den_mpz_t()));
}

// Whether more bits cannot change it; false where it takes long to find out.
bool IsExact(const Value& value, int& budget) {
  if (--budget < 0) return false;
  if (const auto* list = value.list()) {
    return std::ranges::all_of(*list, [&](const Value& item) { return IsExact(item, budget); });
  }
  const auto* number = value.number();
  return number == nullptr || !std::holds_alternative<Interval>(*number);
}

}  // namespace

std::size_t Evaluator::KeyHash::operator()(std::span<const std::int64_t> key) const {
  std::size_t hash = 0;
  for (const std::int64_t part : key) {
    hash = hash * 0x9E3779B97F4A7C15U + static_cast<std::size_t>(part) + (hash >> 29U);
  }
  return hash;
}

Evaluator::Evaluator(const Program& program, const Scope& scope)
    : program_(program),
      scope_(scope),
      caches_(Slot(program.caches)),
      memories_(program.routines.size()),
      values_(program.routines.size()),
      read_(scope.operands().size()),
      coordinates_(Slot(program.coordinates)) {}

Error Evaluator::Refuse(const Code& code, std::string message) const {
  return Error{ErrorCode::kInvalid, PlaceIn(*code.where, code.place), std::move(message)};
}

void Evaluator::Begin() {
  ++evaluation_;
  locals_.clear();
  arguments_.clear();
  keys_.clear();
  base_ = 0;
  depth_ = 0;
  steps_ = 0;
}

template <typename Evaluate>
auto Evaluator::Decided(const std::string& where, const Evaluate& evaluate)
    -> decltype(evaluate()) {
  for (mpfr_prec_t bits = kFirstBits;; bits *= 2) {
    precision_ = Precision{std::min(bits, kMaxBits)};
    Begin();
    auto value = evaluate();
    if (!precision_.undecided) return value;
    if (bits < kMaxBits) continue;
    return Error{
        ErrorCode::kTooLarge, where,
        std::to_string(kMaxBits) + " bits do not decide how a value is rounded or compared"};
  }
}

Result<Value> Evaluator::Element(std::size_t output, int k, std::int64_t element) {
  const Program::Result& result = *program_.results[output];
  constexpr std::int64_t kFree = 1 << 12;
  all_steps_ = std::max<std::int64_t>(all_steps_ - kFree, 0);
  output_ = scope_.outputs()[output].first + k;
  at_ = CoordinatesOf(element, OperandAt(output_).dims());
  if (std::exchange(begun_output_, output_) != output_) BeginOutput(result);
  std::vector<std::int64_t> key;
  if (!pointwise_.holds || !MakeKey(pointwise_, key)) return Compute(result, k);
  const auto found = pointwise_.known.find(key);
  if (found != pointwise_.known.end()) return found->second;
  QTX_ASSIGN_OR_RETURN(Value value, Compute(result, k));
  constexpr std::size_t kMostKnown = 1 << 16;
  if (pointwise_.known.size() < kMostKnown) pointwise_.known.emplace(std::move(key), value);
  return value;
}

void Evaluator::BeginOutput(const Program::Result& result) {
  pointwise_ = MakePointwise(result);
  const bool reads_output =
      program_.operand && program_.routines[Slot(*program_.operand)].body.of_output;
  if (reads_output) std::ranges::for_each(read_, [](auto& known) { known.clear(); });
}

Result<Value> Evaluator::Compute(const Program::Result& result, int k) {
  SetCoordinates(result, k);
  const Code& body = program_.routines[Slot(result.routine)].body;
  return Decided(*body.where, [&] { return InType(result); });
}

Result<bool> Evaluator::Condition(int routine) {
  output_ = -1;
  for (const Tensors& output : scope_.outputs()) {
    if (output_ < 0 && output.count > 0) output_ = output.first;
  }
  const Code& body = program_.routines[Slot(routine)].body;
  return Decided(*body.where, [&] { return Truth(body); });
}

Result<format::Dims> Evaluator::Shape(std::size_t output, int k) {
  output_ = scope_.outputs()[output].first + k;
  std::ranges::fill(coordinates_, std::nullopt);
  const auto& result = program_.results[output];
  if (scope_.outputs()[output].variadic && result && !result->coordinates.empty()) {
    coordinates_[Slot(result->coordinates[0])] = Value(std::int64_t{k});
  }
  const Code& body = program_.routines[Slot(*program_.shapes[output])].body;
  return Decided(*body.where, [&]() -> Result<format::Dims> {
    QTX_ASSIGN_OR_RETURN(const Value sizes, Eval(body));
    const auto* list = sizes.list();
    if (list == nullptr)
      return Refuse(body, "found " + KindOf(sizes) + ", expected a list of sizes");
    format::Dims dims;
    for (const Value& size : *list) {
      const auto integer = AsInteger(size);
      if (!integer || *integer < 0) {
        return Refuse(body, "found a size that is no integer of at least 0");
      }
      dims.push_back(*integer);
    }
    return dims;
  });
}

// The coordinates of a variadic output have the number of the tensor before them.
void Evaluator::SetCoordinates(const Program::Result& result, int k) {
  std::ranges::fill(coordinates_, std::nullopt);
  format::Dims at = at_;
  for (const Tensors& output : scope_.outputs()) {
    if (output.variadic && output_ == output.first + k) at.insert(at.begin(), k);
  }
  std::size_t next = 0;
  const std::size_t names = result.coordinates.size();
  for (std::size_t i = 0; i < names; ++i) {
    Value& value = coordinates_[Slot(result.coordinates[i])].emplace();
    if (result.rest[i]) {
      const std::size_t end = at.size() < names - i - 1 ? next : at.size() - (names - i - 1);
      const auto first = at.begin() + static_cast<std::ptrdiff_t>(std::min(next, at.size()));
      const auto last =
          at.begin() + static_cast<std::ptrdiff_t>(std::max(end, std::min(next, at.size())));
      value = ListOf(format::Dims(first, last));
      next = std::max(end, next);
    } else if (next < at.size()) {
      value = Value(at[next++]);
    } else {
      coordinates_[Slot(result.coordinates[i])].reset();
    }
  }
}

Result<Value> Evaluator::InType(const Program::Result& result) {
  const Code& body = program_.routines[Slot(result.routine)].body;
  Code call;
  call.op = Op::kRoutine;
  call.index = result.routine;
  call.where = body.where;
  call.place = body.place;
  QTX_ASSIGN_OR_RETURN(Value value, CallRoutine(call, result.routine, arguments_.size()));
  QTX_ASSIGN_OR_RETURN(value, Plain(body, std::move(value)));
  if (result.stored || precision_.undecided || !program_.result) return value;
  return CallReading(call, *program_.result, std::move(value));
}

Error Evaluator::TooManySteps(const Code& code) const {
  if (all_steps_ > kMaxNodeSteps) {
    return Error{ErrorCode::kUnsupported, PlaceIn(*code.where, code.place),
                 "the node takes more than " + std::to_string(kMaxNodeSteps) + " steps"};
  }
  return Error{ErrorCode::kTooLarge, PlaceIn(*code.where, code.place),
               "expected at most " + std::to_string(kMaxSteps) + " steps for an element"};
}

bool Evaluator::Holds(const Cache& cache, const Code& code) const {
  return cache.value && (cache.bits == 0 || cache.bits == precision_.bits) &&
         (!code.of_output || cache.output == output_) &&
         (!code.varies || cache.evaluation == evaluation_);
}

Evaluator::Cache Evaluator::Keep(const Value& value) const {
  int budget = 1 << 12;
  return {value, IsExact(value, budget) ? 0 : precision_.bits, output_, evaluation_};
}

Result<Value> Evaluator::Eval(const Code& code) {
  if (code.op == Op::kConstant) return code.constant;
  if (code.op == Op::kLocal) return locals_[base_ + Slot(code.index)];
  QTX_RETURN_IF_ERROR(Step(code));
  if (code.cache < 0) return Fresh(code);
  if (const Cache& cache = caches_[Slot(code.cache)]; Holds(cache, code)) return *cache.value;
  const std::int64_t broadcasts = broadcasts_;
  QTX_ASSIGN_OR_RETURN(Value value, Fresh(code));
  if (!precision_.undecided && (code.varies || broadcasts == broadcasts_))
    caches_[Slot(code.cache)] = Keep(value);
  return value;
}

Result<Value> Evaluator::Fresh(const Code& code) {
  switch (code.op) {
    case Op::kError:
      return *code.error;
    case Op::kCoordinate:
      if (const auto& value = coordinates_[Slot(code.index)]) return *value;
      return Refuse(code, "found an index of another output");
    case Op::kRoutine:
      return Routine(code);
    case Op::kReading:
      return Reading(code);
    case Op::kTensor:
      return Value(code.tensors);
    case Op::kOutput:
      return Value(Tensors{output_, 1, false, false});
    case Op::kPart:
      return Part(code);
    case Op::kIndex:
      return Index(code);
    case Op::kList: {
      QTX_ASSIGN_OR_RETURN(std::vector<Value> items, Items(code, 0));
      return Value(std::move(items));
    }
    case Op::kRest:
      return Refuse(code, "found a list where one value is expected");
    case Op::kApply:
      return Apply(code);
    case Op::kNegate:
      return Negated(code);
    case Op::kSum:
    case Op::kProduct:
    case Op::kLeast:
    case Op::kGreatest:
    case Op::kListOf:
    case Op::kAll:
    case Op::kAny:
    case Op::kCount:
      return Range(code);
    case Op::kFold:
      return Fold(code);
    case Op::kNot:
    case Op::kAnd:
    case Op::kOr:
    case Op::kEqual:
    case Op::kUnequal:
    case Op::kLess:
    case Op::kAtMost:
    case Op::kGreater:
    case Op::kAtLeast: {
      QTX_ASSIGN_OR_RETURN(const bool holds, FreshTruth(code));
      return Value(holds);
    }
    default:
      return OfTwo(code);
  }
}

Error Evaluator::TooLong(const Code& code) {
  return Error{ErrorCode::kTooLarge, PlaceIn(*code.where, code.place),
               "found a list of more than " + std::to_string(kMostOfList) + " elements"};
}

// Numbers -----------------------------------------------------------------------------------------

// A tensor as the element that broadcasts to that of the result.
Result<Value> Evaluator::Plain(const Code& code, Value value) {
  const auto* tensors = value.tensors();
  if (tensors == nullptr) return value;
  QTX_ASSIGN_OR_RETURN(const int operand, TensorOf(code, value));
  const Operand& tensor = OperandAt(operand);
  if (!tensor.has_elements()) return Refuse(code, "found an output, expected a number");
  if (!tensors->broadcasts && tensor.size() != 1) {
    return Refuse(code, "expected an index after a tensor of several elements");
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t element, BroadcastElement(code, tensor));
  return Read(code, operand, element);
}

Result<const Number*> Evaluator::NumberAt(const Code& code, const Value& value, Number& storage) {
  if (const Number* number = value.number()) return number;
  if (value.is_number()) {
    storage = ToNumber(value);
    return &storage;
  }
  QTX_ASSIGN_OR_RETURN(const Value plain, Plain(code, value));
  if (!plain.is_number()) return Refuse(code, "found " + KindOf(plain) + ", expected a number");
  storage = ToNumber(plain);
  return &storage;
}

Result<Number> Evaluator::NumberIn(const Code& code, const Value& value) {
  Number storage;
  QTX_ASSIGN_OR_RETURN(const Number* number, NumberAt(code, value, storage));
  return number == &storage ? std::move(storage) : *number;
}

Result<Number> Evaluator::NumberOf(const Code& code) {
  QTX_ASSIGN_OR_RETURN(const Value value, Eval(code));
  return NumberIn(code, value);
}

Result<void> Evaluator::Bounded(const Code& code, const Number& value) {
  const std::size_t limbs = LimbsOf(value);
  all_steps_ += static_cast<std::int64_t>(limbs / 2);  // a long number takes long
  if (limbs <= kMaxRationalBits / GMP_NUMB_BITS) return {};
  return Error{ErrorCode::kTooLarge, PlaceIn(*code.where, code.place),
               "found a number of more than " + std::to_string(kMaxRationalBits) + " bits"};
}

// An index, a limit or a number of bits.
Result<long> Evaluator::Integer(const Code& code, const Value& value) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto* small = value.integer();
  if (small != nullptr && *small <= kMost && *small >= -kMost) return *small;
  QTX_ASSIGN_OR_RETURN(const Value plain, Plain(code, value));
  const auto integer = AsInteger(plain);
  if (integer && *integer <= kMost && *integer >= -kMost) return *integer;
  const std::string found = plain.is_number() ? ToText(ToNumber(plain)) : KindOf(plain);
  return Refuse(code, "found " + found + ", expected an integer of at most 2^40");
}

}  // namespace qtx::formula
