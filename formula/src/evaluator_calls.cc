// Calls of a formula's functions, and what is remembered of them.
#include <algorithm>
#include <utility>

#include "evaluator.h"

namespace qtx::formula {
namespace {

using Op = Code::Op;

constexpr std::size_t kMostRemembered = std::size_t{1} << 20;

// Adds the limbs of a rational number that comes from no element.
bool AddRational(const Value& argument, std::vector<std::int64_t>& key) {
  constexpr std::int64_t kRational = INT64_MIN + 2;
  const auto* number = argument.number();
  const auto* rational = number == nullptr ? nullptr : AsRational(*number);
  if (rational == nullptr || argument.of_element) return false;
  key.insert(key.end(), {kRational, sgn(*rational)});
  for (const mpz_srcptr part : {rational->get_num_mpz_t(), rational->get_den_mpz_t()}) {
    key.push_back(static_cast<std::int64_t>(mpz_size(part)));
    for (std::size_t i = 0; i < mpz_size(part); ++i) {
      key.push_back(static_cast<std::int64_t>(mpz_getlimbn(part, static_cast<mp_size_t>(i))));
    }
  }
  return true;
}

}  // namespace

Result<std::vector<Value>> Evaluator::Items(const Code& code, std::size_t from) {
  std::vector<Value> items;
  items.reserve(code.children.size() - from);
  QTX_RETURN_IF_ERROR(AddItems(code, from, items));
  return items;
}

Result<void> Evaluator::AddItems(const Code& code, std::size_t from, std::vector<Value>& items) {
  const std::size_t before = items.size();
  for (std::size_t i = from; i < code.children.size(); ++i) {
    const Code& child = code.children[i];
    if (child.op != Op::kRest) {
      QTX_ASSIGN_OR_RETURN(Value value, Eval(child));  // which may add to `items`, too
      items.push_back(std::move(value));
      continue;
    }
    QTX_ASSIGN_OR_RETURN(const Value value, Eval(child.children[0]));
    const auto* list = value.list();
    if (list == nullptr) return Refuse(child, "found " + KindOf(value) + ", expected a list");
    items.insert(items.end(), list->begin(), list->end());
    if (items.size() - before > kMostOfList) return TooLong(child);
  }
  all_steps_ += static_cast<std::int64_t>(items.size() - before);
  return {};
}

// Numbers, lists of them and tensors; false for what is not remembered.
bool Evaluator::MakeKey(std::span<const Value> arguments, std::vector<std::int64_t>& key) {
  constexpr std::int64_t kList = INT64_MIN, kTensors = INT64_MIN + 1;
  constexpr std::int64_t kMarkers = INT64_MIN + 8;  // no integer below stands for itself
  constexpr std::size_t kMostOfKey = 1 << 12;
  for (const Value& argument : arguments) {
    if (key.size() > kMostOfKey) return false;
    if (const auto* list = argument.list()) {
      key.insert(key.end(), {kList, std::ssize(*list)});
      if (!MakeKey(*list, key)) return false;
    } else if (const auto* tensors = argument.tensors()) {
      key.insert(key.end(), {kTensors, tensors->first, tensors->count});
    } else if (const auto* integer = argument.integer();
               integer != nullptr && !argument.of_element && *integer > kMarkers) {
      key.push_back(*integer);
    } else if (!AddRational(argument, key)) {
      return false;
    }
  }
  return true;
}

Result<Value> Evaluator::Routine(const Code& code) {
  const std::size_t first = arguments_.size();
  QTX_RETURN_IF_ERROR(AddItems(code, 0, arguments_));
  const formula::Routine& routine = program_.routines[Slot(code.index)];
  const auto parameters = Slot(routine.parameters);
  if (!routine.rest.empty() && routine.rest.back()) {
    const std::size_t rest = first + parameters - 1;
    if (arguments_.size() < rest) return Refuse(code, "found too few arguments");
    const auto begin = arguments_.begin() + static_cast<std::ptrdiff_t>(rest);
    Value list(std::vector<Value>(begin, arguments_.end()));
    arguments_.resize(rest);
    arguments_.push_back(std::move(list));
  }
  if (arguments_.size() - first != parameters) {
    return Refuse(code, "found " + std::to_string(arguments_.size() - first) + " arguments of " +
                            routine.name + ", expected " + std::to_string(parameters));
  }
  return CallRoutine(code, code.index, first);
}

Result<Value> Evaluator::CallRoutine(const Code& code, int index, std::size_t first) {
  const formula::Routine& routine = program_.routines[Slot(index)];
  if (routine.parameters == 0) {
    if (values_[Slot(index)].evaluation == evaluation_) return values_[Slot(index)].value;
    QTX_ASSIGN_OR_RETURN(Value value, Fresh(code, routine, first));
    if (!precision_.undecided) values_[Slot(index)] = {evaluation_, value};
    return value;
  }
  Memory& memory = memories_[Slot(index)];
  if (routine.body.varies || !memory.pays()) return Fresh(code, routine, first);
  const std::size_t begin = keys_.size();
  if (routine.body.of_output) keys_.push_back(output_);
  const bool remembers = MakeKey(std::span(arguments_).subspan(first), keys_);
  if (remembers) {
    ++memory.tries;
    const auto found = memory.values.find(std::span<const std::int64_t>(keys_).subspan(begin));
    if (found != memory.values.end() && Holds(found->second, routine.body)) {
      ++memory.found;
      keys_.resize(begin);
      arguments_.resize(first);
      return *found->second.value;
    }
  }
  const std::size_t end = keys_.size();
  const std::int64_t broadcasts = broadcasts_;
  QTX_ASSIGN_OR_RETURN(Value value, Fresh(code, routine, first));
  if (remembers && !precision_.undecided && broadcasts == broadcasts_ &&
      remembered_ < kMostRemembered) {
    remembered_ += 1;
    const auto key = keys_.begin() + static_cast<std::ptrdiff_t>(begin);
    memory.values.insert_or_assign({key, keys_.begin() + static_cast<std::ptrdiff_t>(end)},
                                   Keep(value));
    if (!memory.pays()) memory.values.clear();
  }
  keys_.resize(begin);
  return value;
}

Result<Value> Evaluator::Fresh(const Code& code, const formula::Routine& routine,
                               std::size_t first) {
  if (++depth_ > kMaxCallDepth) return Refuse(code, "found too many calls within calls");
  const std::size_t caller = base_;
  const std::size_t top = locals_.size();
  std::move(arguments_.begin() + static_cast<std::ptrdiff_t>(first), arguments_.end(),
            std::back_inserter(locals_));
  arguments_.resize(first);
  base_ = top;
  auto value = Eval(routine.body);
  base_ = caller;
  locals_.resize(top);
  --depth_;
  return value;
}

// Of a routine with one argument. No operation of the arithmetic is applied within it, so that
// equal arguments give equal results wherever they are from; those of `operation` are seldom equal.
Result<Value> Evaluator::CallReading(const Code& code, int index, Value argument) {
  const bool of_element = argument.of_element;
  if (index == program_.result) argument.of_element = false;
  arguments_.push_back(std::move(argument));
  QTX_ASSIGN_OR_RETURN(Value value, CallRoutine(code, index, arguments_.size() - 1));
  value.of_element |= of_element;
  return value;
}

// What the arithmetic does with an operand, an operation, a result or an element that is moved.
Result<Value> Evaluator::Reading(const Code& code) {
  enum : int { kOperand, kOperation, kResult, kMovement };
  const std::size_t first = arguments_.size();
  QTX_RETURN_IF_ERROR(AddItems(code, 0, arguments_));
  if (arguments_.size() - first != code.children.size()) {
    return Refuse(code, "found a list where one value is expected");
  }
  if (code.index == kMovement) {
    if (program_.movement) return CallRoutine(code, *program_.movement, first);
    return Refuse(code, "the arithmetic does not say what data movement gives");
  }
  for (std::size_t i = 0; i < code.children.size(); ++i) {
    Value argument = std::move(arguments_[first + i]);
    QTX_ASSIGN_OR_RETURN(arguments_[first + i], Plain(code.children[i], std::move(argument)));
  }
  if (code.index == kOperand) {
    if (program_.operand) return CallRoutine(code, *program_.operand, first);
    return Refuse(code, "the arithmetic takes an operand for its exact real");
  }
  const auto& routine = code.index == kOperation ? program_.operation : program_.result;
  Value argument = std::move(arguments_[first]);
  arguments_.resize(first);
  return routine ? CallReading(code, *routine, std::move(argument)) : Result<Value>(argument);
}

}  // namespace qtx::formula
