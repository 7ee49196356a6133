#include "qtx/formula/computation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler.h"
#include "evaluator.h"
#include "quantized_node.h"
#include "selection.h"

namespace qtx::formula {
namespace {

using Line = Statement::Kind;

// The sizes to which all inputs broadcast; nullopt where they do not.
std::optional<format::Dims> BroadcastDims(const Scope& scope) {
  format::Dims dims;
  for (const Tensors& input : scope.inputs()) {
    for (int k = 0; k < input.count; ++k) {
      const format::Dims& other =
          scope.operands()[static_cast<std::size_t>(input.first + k)].dims();
      if (other.size() > dims.size()) dims.insert(dims.begin(), other.size() - dims.size(), 1);
      const std::size_t lead = dims.size() - other.size();
      for (std::size_t i = 0; i < other.size(); ++i) {
        std::int64_t& dim = dims[lead + i];
        if (dim == 1) dim = other[i];
        if (other[i] != 1 && other[i] != dim) return std::nullopt;
      }
    }
  }
  return dims;
}

bool AreSized(const Scope& scope) {
  return std::ranges::all_of(scope.inputs(), [&](const Tensors& input) {
    for (int k = 0; k < input.count; ++k) {
      if (!scope.operands()[static_cast<std::size_t>(input.first + k)].has_dims()) return false;
    }
    return true;
  });
}

// The sizes of tensor `k` of output `i`, where a formula or the inputs say them.
Result<format::Dims> SizesOf(const Program& program, const Scope& scope, Evaluator& evaluator,
                             std::size_t i, int k) {
  if (program.shapes[i]) return evaluator.Shape(i, k);
  if (!AreSized(scope)) return Error{ErrorCode::kInvalid, "", "sizes of an input are not known"};
  if (auto dims = BroadcastDims(scope)) return *std::move(dims);
  return Error{ErrorCode::kInvalid, "", "expected inputs that broadcast to each other"};
}

// Whether output `i` has the sizes that the model declares, where it does.
Result<bool> HasDeclaredSizes(const Program& program, const Scope& scope, Evaluator& evaluator,
                              std::size_t i) {
  const Tensors& output = scope.outputs()[i];
  for (int k = 0; k < output.count; ++k) {
    const auto& declared = scope.operands()[static_cast<std::size_t>(output.first + k)].declared();
    if (!declared) continue;
    QTX_ASSIGN_OR_RETURN(const format::Dims dims, SizesOf(program, scope, evaluator, i, k));
    if (dims != *declared) return false;
  }
  return true;
}

// The first requirement that does not hold, else the first that cannot be decided.
Result<void> Keep(const Program& program, const Scope& scope, Evaluator& evaluator,
                  std::span<const Program::Requirement> requirements) {
  Result<void> undecided;
  for (const Program::Requirement& requirement : requirements) {
    const auto holds = requirement.declared
                           ? HasDeclaredSizes(program, scope, evaluator, *requirement.declared)
                           : evaluator.Condition(requirement.routine);
    if (!holds && undecided) undecided = holds.error();
    if (!holds || *holds) continue;
    Error error{ErrorCode::kInvalid, "", "the node does not keep " + requirement.clause};
    error.clause = requirement.clause;
    return error;
  }
  return undecided;
}

// The lines of constraints know those of the operator's own formula, where it holds.
Result<void> CheckNode(const Text& text, const Scope& scope, const Selection& selection) {
  const auto base = selection.Base();
  Result<void> undecided;
  for (const Formula* formula : selection.Constraints()) {
    std::optional<Compiler> compiler(std::in_place, text, scope);
    const bool has_base = base && *base != nullptr;
    if (has_base && !compiler->AddBase(**base, selection.NamesIn(**base))) {
      compiler.emplace(text, scope);
    }
    const Program& program = compiler->program();
    const std::size_t of_base = program.requirements.size();
    QTX_RETURN_IF_ERROR(compiler->AddConstraints(*formula, selection.NamesIn(*formula)));
    Evaluator evaluator(program, scope);
    std::vector<Program::Requirement> all = program.requirements;
    std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(of_base),
                all.end());  // its own first
    const auto kept = Keep(program, scope, evaluator, all);
    if (!kept && !kept.error().clause.empty()) return kept;
    if (!kept && undecided) undecided = kept;
  }
  return undecided;
}

// Runs a compiled formula.
class Computation {
 public:
  Computation(const Program& program, Scope& scope, const Call& call, std::string where)
      : program_(program), scope_(scope), call_(call), where_(std::move(where)) {}

