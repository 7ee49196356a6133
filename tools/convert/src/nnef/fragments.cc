#include "nnef/fragments.h"

#include <algorithm>
#include <map>

#include "errors.h"
#include "nnef/ops.h"

namespace qtx::convert::nnef {
namespace {

constexpr int kMaxFragmentDepth = 16;
constexpr std::size_t kMaxInlined = std::size_t{1} << 18;      // operations, as a graph may have
constexpr std::size_t kMaxSubstituted = std::size_t{1} << 22;  // that stand for names of bodies
using Names = std::map<std::string, Value, std::less<>>;       // of a body, and what they stand for

Error At(const Invocation& call, ErrorCode code, const std::string& message) {
  return {code, call.Place(), message};
}

std::size_t CountOf(const Value& value) {
  std::size_t count = 1;
  for (const Value& item : value.items) count += CountOf(item);
  return count;
}

class Inliner {
 public:
  explicit Inliner(const Document& document) : document_(document) {}

  Result<void> Put(const Invocation& call, int depth) {
    const auto fragment = std::ranges::find(document_.fragments, call.op, &Fragment::name);
    if (++visited_ > kMaxInlined || values_ > kMaxSubstituted)
      return At(call, ErrorCode::kTooLarge, "the bodies of fragments have too many operations");
    if (fragment == document_.fragments.end() || IsOperator(call.op)) {
      body_.push_back(call);
      return {};
    }
    if (depth >= kMaxFragmentDepth)
      return At(call, ErrorCode::kTooLarge, "fragments are nested more than 16 deep");
    if (!fragment->not_flat.empty())
      return At(call, ErrorCode::kUnsupported,
                "a fragment whose body is not flat: " + fragment->not_flat);
    QTX_ASSIGN_OR_RETURN(Names names, Bind(call, *fragment));
    for (Invocation inner : fragment->body) {
      inner.line = call.line;
      for (Value& result : inner.results) Rename(result, true, call, names);
      for (auto& [parameter, value] : inner.arguments) Rename(value, false, call, names);
      QTX_RETURN_IF_ERROR(Put(inner, depth + 1));
    }
    return {};
  }

  std::vector<Invocation> Take() { return std::move(body_); }

 private:
  static Result<Names> Bind(const Invocation& call, const Fragment& fragment) {
    Names names;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const auto& [given, value] = call.arguments[i];
      if (given.empty() && i >= fragment.parameters.size())
        return At(call, ErrorCode::kInvalid,
                  "found more than " + std::to_string(fragment.parameters.size()) + " arguments");
      const std::string& name = given.empty() ? fragment.parameters[i].first : given;
      if (std::ranges::find(fragment.parameters, name, &Parameter::first) ==
          fragment.parameters.end()) {
        return At(call, ErrorCode::kInvalid, "found argument '" + name.substr(0, 64) + "'");
      }
      if (!names.emplace(name, value).second)
        return At(call, ErrorCode::kInvalid, "'" + name.substr(0, 64) + "' is given twice");
    }
    for (const auto& [name, otherwise] : fragment.parameters) {
      if (names.contains(name)) continue;
      if (!otherwise) return At(call, ErrorCode::kInvalid, "has no argument '" + name + "'");
      names.emplace(name, *otherwise);
    }
    if (call.results.size() != fragment.results.size())
      return At(call, ErrorCode::kInvalid,
                "found " + std::to_string(call.results.size()) + " results, expected " +
                    std::to_string(fragment.results.size()));
    for (std::size_t i = 0; i < call.results.size(); ++i) {
      if (!names.emplace(fragment.results[i], call.results[i]).second)
        return At(call, ErrorCode::kInvalid,
                  "result '" + fragment.results[i] + "' is a parameter as well");
    }
    return names;
  }

  // Names of the body become what they stand for; others are new where they are results.
  void Rename(Value& value, bool is_result, const Invocation& call, Names& names) {
    for (Value& item : value.items) Rename(item, is_result, call, names);
    if (value.kind != Value::Kind::kName) return;
    auto found = names.find(value.text);
    if (found == names.end()) {
      if (!is_result) return;  // nothing defines it: refused where it is read
      const Value& first = call.results[0];
      Value local{.line = call.line};
      local.text = (first.IsList() ? first.items[0].text : first.text) + "." + value.text;
      found = names.emplace(value.text, std::move(local)).first;
    }
    values_ += CountOf(found->second);
    if (values_ <= kMaxSubstituted) value = found->second;  // else the next Put refuses
  }

  using Parameter = std::pair<std::string, std::optional<Value>>;
  const Document& document_;
  std::vector<Invocation> body_;
  std::size_t visited_ = 0, values_ = 0;
};

}  // namespace

Result<void> InlineFragments(Document& document) {
  Inliner inliner(document);
  for (const Invocation& call : document.body) QTX_RETURN_IF_ERROR(inliner.Put(call, 0));
  document.body = inliner.Take();
  std::map<std::size_t, std::size_t> counts;
  for (Invocation& call : document.body) call.number = counts[call.line]++;
  return {};
}

}  // namespace qtx::convert::nnef
