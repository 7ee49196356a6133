// Parses the keys of a case document; value_parser parses typed values.
#include <algorithm>
#include <utility>

#include "matrix.h"
#include "node_parser.h"
#include "overlay_names.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/clause.h"
#include "qtx/conformance/proposal_examples.h"
#include "qtx/reference/arithmetic.h"
#include "tolerance_parser.h"
#include "value_parser.h"
#include "yaml.h"
#include "yaml_reader.h"

namespace qtx::conformance {
namespace {

Result<std::string> ReadClause(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(std::string text, ReadString(node, place));
  if (IsClauseId(text)) return text;
  return Refuse(place, node, "found '" + text + "', expected a clause such as conv.S2");
}

Result<Expectation> ParseExpectation(const Yaml& node, const Place& place) {
  if (!node.is_map()) return Refuse(place, node, "expected a map of outputs, or {error: clause}");
  Expectation expectation;
  Yaml outputs = node;
  for (std::size_t i = 0; i < outputs.keys.size(); ++i) {
    if (outputs.keys[i] != "error") continue;
    QTX_ASSIGN_OR_RETURN(expectation.error, ReadClause(outputs.items[i], place.Child("error")));
    outputs.keys.erase(outputs.keys.begin() + static_cast<std::ptrdiff_t>(i));
    outputs.items.erase(outputs.items.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  QTX_ASSIGN_OR_RETURN(expectation.outputs, ParseValues(outputs, place));
  if (expectation.outputs.empty() && expectation.error.empty()) {
    return Refuse(place, node, "expected at least one output, or an error");
  }
  for (const CaseValue& output : expectation.outputs) {
    if (!output.absent && !output.generator && !output.initializer) continue;
    return Refuse(place.Child(output.name), *node.Find(output.name),
                  "an output has a type and data, a file, or neither");
  }
  return expectation;
}

Result<void> ParseText(const Yaml& node, const Place& place, bool required, std::string_view key,
                       std::string& text) {
  const Yaml* found = node.Find(key);
  if (found == nullptr) {
    if (required) return Refuse(place, node, "missing key '" + std::string(key) + "'");
    return {};
  }
  QTX_ASSIGN_OR_RETURN(text, ReadString(*found, place.Child(key)));
  if (text.empty()) return Refuse(place.Child(key), *found, "expected text");
  return {};
}

Result<void> ParseArithmetics(const Yaml& names, const Place& place, Case& c) {
  QTX_ASSIGN_OR_RETURN(c.arithmetics, ReadList(names, place, ReadString));
  if (c.arithmetics.empty()) return Refuse(place, names, "expected a name");
  for (const std::string& name : c.arithmetics) {
    const auto known = reference::FindArithmetic(name);
    if (!known.has_value()) return Refuse(place, names, known.error().message);
  }
  return {};
}

Result<void> ParseLevel(const Yaml& node, const Place& place, Case& c) {
  QTX_ASSIGN_OR_RETURN(c.level, ReadString(node, place));
  if (std::ranges::find(kLevels, c.level) != kLevels.end()) return {};
  std::string expected;
  for (const std::string_view level : kLevels) {
    expected += (expected.empty() ? "" : ", ") + std::string(level);
  }
  return Refuse(place, node, "found '" + c.level + "', expected one of " + expected);
}

Result<void> ParseTexts(const Yaml& node, const Place& place, Case& c) {
  QTX_RETURN_IF_ERROR(ParseText(node, place, true, "id", c.id));
  const Yaml* spec = node.Find("spec");
  if (spec == nullptr) return Refuse(place, node, "missing key 'spec'");
  QTX_ASSIGN_OR_RETURN(c.spec, ReadClause(*spec, place.Child("spec")));
  QTX_RETURN_IF_ERROR(ParseText(node, place, true, "why", c.why));
  QTX_RETURN_IF_ERROR(ParseText(node, place, false, "derivation", c.derivation));
  if (const Yaml* level = node.Find("level")) {
    QTX_RETURN_IF_ERROR(ParseLevel(*level, place.Child("level"), c));
  }
  QTX_RETURN_IF_ERROR(ParseText(node, place, false, "model", c.model));
  QTX_RETURN_IF_ERROR(ParseText(node, place, false, "test_data", c.test_data));
  if (const Yaml* tags = node.Find("tags")) {
    QTX_ASSIGN_OR_RETURN(c.tags, ReadList(*tags, place.Child("tags"), ReadString));
  }
  if (const Yaml* names = node.Find("arithmetics")) {
    QTX_RETURN_IF_ERROR(ParseArithmetics(*names, place.Child("arithmetics"), c));
  }
  return {};
}

Result<void> ParseNodes(const Yaml& node, const Place& place, Case& c) {
  const Yaml* nodes = node.Find("nodes");
  const Yaml* values = node.Find("values");
  if (nodes == nullptr) {
    if (values == nullptr) return {};
    return Refuse(place.Child("values"), *values, "expected only beside nodes");
  }
  QTX_ASSIGN_OR_RETURN(c.nodes, ParseNodeList(*nodes, place.Child("nodes")));
  if (values != nullptr) {
    QTX_ASSIGN_OR_RETURN(c.values, ParseTypes(*values, place.Child("values")));
  }
  return {};
}

Result<void> ParseProgram(const Yaml& node, const Place& place, Case& c) {
  if (const Yaml* op = node.Find("op")) {
    QTX_ASSIGN_OR_RETURN(c.op, ParseOperator(*op, place.Child("op")));
  }
  QTX_RETURN_IF_ERROR(ParseNodes(node, place, c));
  const int programs = int{c.op.has_value()} + int{!c.nodes.empty()} + int{!c.model.empty()} +
                       int{!c.test_data.empty()};
  if (programs != 1) {
    return Refuse(place, node, "expected one of the keys op, nodes, model and test_data");
  }
  if (const Yaml* inputs = node.Find("inputs")) {
    QTX_ASSIGN_OR_RETURN(c.inputs, ParseValues(*inputs, place.Child("inputs")));
  }
  if (const Yaml* initializers = node.Find("initializers")) {
    QTX_ASSIGN_OR_RETURN(c.initializers, ParseValues(*initializers, place.Child("initializers")));
    for (CaseValue& value : c.initializers) value.initializer = true;
  }
  return {};
}

// Proposal examples have `before`, those of an overlay may. In formula cases and those of claims
// outputs have no data, and inputs without data are enumerated.
enum class Form { kCase, kProposal, kOverlay, kFormula, kClaim };
bool IsOfFormula(Form form) { return form >= Form::kFormula; }

// An input or initializer; in a case with a model file, the model has type and shape.
Result<void> CheckGiven(const Yaml& node, const Place& place, const CaseValue& value,
                        bool has_model, Form form) {
  if (value.absent) return {};
  if (form == Form::kCase && !value.data && !value.generator && value.file.empty()) {
    return Refuse(place, node, "expected one of data, generate and file");
  }
  if (has_model) return {};
  if (value.type.elem_type == format::ElementType::kUndefined) {
    return Refuse(place, node, "missing key 'type'");
  }
  if (value.generator && !value.type.shape) return Refuse(place, node, "generate needs a shape");
  return {};
}

Result<void> CheckOutputs(const Yaml& node, const Place& place,
                          const std::vector<CaseValue>& outputs, bool of_operator) {
  for (const CaseValue& output : outputs) {
    if (!of_operator || output.type.elem_type != format::ElementType::kUndefined) continue;
    return Refuse(place.Child(output.name), node, "missing key 'type'");
  }
  return {};
}

// Checks that need all values of a case.
Result<void> CheckValues(const Yaml& node, const Place& place, const Case& c, Form form) {
  const bool has_model = !c.model.empty();
  for (const CaseValue& value : c.inputs) {
    const Place input = place.Child("inputs").Child(value.name);
    QTX_RETURN_IF_ERROR(CheckGiven(node, input, value, has_model, form));
  }
  for (const CaseValue& value : c.initializers) {
    QTX_RETURN_IF_ERROR(CheckGiven(node, place.Child("initializers").Child(value.name), value,
                                   has_model, Form::kCase));
  }
  QTX_RETURN_IF_ERROR(CheckOutputs(node, place.Child("expect"), c.outputs, !has_model));
  if (c.before) {
    QTX_RETURN_IF_ERROR(CheckOutputs(node, place.Child("before"), c.before->outputs, !has_model));
  }
  if (!IsOfFormula(form)) return {};
  for (const CaseValue& output : c.outputs) {
    if (!output.data && output.file.empty()) continue;
    return Refuse(place.Child("expect").Child(output.name), node, "the formula gives the data");
  }
  if (!c.error.empty() || c.outputs.empty()) {
    return Refuse(place.Child("expect"), node, "expected the types of outputs");
  }
  return {};
}

// The test data folder has inputs and outputs.
Result<Case> OnlyTestData(const Yaml& node, const Place& place, Case c) {
  for (const std::string_view key : {"inputs", "initializers", "expect", "before", "either"}) {
    if (const Yaml* found = node.Find(key)) {
      return Refuse(place.Child(key), *found, "test_data gives the values of its cases");
    }
  }
  return c;
}

// Examples of proposals need `before`; other cases must not have it.
Result<void> ParseBefore(const Yaml& node, const Place& place, Form form, Case& c) {
  const Yaml* before = node.Find("before");
  if (form == Form::kOverlay && before == nullptr) return {};
  if (form != Form::kProposal && form != Form::kOverlay) {
    if (before == nullptr) return {};
    return Refuse(place.Child("before"), *before, "only an example of a proposal has this key");
  }
  if (before == nullptr) return Refuse(place, node, "missing key 'before'");
  QTX_ASSIGN_OR_RETURN(c.before, ParseExpectation(*before, place.Child("before")));
  return {};
}

Result<Case> ParseCase(const Yaml& node, const std::string& file, Form form) {
  const Place place{file, ""};
  QTX_RETURN_IF_ERROR(ExpectMap(
      node, place,
      {"id", "spec", "why", "op", "nodes", "values", "model", "test_data", "inputs", "initializers",
       "expect", "before", "derivation", "arithmetics", "tolerance", "either", "level", "tags"}));
  Case c;
  c.where = file + ":" + std::to_string(node.line);
  QTX_RETURN_IF_ERROR(ParseTexts(node, place, c));
  const Place inside{file, c.id};
  QTX_RETURN_IF_ERROR(ParseProgram(node, inside, c));
  if (const Yaml* tolerance = node.Find("tolerance")) {
    QTX_RETURN_IF_ERROR(ParseTolerance(*tolerance, inside.Child("tolerance"), c));
  }
  if (!c.test_data.empty()) return OnlyTestData(node, inside, std::move(c));
  const Yaml* expect = node.Find("expect");
  if (expect == nullptr) return Refuse(inside, node, "missing key 'expect'");
  QTX_ASSIGN_OR_RETURN(Expectation expectation, ParseExpectation(*expect, inside.Child("expect")));
  c.outputs = std::move(expectation.outputs);
  c.error = std::move(expectation.error);
  QTX_RETURN_IF_ERROR(ParseBefore(node, inside, form, c));
  if (const Yaml* either = node.Find("either")) {
    QTX_RETURN_IF_ERROR(ParseAlternatives(*either, inside.Child("either"), c));
  }
  QTX_RETURN_IF_ERROR(CheckValues(node, inside, c, form));
  return c;
}

// Gives a formula's case the id and why that its document must not have.
Result<void> NameFormula(Yaml& document, const std::string& where) {
  const Place place{where, ""};
  if (!document.is_map()) return Refuse(place, document, "expected a map of spec, op and others");
  for (const std::string_view key : {"id", "why", "derivation", "test_data", "model"}) {
    const Yaml* found = document.Find(key);
    if (found == nullptr) continue;
    return Refuse(place.Child(key), *found, "a formula has no " + std::string(key));
  }
  for (const std::string_view key : {"id", "why"}) {
    Yaml text;
    text.kind = Yaml::Kind::kScalar;
    text.line = document.line;
    text.text = "formula";
    document.keys.emplace_back(key);
    document.items.push_back(std::move(text));
  }
  return {};
}

// And the operator and clause that a claim's must not have.
Result<void> NameClaim(Yaml& document, const std::string& where, const std::string& clause) {
  const Place place{where, ""};
  for (const std::string_view key : {"op", "spec"}) {
    const Yaml* found = document.Find(key);
    if (found != nullptr)
      return Refuse(place.Child(key), *found, "a claim has no " + std::string(key));
  }
  const auto scalar = [&](std::string_view text) {
    return Yaml{.kind = Yaml::Kind::kScalar, .text = std::string(text), .line = document.line};
  };
  Yaml op{.kind = Yaml::Kind::kMap,
          .line = document.line,
          .keys = {"type"},
          .items = {scalar("Identity")}};
  document.keys.insert(document.keys.end(), {"op", "spec"});
  document.items.push_back(std::move(op));
  document.items.push_back(scalar(clause));
  return {};
}

struct Source {
  std::string_view yaml;
  const std::string& where;
  int first_line = 1;
};

Result<std::vector<Case>> ParseFrom(const Source& source, Form form, const OverlayNames& names = {},
                                    const std::string& clause = {}) {
  const std::string& where = source.where;
  QTX_ASSIGN_OR_RETURN(std::vector<Yaml> documents,
                       ParseYaml(source.yaml, where, source.first_line));
  std::vector<Case> cases;
  for (Yaml& document : documents) {
    if (IsOfFormula(form)) QTX_RETURN_IF_ERROR(NameFormula(document, where));
    if (form == Form::kClaim) QTX_RETURN_IF_ERROR(NameClaim(document, where, clause));
    QTX_ASSIGN_OR_RETURN(std::vector<Yaml> expanded, ExpandMatrix(document, where));
    for (Yaml& one : expanded) {
      AddedNames added = TakeAddedNames(one, names);
      QTX_ASSIGN_OR_RETURN(Case c, ParseCase(one, where, form));
      if (!added.arithmetics.empty() && one.Find("arithmetics") == nullptr) c.arithmetics.clear();
      std::ranges::move(added.arithmetics, std::back_inserter(c.arithmetics));
      c.added_types = std::move(added.types);
      cases.push_back(std::move(c));
    }
    if (std::ssize(cases) > kMaxExpansion) {
      return Error{ErrorCode::kTooLarge, where,
                   "found more than " + std::to_string(kMaxExpansion) + " cases in one file"};
    }
  }
  return cases;
}

}  // namespace

Result<std::vector<Case>> ParseCases(std::string_view yaml, const std::string& where,
                                     int first_line) {
  return ParseFrom({yaml, where, first_line}, Form::kCase);
}

Result<std::vector<Case>> ParseProposalExamples(std::string_view yaml, const std::string& where) {
  return ParseFrom({yaml, where}, Form::kProposal);
}

Result<std::vector<Case>> ParseFormulaCases(std::string_view yaml, const std::string& where,
                                            int first_line) {
  return ParseFrom({yaml, where, first_line}, Form::kFormula);
}

Result<std::vector<Case>> ParseOverlayExamples(std::string_view yaml, const std::string& where,
                                               int first_line, const OverlayNames& names) {
  return ParseFrom({yaml, where, first_line}, Form::kOverlay, names);
}

Result<std::vector<Case>> ParseClaimCases(std::string_view yaml, const std::string& where,
                                          int first_line, const std::string& clause,
                                          const OverlayNames& names) {
  return ParseFrom({yaml, where, first_line}, Form::kClaim, names, clause);
}

}  // namespace qtx::conformance
