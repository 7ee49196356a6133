#include "selection.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "compiler.h"
#include "evaluator.h"

namespace qtx::formula {
namespace {

using Line = Statement::Kind;

std::string_view SchemaName(std::span<const format::ValueRule> rules, std::size_t i) {
  return i < rules.size() ? rules[i].name : std::string_view();
}

const Signature* SignatureOf(const Formula& formula, const std::string& op_type) {
  for (const Statement& statement : formula.statements) {
    if (statement.kind != Line::kFor) continue;
    const auto found = std::ranges::find(statement.signatures, op_type, &Signature::op_type);
    if (found != statement.signatures.end()) return &*found;
  }
  return nullptr;
}

bool IsIn(const Formula& formula, const std::string& arithmetic) {
  return std::ranges::any_of(formula.statements, [&](const Statement& statement) {
    return statement.kind == Line::kIn && statement.name == arithmetic;
  });
}

// Whether a line defines an element, or a value of an output's name.
bool DefinesOutput(const Formula& formula, const Names& names) {
  return std::ranges::any_of(formula.statements, [&](const Statement& statement) {
    if (statement.kind == Line::kElement || statement.kind == Line::kAs) return true;
    if (statement.kind != Line::kValue) return false;
    if (statement.name == "stored") return true;
    return std::ranges::any_of(names.outputs, [&](const std::string& name) {
      return statement.name == name || statement.name == name + "_stored";
    });
  });
}

// Whether it says how other formulas are read, or what is refused; else its functions are for those
// that use them.
bool DefinesReading(const Formula& formula) {
  return std::ranges::any_of(formula.statements, [&](const Statement& statement) {
    return statement.kind == Line::kRequire ||
           (statement.kind == Line::kFunction &&
            std::ranges::find(kReadings, statement.name) != kReadings.end());
  });
}

// Whether a formula that says how others are read adds to the `known` functions, or states
// constraints alone. What an arithmetic says stands before that of the one it is otherwise as,
// whose constraints are those of its own functions.
bool AddsReading(const Formula& formula, std::vector<std::string_view>& known) {
  bool reads = false, adds = false;
  for (const Statement& statement : formula.statements) {
    const bool reading = statement.kind == Line::kFunction &&
                         std::ranges::find(kReadings, statement.name) != kReadings.end();
    if (!reading) continue;
    reads = true;
    if (std::ranges::find(known, statement.name) != known.end()) continue;
    adds = true;
    known.push_back(statement.name);
  }
  return adds || !reads;
}

}  // namespace

bool Has(const Formula& formula, Statement::Kind kind) {
  return std::ranges::find(formula.statements, kind, &Statement::kind) != formula.statements.end();
}

Selection::Selection(const Text& text, const Call& call, const Scope& scope,
                     const std::string& arithmetic)
    : text_(text), call_(call), scope_(scope), chain_(text.Chain(arithmetic)) {}

Names Selection::NamesIn(const Formula& formula) const {
  Names names;
  const std::size_t inputs = scope_.inputs().size(), outputs = scope_.outputs().size();
  const bool own = call_.schema != nullptr;
  for (std::size_t i = 0; i < inputs; ++i) {
    names.inputs.emplace_back(own ? SchemaName(call_.schema->inputs, i) : "");
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    names.outputs.emplace_back(own ? SchemaName(call_.schema->outputs, i) : "");
  }
  if (!formula.of_arithmetic) return names;
  if (!names.outputs.empty()) names.outputs[0] = "y";
  const Signature* signature = SignatureOf(formula, call_.node->op_type);
  names.inputs.assign(inputs, "");
  if (signature == nullptr) return names;
  for (std::size_t i = 0; i < inputs && i < signature->inputs.size(); ++i) {
    names.inputs[i] = signature->inputs[i];
  }
  return names;
}

std::vector<const Formula*> Selection::Constraints() const {
  std::vector<const Formula*> constraints;
  for (const Formula* formula : text_.InChapter(call_.node->op_type, false)) {
    if (IsConstraints(*formula)) constraints.push_back(formula);
  }
  return constraints;
}

Result<const Formula*> Selection::Base() const {
  for (const Formula* formula : text_.InChapter(call_.node->op_type, false)) {
    if (Has(*formula, Line::kIn) || !DefinesOutput(*formula, NamesIn(*formula))) continue;
    QTX_ASSIGN_OR_RETURN(const bool holds, Holds(*formula));
    if (holds) return formula;
  }
  return nullptr;
}

Result<const Formula*> Selection::Own() const {
  for (const std::string& arithmetic : chain_) {
    for (const Formula* formula : Candidates(arithmetic)) {
      if (!DefinesOutput(*formula, NamesIn(*formula))) continue;
      QTX_ASSIGN_OR_RETURN(const bool holds, Holds(*formula));
      if (holds) return formula;
    }
  }
  return nullptr;
}

Result<std::vector<const Formula*>> Selection::Readings() const {
  std::vector<const Formula*> readings;
  std::vector<std::string_view> known;
  for (const std::string& arithmetic : chain_) {
    std::vector<const Formula*> candidates = Candidates(arithmetic);
    for (const Formula* formula : text_.InChapter(arithmetic, true)) {
      if (!Has(*formula, Line::kFor)) candidates.push_back(formula);
    }
    for (const Formula* formula : candidates) {
      if (!DefinesReading(*formula) || DefinesOutput(*formula, NamesIn(*formula))) continue;
      QTX_ASSIGN_OR_RETURN(const bool holds, Holds(*formula));
      if (holds && AddsReading(*formula, known)) readings.push_back(formula);
    }
  }
  return readings;
}

// Formulas of the arithmetic for the operator.
std::vector<const Formula*> Selection::Candidates(const std::string& arithmetic) const {
  std::vector<const Formula*> candidates;
  for (const Formula* formula : text_.InChapter(arithmetic, true)) {
    if (SignatureOf(*formula, call_.node->op_type) != nullptr) candidates.push_back(formula);
  }
  for (const Formula* formula : text_.InChapter(call_.node->op_type, false)) {
    if (IsIn(*formula, arithmetic)) candidates.push_back(formula);
  }
  return candidates;
}

Result<bool> Selection::Holds(const Formula& formula) const {
  if (!Has(formula, Line::kWhen)) return true;
  Compiler compiler(text_, scope_);
  QTX_ASSIGN_OR_RETURN(const std::optional<int> when, compiler.When(formula, NamesIn(formula)));
  Evaluator evaluator(compiler.program(), scope_);
  return evaluator.Condition(*when);
}

}  // namespace qtx::formula
