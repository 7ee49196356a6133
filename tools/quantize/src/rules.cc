// Rules from YAML. The parser takes yaml-cpp's events one at a time: aliases are errors, and
// unexpected structures are not stored.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "qtx/quantize/quantize.h"

namespace qtx::quantize {
namespace {

using YAML::Mark;

constexpr const char* kRuleKeys = "match, activations, weights, range, weight_range or float";
constexpr const char* kMatchKeys = "name or op_type";

class Reader : public YAML::EventHandler {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  std::optional<Error> error;
  std::vector<Rule> rules;

  void OnDocumentStart(const Mark& mark) override {
    if (state_ == State::kDone) Fail(mark, "found a second document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const Mark& mark, YAML::anchor_t) override { Scalar(mark, ""); }
  void OnAlias(const Mark& mark, YAML::anchor_t) override { Fail(mark, "found an alias"); }
  void OnScalar(const Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    Scalar(mark, value);
  }
  void OnSequenceStart(const Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    if (state_ != State::kTop) return Fail(mark, "found a list");
    state_ = State::kList;
  }
  void OnSequenceEnd() override { state_ = State::kDone; }
  void OnMapStart(const Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    if (state_ == State::kList) {
      state_ = State::kRule;
      rules.emplace_back().place = Place(mark);
      seen_.clear();
    } else if (state_ == State::kRule && key_ == "match") {
      state_ = State::kMatch;
      key_.clear();
    } else {
      Fail(mark, "found a map");
    }
  }
  void OnMapEnd() override {
    // The keys of `match` say which nodes, all others what becomes of them.
    const bool idle =
        seen_.size() == seen_.count("match") + seen_.count("name") + seen_.count("op_type");
    if (state_ == State::kRule && idle && !error) {
      error = Error{ErrorCode::kInvalid, rules.back().place,
                    "found a rule that sets nothing, expected " + std::string(kRuleKeys)};
    }
    state_ = state_ == State::kMatch ? State::kRule : State::kList;
    key_.clear();
  }
  bool complete() const { return state_ == State::kDone; }

 private:
  enum class State { kTop, kList, kRule, kMatch, kDone };

  std::string Place(const Mark& mark) const { return path_ + ":" + std::to_string(mark.line + 1); }

  void Fail(const Mark& mark, const std::string& found) {
    if (error) return;
    const char* expected = state_ == State::kTop     ? "a list of rules"
                           : state_ == State::kRule  ? kRuleKeys
                           : state_ == State::kMatch ? kMatchKeys
                           : state_ == State::kList  ? "a rule: a map"
                                                     : "nothing more";
    error = Error{ErrorCode::kInvalid, Place(mark),
                  found + ", expected " + (key_.empty() ? expected : "the value of " + key_)};
  }

  void Scalar(const Mark& mark, const std::string& text) {
    if (error) return;
    if (state_ != State::kRule && state_ != State::kMatch)
      return Fail(mark, "found '" + text + "'");
    if (key_.empty()) return SetKey(mark, text);
    const std::string key = std::exchange(key_, "");
    const auto set = state_ == State::kMatch ? SetMatch(key, text) : SetRule(key, text);
    if (!set.has_value() && !error)
      error = Error{ErrorCode::kInvalid, Place(mark) + ": " + key, set.error().message};
  }

  void SetKey(const Mark& mark, const std::string& key) {
    static const std::set<std::string> kRule = {"match", "activations",  "weights",
                                                "range", "weight_range", "float"};
    static const std::set<std::string> kMatch = {"name", "op_type"};
    if (!(state_ == State::kMatch ? kMatch : kRule).contains(key))
      return Fail(mark, "found '" + key + "'");
    if (!seen_.insert(key).second) return Fail(mark, "found '" + key + "' twice");
    key_ = key;
  }

  Result<void> SetMatch(const std::string& key, const std::string& text) {
    (key == "name" ? rules.back().name : rules.back().op_type) = text;
    return {};
  }

  Result<void> SetRule(const std::string& key, const std::string& text) {
    Rule& rule = rules.back();
    if (key == "activations") {
      QTX_ASSIGN_OR_RETURN(rule.activations, ParseActivations(text));
    } else if (key == "weights") {
      QTX_ASSIGN_OR_RETURN(rule.weights, ParseWeights(text));
    } else if (key == "range") {
      QTX_ASSIGN_OR_RETURN(rule.activation_range, ParseRangeMethods(text));
    } else if (key == "weight_range") {
      QTX_ASSIGN_OR_RETURN(rule.weight_range, ParseRangeMethods(text));
    } else if (key == "float" && (text == "true" || text == "false")) {
      rule.keep_float = text == "true";
    } else {
      return Error{ErrorCode::kInvalid, "",
                   "found '" + text + "', expected " +
                       (key == "match" ? "{name: GLOB, op_type: GLOB}" : "true or false")};
    }
    return {};
  }

  std::string path_;
  State state_ = State::kTop;
  std::string key_;
  std::set<std::string> seen_;  // keys of the rule and its match, which have none in common
};

}  // namespace

Result<std::vector<Rule>> ParseRules(std::string_view text, const std::string& path) {
  Reader reader(path);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (!reader.error && parser.HandleNextDocument(reader)) {
    }
  } catch (const YAML::Exception& exception) {
    if (!reader.error)
      reader.error = Error{ErrorCode::kInvalid,
                           path + ":" + std::to_string(exception.mark.line + 1), exception.msg};
  }
  if (reader.error) return *reader.error;
  if (!reader.complete()) return Error{ErrorCode::kInvalid, path, "expected a list of rules"};
  return std::move(reader.rules);
}

}  // namespace qtx::quantize
