#include "qtx/spec/formula.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "formula/evaluate.h"
#include "formula/inputs.h"
#include "formula/lexer.h"
#include "formula/parser.h"
#include "qtx/reference/interpreter.h"

namespace qtx::spec {
namespace {

constexpr std::string_view kInfo = "formula";

std::string StemOf(std::string_view clause) {
  return std::string(clause.substr(0, clause.find('.')));
}

int LinesIn(std::string_view text) { return static_cast<int>(std::ranges::count(text, '\n')); }

// The expressions of the formulas of `clause` in a chapter.
std::vector<std::string> TextsOf(const Document& chapter, const std::string& clause) {
  std::vector<std::string> texts;
  for (const Fence& fence : chapter.fences) {
    const std::string stated = std::string("\nspec: ").append(clause).append("\n");
    const std::string_view expressions = ExpressionsOf(fence.text);
    if (fence.info != kInfo) continue;
    if (fence.text.find(stated, expressions.size() - 1) == std::string::npos) continue;
    texts.emplace_back(expressions);
  }
  return texts;
}

// The chapter that states a clause: beside the one that uses it, or in another folder of the text;
// "" for none.
std::string ChapterOf(const std::string& clause, const std::string& where) {
  const std::string name = StemOf(clause) + ".md";
  const std::filesystem::path own = std::filesystem::path(where).parent_path();
  if (std::filesystem::path(where).filename() == name) return where;
  for (const char* folder : {".", "../arithmetic", "../format", "../ops"}) {
    const auto path = (own / folder / name).lexically_normal();
    std::error_code status;
    if (std::filesystem::exists(path, status)) return path.string();
  }
  return "";
}

Result<void> FindUsed(const Document& document, const Statement& use, Formula& formula) {
  for (const std::string& clause : use.parameters) {
    const std::string path = ChapterOf(clause, document.where);
    if (path.empty()) {
      return Error{ErrorCode::kInvalid, PlaceIn(document.where, use.place),
                   fmt::format("found {}, expected a clause of a chapter: there is no {}.md in "
                               "arithmetic, format or ops",
                               clause, StemOf(clause))};
    }
    std::vector<std::string> texts;
    if (path == document.where) {
      texts = TextsOf(document, clause);
    } else {
      QTX_ASSIGN_OR_RETURN(const Document other, ReadDocument(path));
      texts = TextsOf(other, clause);
    }
    if (texts.empty()) {
      return Error{ErrorCode::kInvalid, PlaceIn(document.where, use.place),
                   fmt::format("found no formula of {} in {}", clause, path)};
    }
    std::ranges::move(texts, std::back_inserter(formula.used));
  }
  return {};
}

Result<Formula> ReadFormula(const Document& document, const Fence& fence) {
  Formula formula;
  formula.where = document.where;
  formula.line = fence.line;
  formula.text = ExpressionsOf(fence.text);
  const std::string place = document.where + ":" + std::to_string(fence.line);
  if (formula.text.size() == fence.text.size()) {
    return Error{ErrorCode::kInvalid, place,
                 "found a formula alone, expected a line --- and what it is evaluated on"};
  }
  QTX_ASSIGN_OR_RETURN(const std::vector<Statement> statements,
                       ParseFormula(formula.text, document.where, fence.line + 1));
  for (const Statement& statement : statements) {
    if (statement.kind == Statement::Kind::kUse) {
      QTX_RETURN_IF_ERROR(FindUsed(document, statement, formula));
    }
  }
  // The line of dashes is the first of the cases.
  const int above = LinesIn(formula.text);
  QTX_ASSIGN_OR_RETURN(formula.cases, conformance::ParseFormulaCases(
                                          std::string_view(fence.text).substr(formula.text.size()),
                                          document.where, fence.line + 1 + above));
  if (formula.cases.empty()) {
    return Error{ErrorCode::kInvalid, place, "found no case below the line ---"};
  }
  formula.spec = formula.cases.front().spec;
  for (conformance::Case& c : formula.cases) {
    if (c.spec != formula.spec) {
      return Error{ErrorCode::kInvalid, c.where,
                   "found clause " + c.spec + ", expected that of the formula, " + formula.spec};
    }
    c.id = StemOf(formula.spec) + "/" + c.id;
  }
  return formula;
}

// A case's inputs and the reference's outputs as the formula's operands.
struct Bound {
  conformance::Case c;
  std::vector<Operand> operands;
  int first_output = 0;
  std::vector<std::vector<format::Tensor>> results;  // of each arithmetic
  bool exhaustive = false;
};

Result<std::vector<format::Tensor>> Reference(const format::Model& model,
                                              const std::vector<format::Tensor>& inputs,
                                              const std::string& arithmetic,
                                              format::Features features) {
  QTX_ASSIGN_OR_RETURN(auto interpreter,
                       reference::Interpreter::Prepare(model, arithmetic, {}, features));
  return interpreter.Run(inputs);
}

Result<Bound> Bind(const conformance::Case& given, format::Features features) {
  Bound bound;
  bound.c = given;
  QTX_ASSIGN_OR_RETURN(bound.exhaustive, FillInputs(bound.c));
  QTX_ASSIGN_OR_RETURN(const format::Model model, conformance::BuildModel(bound.c));
  QTX_ASSIGN_OR_RETURN(const std::vector<format::Tensor> inputs,
                       conformance::BuildInputs(bound.c, model));
  std::size_t next = 0;
  for (const conformance::CaseValue& value : bound.c.inputs) {
    if (value.absent) continue;
    if (!value.initializer) {
      bound.operands.emplace_back(value.name, inputs[next++]);
    } else if (value.data) {
      bound.operands.emplace_back(value.name, *value.data);
    }
  }
  for (const std::string& arithmetic : bound.c.arithmetics) {
    auto outputs = Reference(model, inputs, arithmetic, features);
    if (!outputs) return At(bound.c.where + " @" + arithmetic, outputs.error());
    bound.results.push_back(*std::move(outputs));
  }
  bound.first_output = static_cast<int>(bound.operands.size());
  for (std::size_t i = 0; i < bound.c.outputs.size(); ++i) {
    bound.operands.emplace_back(bound.c.outputs[i].name, bound.results[0][i]);
  }
  return bound;
}

// Text of the input values at an element.
std::string Inputs(const Bound& bound, const Operand& output, std::int64_t element) {
  format::Dims coordinates(output.dims().size());
  for (std::size_t i = coordinates.size(); i-- > 0;) {
    coordinates[i] = element % output.dims()[i];
    element /= output.dims()[i];
  }
  std::string text = "at " + format::ToString(coordinates);
  for (int i = 0; i < bound.first_output; ++i) {
    const Operand& operand = bound.operands[static_cast<std::size_t>(i)];
    const auto at = operand.Broadcast(coordinates);
    if (!at) continue;
    text += ", " + operand.name() + " = " + ToText(operand.Stored(*at));
    if (operand.is_quantized()) text += " (real " + ToText(operand.Real(*at)) + ")";
  }
  return text;
}

bool Same(const Number& a, const Number& b) {
  if (IsNan(a) || IsNan(b)) return IsNan(a) && IsNan(b);
  Precision exact;
  return Compare(a, b, exact) == 0 && !exact.undecided;
}

Result<void> CompareOutput(const Bound& bound, const Program::Result& result, Evaluator& evaluator,
                           FormulaRun& run) {
  const auto index = static_cast<std::size_t>(result.output);
  std::vector<Operand> references;
  for (const auto& outputs : bound.results) {
    references.emplace_back(bound.c.outputs[index].name, outputs[index]);
  }
  for (std::int64_t element = 0; element < references[0].size(); ++element) {
    auto value = evaluator.Element(result, element);
    if (!value) {
      Error error = value.error();
      error.message += " (" + Inputs(bound, references[0], element) + ")";
      return error;
    }
    for (std::size_t i = 0; i < references.size(); ++i) {
      ++run.elements;
      const Number expected = references[i].Stored(element);
      if (Same(*value, expected)) continue;
      run.difference = Inputs(bound, references[i], element) + ": the formula gives " +
                       ToText(*value) + ", the reference " + ToText(expected) + " in " +
                       bound.c.arithmetics[i];
      return {};
    }
  }
  return {};
}

Result<FormulaRun> RunCase(const Formula& formula, const std::vector<Statement>& used,
                           const std::vector<Statement>& own, const conformance::Case& c,
                           format::Features features) {
  QTX_ASSIGN_OR_RETURN(const Bound bound, Bind(c, features));
  const Scope scope{bound.operands, bound.first_output, bound.c.op->attributes};
  QTX_ASSIGN_OR_RETURN(const Program program, Compile(used, own, scope, formula.where));
  Evaluator evaluator(program, scope, formula.where);
  FormulaRun run{c.id, c.where, c.arithmetics, 0, bound.exhaustive, ""};
  for (const Program::Result& result : program.results) {
    QTX_RETURN_IF_ERROR(CompareOutput(bound, result, evaluator, run));
    if (!run.difference.empty()) break;
  }
  return run;
}

}  // namespace

Result<std::vector<Formula>> ReadFormulas(const Document& document) {
  std::vector<Formula> formulas;
  for (const Fence& fence : document.fences) {
    if (fence.info != kInfo) continue;
    QTX_ASSIGN_OR_RETURN(formulas.emplace_back(), ReadFormula(document, fence));
  }
  return formulas;
}

Result<std::vector<FormulaRun>> RunFormula(const Formula& formula, format::Features features) {
  std::vector<Statement> used;
  for (const std::string& text : formula.used) {
    QTX_ASSIGN_OR_RETURN(const std::vector<Statement> statements,
                         ParseFormula(text, formula.where + ": use"));
    used.insert(used.end(), statements.begin(), statements.end());
  }
  QTX_ASSIGN_OR_RETURN(const std::vector<Statement> own,
                       ParseFormula(formula.text, formula.where, formula.line + 1));
  std::vector<FormulaRun> runs;
  for (const conformance::Case& c : formula.cases) {
    QTX_ASSIGN_OR_RETURN(runs.emplace_back(), RunCase(formula, used, own, c, features));
  }
  return runs;
}

}  // namespace qtx::spec