  Result<std::vector<format::Tensor>> Run() {
    Evaluator evaluator(program_, scope_);
    QTX_RETURN_IF_ERROR(Keep(program_, scope_, evaluator, program_.requirements));
    std::vector<format::Tensor> tensors;
    for (std::size_t i = 0; i < scope_.outputs().size(); ++i) {
      const Tensors& output = scope_.outputs()[i];
      if (output.count == 0 && tensors.size() < call_.outputs.size()) tensors.emplace_back();
      for (int k = 0; k < output.count; ++k) {
        QTX_ASSIGN_OR_RETURN(tensors.emplace_back(),
                             Output(evaluator, i, k, call_.outputs[tensors.size()]));
      }
    }
    return tensors;
  }

  /// The first output, whose elements are conditions.
  Result<formula::Conditions> Holds() {
    Evaluator evaluator(program_, scope_);
    const auto dims = BroadcastDims(scope_);
    if (!dims) return NoBroadcast();
    scope_.SetDims(0, *dims);
    QTX_ASSIGN_OR_RETURN(const std::int64_t size, format::ElementCount(*dims));
    formula::Conditions conditions{*dims, {}};
    for (std::int64_t element = 0; element < size; ++element) {
      QTX_ASSIGN_OR_RETURN(const Value value, evaluator.Element(0, 0, element));
      const auto* condition = value.condition();
      if (condition == nullptr) {
        return Error{ErrorCode::kInvalid, where_,
                     "found " + KindOf(value) + ", expected a condition"};
      }
      conditions.holds.push_back(*condition);
    }
    return conditions;
  }

 private:
  Error NoBroadcast() const {
    return {ErrorCode::kInvalid, where_, "expected inputs that broadcast to each other"};
  }

  Result<format::Tensor> Output(Evaluator& evaluator, std::size_t i, int k,
                                const ValueType& declared) {
    if (!program_.results[i]) {
      return Error{ErrorCode::kUnsupported, where_,
                   "no line of the formula defines output " + std::to_string(i)};
    }
    QTX_ASSIGN_OR_RETURN(format::Dims dims, Sizes(evaluator, i, k, declared));
    QTX_RETURN_IF_ERROR(format::ElementCount(dims));
    scope_.SetDims(i, std::move(dims));
    const Operand& operand =
        scope_.operands()[static_cast<std::size_t>(scope_.outputs()[i].first + k)];
    QTX_ASSIGN_OR_RETURN(TensorWriter writer, TensorWriter::Make(operand));
    for (std::int64_t element = 0; element < operand.size(); ++element) {
      const auto stored = evaluator.Element(i, k, element);
      const auto added = stored ? writer.Add(*stored) : Result<void>(stored.error());
      if (added) continue;
      Error error = added.error();
      if (error.where.empty()) error.where = where_;
      error.message += " (at " + format::ToString(CoordinatesOf(element, operand.dims())) + ")";
      return error;
    }
    return std::move(writer).Finish();
  }

  Result<format::Dims> Sizes(Evaluator& evaluator, std::size_t i, int k,
                             const ValueType& declared) {
    if (!program_.shapes[i] && declared.dims) return *declared.dims;
    auto dims = SizesOf(program_, scope_, evaluator, i, k);
    if (!dims) {
      Error error = dims.error();
      if (error.where.empty()) error.where = where_;
      return error;
    }
    if (!declared.dims || *declared.dims == *dims) return dims;
    return Error{ErrorCode::kInvalid, where_,
                 "found the declared shape " + format::ToString(*declared.dims) + ", expected " +
                     format::ToString(*dims)};
  }

  const Program& program_;
  Scope& scope_;
  const Call& call_;
  std::string where_;
};

std::string PlaceOf(const Formula& formula) {
  return formula.where + ":" + std::to_string(formula.line);
}

const Statement* LineOf(const Formula& formula, Line kind) {
  const auto found = std::ranges::find(formula.statements, kind, &Statement::kind);
  return found == formula.statements.end() ? nullptr : &*found;
}

Result<std::vector<format::Tensor>> ComputeAs(const Text& text, const Statement& line,
                                              const Names& names, const Call& call,
                                              const std::string& arithmetic) {
  QTX_ASSIGN_OR_RETURN(const auto node, QuantizedNode::Make(text, line, names, call));
  QTX_ASSIGN_OR_RETURN(format::Tensor output, node.Compute(text, arithmetic));
  std::vector<format::Tensor> outputs;
  outputs.push_back(std::move(output));
  return outputs;
}

}  // namespace

Result<void> CheckNode(const Text& text, const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Scope scope, Scope::Make(call));
  return CheckNode(text, scope, Selection(text, call, scope, "exact"));
}

