// The arguments of an operator.
#include <algorithm>

#include "errors.h"
#include "nnef/builder.h"

namespace qtx::convert::nnef {

Result<Call> Call::Bind(const Invocation& invocation, std::string_view parameters) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < parameters.size();) {
    const std::size_t end = std::min(parameters.find(' ', at), parameters.size());
    names.emplace_back(parameters.substr(at, end - at));
    at = end + 1;
  }
  Call call(invocation);
  for (std::size_t i = 0; i < invocation.arguments.size(); ++i) {
    const auto& [given, value] = invocation.arguments[i];
    if (given.empty() && i >= names.size())
      return Invalid(invocation.Place(), "found " + std::to_string(i + 1) +
                                             " arguments, expected " +
                                             std::to_string(names.size()));
    const std::string& name = given.empty() ? names[i] : given;
    if (std::ranges::find(names, name) == names.end())
      return Invalid(invocation.Place(), "found argument '" + name.substr(0, 64) + "', expected " +
                                             std::string(parameters));
    if (!call.arguments_.emplace(name, &value).second)
      return Invalid(invocation.Place(), "'" + name + "' is given twice");
  }
  return call;
}

const Value* Call::Find(std::string_view parameter) const {
  const auto found = arguments_.find(parameter);
  return found == arguments_.end() ? nullptr : found->second;
}

Error Call::Wrong(std::string_view parameter, const std::string& expected) const {
  return Invalid(invocation_->Place(), std::string(parameter) + ": expected " + expected);
}

Result<std::vector<std::int64_t>> Call::Ints(std::string_view parameter,
                                             std::vector<std::int64_t> fallback) const {
  const Value* value = Find(parameter);
  if (value == nullptr) return fallback;
  if (!value->IsList()) return Wrong(parameter, "a list of integers");
  std::vector<std::int64_t> ints;
  for (const Value& item : value->items) {
    if (!item.integer) return Wrong(parameter, "a list of integers");
    ints.push_back(item.whole);
  }
  return ints;
}

Result<std::int64_t> Call::Int(std::string_view parameter, std::int64_t fallback) const {
  const Value* value = Find(parameter);
  if (value == nullptr) return fallback;
  if (value->integer) return value->whole;
  return Wrong(parameter, "an integer");
}

Result<double> Call::Number(std::string_view parameter, std::optional<double> fallback) const {
  const Value* value = Find(parameter);
  if (value == nullptr && fallback) return *fallback;
  if (value != nullptr && value->kind == Value::Kind::kNumber) return value->number;
  return Wrong(parameter, "a number");
}

Result<bool> Call::Flag(std::string_view parameter, bool fallback) const {
  const Value* value = Find(parameter);
  if (value == nullptr) return fallback;
  if (value->kind == Value::Kind::kBool) return value->number != 0;
  return Wrong(parameter, "true or false");
}

Result<std::string> Call::String(std::string_view parameter, std::string fallback) const {
  const Value* value = Find(parameter);
  if (value == nullptr) return fallback;
  if (value->kind == Value::Kind::kString) return value->text;
  return Wrong(parameter, "a string");
}

Result<std::vector<std::int64_t>> Call::Pairs(std::string_view parameter) const {
  const Value* value = Find(parameter);
  std::vector<std::int64_t> pairs;
  if (value == nullptr) return pairs;
  if (!value->IsList()) return Wrong(parameter, "a list of pairs of integers");
  for (const Value& pair : value->items) {
    if (pair.items.size() != 2 || !pair.items[0].integer || !pair.items[1].integer)
      return Wrong(parameter, "a list of pairs of integers");
    pairs.push_back(pair.items[0].whole);
    pairs.push_back(pair.items[1].whole);
  }
  return pairs;
}

}  // namespace qtx::convert::nnef
