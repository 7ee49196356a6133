// The lines of formulas: what they define, and which of them a line knows.
#include "compiler.h"

#include <algorithm>
#include <array>
#include <utility>

#include "qtx/formula/parser.h"

namespace qtx::formula {
namespace {

using Kinds = Statement::Kind;

// `require declared(y)`: y has the sizes that the model declares.
constexpr std::string_view kDeclared = "declared";

// "p" of "p...".
std::string BareName(const std::string& name) {
  return name.ends_with(kListMark) ? name.substr(0, name.size() - 3) : name;
}

std::vector<bool> RestOf(std::span<const std::string> names) {
  std::vector<bool> rest;
  for (const std::string& name : names) rest.push_back(name.ends_with(kListMark));
  return rest;
}

}  // namespace

Result<std::optional<int>> Compiler::When(const Formula& formula, const Names& names) {
  own_ = Unit{&formula, names, false};
  unit_ = &own_;
  std::optional<int> routine;
  std::vector<std::string> used;
  QTX_RETURN_IF_ERROR(Use(formula, used));
  for (const Statement& statement : formula.statements) {
    if (statement.kind != Kinds::kWhen) continue;
    if (routine) return Refuse(statement.place, "expected one line with 'when'");
    QTX_ASSIGN_OR_RETURN(routine, Define(statement, ""));
  }
  return routine;
}

Result<void> Compiler::AddBase(const Formula& formula, const Names& names) {
  base_ = Unit{&formula, names, true};
  unit_ = &base_;
  return Lines(formula, true);
}

Result<void> Compiler::Add(const Formula& formula, const Names& names) {
  own_ = Unit{&formula, names, false};
  unit_ = &own_;
  for (auto& result : program_.results) {
    if (result) result->of_base = true;
  }
  return Lines(formula, true);
}

Result<void> Compiler::AddReading(const Formula& formula, const Names& names) {
  own_ = Unit{&formula, names, false};
  unit_ = &own_;
  return Lines(formula, false);
}

Result<void> Compiler::AddConstraints(const Formula& formula, const Names& names) {
  for (const std::string& output : names.outputs) {
    base_.routines.erase(output);
    base_.routines.erase(output + "_stored");
  }
  return Add(formula, names);
}

Error Compiler::Refuse(Place place, std::string message) const {
  return Error{ErrorCode::kInvalid, PlaceIn(unit_->formula->where, place), std::move(message)};
}

// y[i, j] = ... defines i and j for all lines of the formula.
Result<void> Compiler::Coordinates(const Formula& formula) {
  for (const Statement& statement : formula.statements) {
    if (statement.kind != Kinds::kElement) continue;
    for (std::size_t i = 0; i < statement.parameters.size(); ++i) {
      const std::string name = BareName(statement.parameters[i]);
      const bool list = name != statement.parameters[i];
      if (std::ranges::count(statement.parameters, statement.parameters[i]) > 1) {
        return Refuse(statement.place, "found index '" + name + "' twice");
      }
      const auto [at, added] = unit_->lists.emplace(name, list);
      const bool of_base = unit_ == &own_ && base_.coordinates.contains(name);
      if (added)
        unit_->coordinates[name] = of_base ? base_.coordinates[name] : program_.coordinates++;
      if (at->second != list) {
        return Refuse(statement.place, "found '" + name + "' as an index and as a list of them");
      }
    }
  }
  return {};
}

// The functions of the clauses that a formula names, and of those that these name.
Result<void> Compiler::Use(const Formula& formula, std::vector<std::string>& used) {
  for (const Statement& statement : formula.statements) {
    if (statement.kind != Kinds::kUse) continue;
    for (const std::string& clause : statement.parameters) {
      QTX_RETURN_IF_ERROR(UseClause(formula, statement.place, clause, used));
    }
  }
  return {};
}

Result<void> Compiler::UseClause(const Formula& formula, Place place, const std::string& clause,
                                 std::vector<std::string>& used) {
  if (std::ranges::find(used, clause) != used.end()) return {};
  used.push_back(clause);
  const std::vector<const Formula*> formulas = text_.Of(clause);
  if (formulas.empty()) return Refuse(place, "found no formula of " + clause);
  for (const Formula* other : formulas) {
    if (other == &formula) continue;
    QTX_RETURN_IF_ERROR(Use(*other, used));
    UseFunctions(*other);
  }
  return {};
}

// A function that has no meaning here (offset of a FLOAT) is an error only when called.
void Compiler::UseFunctions(const Formula& formula) {
  const Formula* own = std::exchange(unit_->formula, &formula);
  in_used_function_ = true;
  for (const Statement& line : formula.statements) {
    if (line.kind != Kinds::kFunction || DefinesReading(line)) continue;
    if (unit_->routines.contains(line.name)) continue;
    const auto defined = Define(line, line.name);
    if (!defined) unit_->meaningless.emplace(line.name, defined.error());
  }
  in_used_function_ = false;
  unit_->formula = own;
}

bool Compiler::DefinesReading(const Statement& statement) {
  return statement.kind == Kinds::kFunction &&
         std::ranges::find(kReadings, statement.name) != kReadings.end();
}

// "y", "y_stored", and "stored" of the first output; nullopt for another name.
std::optional<std::size_t> Compiler::OutputOf(std::string_view name, bool& stored) const {
  constexpr std::string_view kStored = "_stored";
  stored = name == "stored";
  if (stored) return 0;
  const std::vector<std::string>& outputs = unit_->names.outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    stored = name.size() == outputs[i].size() + kStored.size() && name.starts_with(outputs[i]) &&
             name.ends_with(kStored);
    if (!outputs[i].empty() && (name == outputs[i] || stored)) return i;
  }
  return std::nullopt;
}

