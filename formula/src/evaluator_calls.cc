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
  const auto* number = std::get_if<Number>(&argument.data);
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
  for (std::size_t i = from; i < code.children.size(); ++i) {
    const Code& child = code.children[i];
    if (child.op != Op::kRest) {
      QTX_ASSIGN_OR_RETURN(items.emplace_back(), Eval(child));
      continue;
    }
    QTX_ASSIGN_OR_RETURN(const Value value, Eval(child.children[0]));
    const auto* list = value.list();
    if (list == nullptr) return Refuse(child, "found " + KindOf(value) + ", expected a list");
    items.insert(items.end(), list->begin(), list->end());
    if (items.size() > kMostOfList) return TooLong(child);
  }
  all_steps_ += std::ssize(items);
  return items;
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
    } else if (const auto* tensors = std::get_if<Tensors>(&argument.data)) {
      key.insert(key.end(), {kTensors, tensors->first, tensors->count});
    } else if (const auto* integer = std::get_if<std::int64_t>(&argument.data);
               integer != nullptr && !argument.of_element && *integer > kMarkers) {
      key.push_back(*integer);
    } else if (!AddRational(argument, key)) {
      return false;
    }
  }
  return true;
}

Result<Value> Evaluator::Routine(const Code& code) {
  std::vector<Value> arguments;
  if (!code.children.empty()) {
    QTX_ASSIGN_OR_RETURN(arguments, Items(code, 0));
  }
  const formula::Routine& routine = program_.routines[Slot(code.index)];
  const auto parameters = Slot(routine.parameters);
  if (!routine.rest.empty() && routine.rest.back()) {
    if (arguments.size() + 1 < parameters) return Refuse(code, "found too few arguments");
    const auto rest = arguments.begin() + static_cast<std::ptrdiff_t>(parameters - 1);
    Value list(std::vector<Value>(rest, arguments.end()));
    arguments.erase(rest, arguments.end());
    arguments.push_back(std::move(list));
  }
  if (arguments.size() != parameters) {
    return Refuse(code, "found " + std::to_string(arguments.size()) + " arguments of " +
                            routine.name + ", expected " + std::to_string(parameters));
  }
  return CallRoutine(code, code.index, std::move(arguments));
}

Result<Value> Evaluator::CallRoutine(const Code& code, int index, std::vector<Value> arguments) {
  const formula::Routine& routine = program_.routines[Slot(index)];
  const bool is_value = routine.parameters == 0;
  if (is_value && values_[Slot(index)]) return *values_[Slot(index)];
  std::vector<std::int64_t> key;
  const bool remembers = !is_value && !routine.body.varies && MakeKey(arguments, key);
  if (remembers) {
    const auto found = memories_[Slot(index)].find(key);
    if (found != memories_[Slot(index)].end() && Holds(found->second)) return *found->second.value;
  }
  const std::int64_t broadcasts = broadcasts_;
  if (++depth_ > kMaxCallDepth) return Refuse(code, "found too many calls within calls");
  const std::size_t caller = base_;
  const std::size_t top = locals_.size();
  std::ranges::move(arguments, std::back_inserter(locals_));
  base_ = top;
  auto value = Eval(routine.body);
  base_ = caller;
  locals_.resize(top);
  --depth_;
  if (!value || precision_.undecided) return value;
  if (is_value) values_[Slot(index)] = *value;
  if (remembers && broadcasts == broadcasts_ && remembered_ < kMostRemembered) {
    remembered_ += 1;
    memories_[Slot(index)].insert_or_assign(std::move(key), Keep(*value));
  }
  return value;
}

// What the arithmetic does with an operand, an operation or a result.
Result<Value> Evaluator::Reading(const Code& code) {
  QTX_ASSIGN_OR_RETURN(std::vector<Value> arguments, Items(code, 0));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(arguments[i], Plain(code.children[i], std::move(arguments[i])));
  }
  const auto& routine = code.index == 0   ? program_.operand
                        : code.index == 1 ? program_.operation
                                          : program_.result;
  if (routine) return CallRoutine(code, *routine, std::move(arguments));
  if (code.index != 0) return arguments[0];
  return Refuse(code, "the arithmetic takes an operand for its exact real");
}

}  // namespace qtx::formula