Result<std::vector<format::Tensor>> Compute(const Text& text, const Call& call,
                                            const std::string& arithmetic) {
  QTX_ASSIGN_OR_RETURN(Scope scope, Scope::Make(call));
  const Selection selection(text, call, scope, arithmetic);
  QTX_RETURN_IF_ERROR(CheckNode(text, scope, selection));
  QTX_ASSIGN_OR_RETURN(const Formula* base, selection.Base());
  QTX_ASSIGN_OR_RETURN(const Formula* own, selection.Own());
  if (base == nullptr && own == nullptr) {
    return Error{
        ErrorCode::kUnsupported, "",
        "no formula says what " + call.node->op_type + " computes of these types and attributes"};
  }
  if (own == nullptr) {
    if (const Statement* line = LineOf(*base, Line::kAs)) {
      return ComputeAs(text, *line, selection.NamesIn(*base), call, arithmetic);
    }
  }
  QTX_ASSIGN_OR_RETURN(const std::vector<const Formula*> readings, selection.Readings());
  Compiler compiler(text, scope);
  if (base != nullptr) QTX_RETURN_IF_ERROR(compiler.AddBase(*base, selection.NamesIn(*base)));
  if (own != nullptr) QTX_RETURN_IF_ERROR(compiler.Add(*own, selection.NamesIn(*own)));
  for (const Formula* reading : readings) {
    QTX_RETURN_IF_ERROR(compiler.AddReading(*reading, selection.NamesIn(*reading)));
  }
  const bool maps = std::ranges::any_of(
      compiler.program().results, [](const auto& result) { return result && !result->stored; });
  if (maps && !compiler.program().result) {
    return Error{ErrorCode::kUnsupported, "",
                 "no formula of '" + arithmetic + "' says how a real becomes a stored value"};
  }
  return Computation(compiler.program(), scope, call, PlaceOf(own != nullptr ? *own : *base)).Run();
}

Result<Conditions> HoldsBy(const Text& text, const Formula& formula, const Call& call,
                           const std::string& arithmetic, std::span<const std::string> inputs,
                           std::span<const std::string> outputs) {
  QTX_ASSIGN_OR_RETURN(Scope scope, Scope::Make(call));
  const Selection selection(text, call, scope, arithmetic);
  Compiler compiler(text, scope);
  const Names names{{inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}};
  QTX_RETURN_IF_ERROR(compiler.Add(formula, names));
  QTX_ASSIGN_OR_RETURN(const std::vector<const Formula*> readings, selection.Readings());
  for (const Formula* reading : readings) {
    QTX_RETURN_IF_ERROR(compiler.AddReading(*reading, selection.NamesIn(*reading)));
  }
  return Computation(compiler.program(), scope, call, PlaceOf(formula)).Holds();
}

Result<std::vector<format::Tensor>> ComputeBy(const Text& text, const Formula& formula,
                                              const Call& call, const std::string& arithmetic,
                                              std::span<const std::string> inputs,
                                              std::span<const std::string> outputs) {
  QTX_ASSIGN_OR_RETURN(Scope scope, Scope::Make(call));
  const Selection selection(text, call, scope, arithmetic);
  Compiler compiler(text, scope);
  Names names = selection.NamesIn(formula);
  if (!inputs.empty()) names.inputs.assign(inputs.begin(), inputs.end());
  if (!outputs.empty()) names.outputs.assign(outputs.begin(), outputs.end());
  const bool has_values = Has(formula, Line::kValue) || Has(formula, Line::kElement);
  if (!has_values || Has(formula, Line::kAs)) return Compute(text, call, arithmetic);
  const bool builds_on = Has(formula, Line::kFor) || Has(formula, Line::kIn);
  if (builds_on) {
    QTX_ASSIGN_OR_RETURN(const Formula* base, selection.Base());
    if (base != nullptr) QTX_RETURN_IF_ERROR(compiler.AddBase(*base, selection.NamesIn(*base)));
  }
  if (builds_on || formula.of_arithmetic || formula.of.empty()) {
    QTX_RETURN_IF_ERROR(compiler.Add(formula, names));
  } else {
    QTX_RETURN_IF_ERROR(compiler.AddBase(formula, names));
  }
  QTX_ASSIGN_OR_RETURN(const std::vector<const Formula*> readings, selection.Readings());
  for (const Formula* reading : readings) {
    QTX_RETURN_IF_ERROR(compiler.AddReading(*reading, selection.NamesIn(*reading)));
  }
  return Computation(compiler.program(), scope, call, PlaceOf(formula)).Run();
}

}  // namespace qtx::formula