bool Compiler::IsOutputLine(const Statement& statement) const {
  bool stored = false;
  const bool value = statement.kind == Kinds::kValue || statement.kind == Kinds::kElement;
  return value && OutputOf(statement.name, stored).has_value();
}

Result<void> Compiler::Lines(const Formula& formula, bool outputs) {
  program_.results.resize(scope_.outputs().size());
  program_.shapes.resize(scope_.outputs().size());
  QTX_RETURN_IF_ERROR(Coordinates(formula));
  std::vector<std::string> used;
  QTX_RETURN_IF_ERROR(Use(formula, used));
  for (const Statement& statement : formula.statements) {
    if (statement.kind < Kinds::kRequire) continue;
    QTX_RETURN_IF_ERROR(Line(formula, statement, outputs));
  }
  return {};
}

// `outputs`: the formula defines them; else only what it says of other formulas counts.
Result<void> Compiler::Line(const Formula& formula, const Statement& statement, bool outputs) {
  if (statement.kind == Kinds::kRequire) return Require(formula, statement);
  const bool function = statement.kind == Kinds::kFunction;
  if (!outputs && !function) return {};
  if (statement.kind == Kinds::kShape) return DefineShape(statement);
  if (unit_->routines.contains(statement.name) ||
      (function && FindFunction(statement.name) != nullptr)) {
    return Refuse(statement.place, "'" + statement.name + "' is defined already");
  }
  QTX_ASSIGN_OR_RETURN(const int routine, Define(statement, statement.name));
  if (DefinesReading(statement)) DefineReading(statement.name, routine);
  if (outputs && IsOutputLine(statement)) return DefineOutput(statement, routine);
  return {};
}

Result<void> Compiler::Require(const Formula& formula, const Statement& statement) {
  Program::Requirement& requirement = program_.requirements.emplace_back();
  requirement.clause = ClauseOf(formula, statement);
  const Node& body = statement.body;
  if (body.kind != Node::Kind::kCall || body.text != kDeclared) {
    QTX_ASSIGN_OR_RETURN(requirement.routine, Define(statement, ""));
    return {};
  }
  QTX_RETURN_IF_ERROR(CheckCount(body, 1, 1));
  bool stored = false;
  requirement.declared = OutputOf(body.children[0].text, stored);
  if (!requirement.declared || stored) return Refuse(body.place, "expected the name of an output");
  return {};
}

Result<void> Compiler::DefineShape(const Statement& statement) {
  bool stored = false;
  const auto output = OutputOf(statement.name, stored);
  if (!output || stored) return Refuse(statement.place, "expected the name of an output");
  QTX_ASSIGN_OR_RETURN(program_.shapes[*output], Define(statement, ""));
  return {};
}

// The first of the formulas that define it counts.
void Compiler::DefineReading(const std::string& name, int routine) {
  auto& slot = name == "operand"     ? program_.operand
               : name == "operation" ? program_.operation
               : name == "result"    ? program_.result
                                     : program_.movement;
  if (!slot) slot = routine;
}

Result<int> Compiler::Define(const Statement& statement, const std::string& name) {
  Routine routine;
  routine.name = name;
  locals_.clear();
  if (statement.kind == Kinds::kFunction) {
    for (const std::string& parameter : statement.parameters) {
      locals_.push_back(BareName(parameter));
    }
    routine.parameters = static_cast<int>(locals_.size());
    routine.rest = RestOf(statement.parameters);
  }
  QTX_ASSIGN_OR_RETURN(routine.body, Any(statement.body));
  const int index = static_cast<int>(program_.routines.size());
  program_.routines.push_back(std::move(routine));
  if (!name.empty()) unit_->routines[name] = index;
  return index;
}

Result<void> Compiler::DefineOutput(const Statement& statement, int routine) {
  bool stored = false;
  const std::size_t output = *OutputOf(statement.name, stored);
  auto& result = program_.results[output];
  if (result && !result->of_base) {
    return Refuse(statement.place,
                  "expected one line that defines " + unit_->names.outputs[output]);
  }
  if (statement.kind == Kinds::kElement || !result) {
    result.emplace();
    result->rest = RestOf(statement.kind == Kinds::kElement ? statement.parameters
                                                            : std::vector<std::string>());
    if (statement.kind == Kinds::kElement) {
      for (const std::string& name : statement.parameters) {
        result->coordinates.push_back(unit_->coordinates.find(BareName(name))->second);
      }
    }
  }
  result->routine = routine;
  result->stored = stored;
  result->of_base = false;
  return {};
}

std::optional<int> Compiler::FindRoutine(const std::string& name) const {
  if (const auto own = unit_->routines.find(name); own != unit_->routines.end()) {
    return own->second;
  }
  const auto of_base = base_.routines.find(name);
  return of_base == base_.routines.end() ? std::nullopt : std::optional(of_base->second);
}

std::optional<int> Compiler::FindCoordinate(const std::string& name) const {
  if (const auto at = unit_->coordinates.find(name); at != unit_->coordinates.end()) {
    return at->second;
  }
  const auto at = base_.coordinates.find(name);
  return at == base_.coordinates.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace qtx::formula
