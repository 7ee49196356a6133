#include "qtx/spec/formula.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "formula/inputs.h"
#include "qtx/format/levels.h"
#include "qtx/formula/computation.h"
#include "qtx/formula/elements.h"
#include "qtx/formula/parser.h"
#include "qtx/reference/interpreter.h"

namespace qtx::spec {
namespace {

constexpr std::string_view kInfo = "formula";

std::string StemOf(std::string_view clause) {
  return std::string(clause.substr(0, clause.find('.')));
}

int LinesIn(std::string_view text) { return static_cast<int>(std::ranges::count(text, '\n')); }

// Functions for other formulas, or what the cases of an arithmetic hold it to.
bool HoldsWithoutCase(std::span<const formula::Statement> statements) {
  using Kind = formula::Statement::Kind;
  const auto any = [&](std::initializer_list<Kind> kinds) {
    return std::ranges::any_of(statements, [&](const formula::Statement& statement) {
      return std::ranges::find(kinds, statement.kind) != kinds.end();
    });
  };
  return any({Kind::kFor, Kind::kIn}) || !any({Kind::kValue, Kind::kElement});
}

Result<Formula> ReadFormula(const Document& document, const Fence& fence) {
  Formula formula;
  formula.where = document.where;
  formula.line = fence.line;
  formula.text = formula::ExpressionsOf(fence.text);
  const std::string place = document.where + ":" + std::to_string(fence.line);
  QTX_ASSIGN_OR_RETURN(const std::vector<formula::Statement> statements,
                       formula::ParseFormula(formula.text, document.where, fence.line + 1));
  if (formula.text.size() == fence.text.size()) {
    if (HoldsWithoutCase(statements)) {
      formula.spec = document.ClauseAbove(fence.line);
      return formula;
    }
    return Error{ErrorCode::kInvalid, place,
                 "found a formula alone, expected a line --- and what it is evaluated on"};
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

// A case's node, its inputs and the reference's outputs.
struct Bound {
  conformance::Case c;
  format::Model model;
  std::vector<format::Tensor> inputs;                // of the node, as far as they are given
  std::vector<std::string> names;                    // of these
  std::map<std::string, format::Factors> factors;    // of those with levels
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

// An initializer, its parameters inline; their factors go to `bound`.
Result<format::Tensor> Constant(const conformance::CaseValue& value, Bound* bound) {
  const auto view = format::ModelView::Indexed(bound->model);
  const format::ValueInfo* info = view.FindValue(value.name);
  const bool typed = info != nullptr && info->type && info->type->quantization;
  if (!typed || !format::HasLevels(*info->type->quantization)) return *value.data;
  QTX_ASSIGN_OR_RETURN(bound->factors[value.name],
                       format::FactorsOf(view, *info->type, value.name));
  return format::LoadInitializer(view, value.name);
}

Result<Bound> Bind(const conformance::Case& given, format::Features features) {
  Bound bound;
  bound.c = given;
  QTX_ASSIGN_OR_RETURN(bound.exhaustive, FillInputs(bound.c));
  QTX_ASSIGN_OR_RETURN(bound.model, conformance::BuildModel(bound.c));
  QTX_ASSIGN_OR_RETURN(const std::vector<format::Tensor> inputs,
                       conformance::BuildInputs(bound.c, bound.model));
  std::size_t next = 0;
  for (const conformance::CaseValue& value : bound.c.inputs) {
    if (value.absent) continue;
    if (!value.initializer) {
      bound.inputs.push_back(inputs[next++]);
    } else if (value.data) {
      QTX_ASSIGN_OR_RETURN(bound.inputs.emplace_back(), Constant(value, &bound));
    } else {
      continue;
    }
    bound.names.push_back(value.name);
  }
  for (const std::string& arithmetic : bound.c.arithmetics) {
    auto outputs = Reference(bound.model, inputs, arithmetic, features);
    if (!outputs) return At(bound.c.where + " @" + arithmetic, outputs.error());
    bound.results.push_back(*std::move(outputs));
  }
  return bound;
}

// The node as the formula computes it, to the types that the reference gave its outputs.
formula::Call CallOf(const Bound& bound) {
  formula::Call call;
  call.node = &bound.model.graph.nodes.front();
  call.schema = format::FindSchema(call.node->domain, call.node->op_type);
  call.opset = format::OnnxOpset(bound.model);
  std::size_t next = 0;
  for (const conformance::CaseValue& value : bound.c.inputs) {
    const bool given =
        !value.absent && next < bound.names.size() && bound.names[next] == value.name;
    call.inputs.push_back(given ? &bound.inputs[next++] : nullptr);
    call.initializers.push_back(given && value.initializer);
    const auto factors = bound.factors.find(value.name);
    call.factors.push_back(factors == bound.factors.end() ? nullptr : &factors->second);
  }
  std::size_t output = 0;
  for (const std::string& name : call.node->outputs) {
    formula::ValueType& type = call.outputs.emplace_back();
    if (name.empty() || output == bound.results[0].size()) continue;
    const format::Tensor& tensor = bound.results[0][output++];
    type = {true, tensor.elem_type, tensor.quantization, tensor.dims};
  }
  return call;
}

// Compares an output of the formula with that of the reference in each arithmetic.
void CompareOutput(const Bound& bound, std::size_t index, const format::Tensor& computed,
                   FormulaRun& run) {
  const formula::Elements got(computed);
  std::vector<formula::Elements> references;
  for (const auto& outputs : bound.results) references.emplace_back(outputs[index]);
  for (std::int64_t element = 0; element < got.size(); ++element) {
    for (std::size_t i = 0; i < references.size(); ++i) {
      ++run.elements;
      if (got.Same(references[i], element)) continue;
      run.difference = InputsAt(bound.inputs, bound.names, computed.dims, element) +
                       ": the formula gives " + got.Stored(element) + ", the reference " +
                       references[i].Stored(element) + " in " + bound.c.arithmetics[i];
      return;
    }
  }
}

Result<FormulaRun> RunCase(const formula::Text& text, const formula::Formula& parsed,
                           const conformance::Case& c, format::Features features) {
  QTX_ASSIGN_OR_RETURN(const Bound bound, Bind(c, features));
  const formula::Call call = CallOf(bound);
  // A formula of an operator's section, or with `for`, has its own names for the tensors.
  std::vector<std::string> inputs, outputs;
  if (parsed.of_arithmetic || parsed.of.empty()) {
    for (const conformance::CaseValue& value : bound.c.inputs) inputs.push_back(value.name);
    for (const conformance::CaseValue& value : bound.c.outputs) outputs.push_back(value.name);
  }
  auto computed = formula::ComputeBy(text, parsed, call, c.arithmetics[0], inputs, outputs);
  if (!computed) return computed.error();
  FormulaRun run{c.id, c.where, c.arithmetics, 0, bound.exhaustive, ""};
  std::size_t result = 0;
  for (std::size_t i = 0; i < call.outputs.size() && run.difference.empty(); ++i) {
    if (call.outputs[i].given) CompareOutput(bound, result++, (*computed)[i], run);
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

Result<formula::Text> TextAround(const Document& document) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(document.where).parent_path().parent_path();
  std::error_code status;
  if (fs::is_directory(folder / "ops", status) && fs::is_directory(folder / "arithmetic", status)) {
    return formula::Text::Read(folder.string());
  }
  return formula::Text::WithEmbedded({document.where, document.markdown});
}

Result<std::vector<FormulaRun>> RunFormula(const Formula& formula, const formula::Text& text,
                                           format::Features features) {
  const auto parsed = std::ranges::find_if(text.formulas(), [&](const formula::Formula& other) {
    return other.where == formula.where && other.line == formula.line;
  });
  if (parsed == text.formulas().end()) {
    return Error{ErrorCode::kInvalid, formula.where, "expected a formula of the text"};
  }
  std::vector<FormulaRun> runs;
  for (const conformance::Case& c : formula.cases) {
    QTX_ASSIGN_OR_RETURN(runs.emplace_back(), RunCase(text, *parsed, c, features));
  }
  return runs;
}

}  // namespace qtx::spec
