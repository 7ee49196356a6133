// Claims of an overlay, searched for counterexamples.
#include <algorithm>
#include <limits>
#include <utility>

#include "formula/inputs.h"
#include "qtx/formula/computation.h"
#include "qtx/formula/elements.h"
#include "qtx/spec/overlay.h"

namespace qtx::spec {
namespace {

// A claim's case, with all its inputs.
struct BoundClaim {
  conformance::Case c;
  format::Model model;
  std::vector<format::Tensor> inputs;
  std::vector<const formula::ElementTable*> tables;  // of the inputs
  std::vector<std::string> names;
  bool exhaustive = false;
};

const formula::ElementTable* TableOf(const formula::Text& text, const conformance::Case& c,
                                     const std::string& value) {
  const auto type = c.added_types.find(value);
  if (type == c.added_types.end()) return nullptr;
  return &*std::ranges::find(text.tables(), type->second, &formula::ElementTable::name);
}

Result<BoundClaim> BindClaim(const formula::Text& text, const conformance::Case& c) {
  BoundClaim bound;
  bound.c = c;
  QTX_ASSIGN_OR_RETURN(bound.exhaustive, FillInputs(bound.c));
  QTX_ASSIGN_OR_RETURN(bound.model, conformance::BuildModel(bound.c));
  QTX_ASSIGN_OR_RETURN(bound.inputs, conformance::BuildInputs(bound.c, bound.model));
  for (const format::ValueInfo& input : bound.model.graph.inputs) {
    bound.names.push_back(input.name);
    bound.tables.push_back(TableOf(text, bound.c, input.name));
  }
  for (const format::Tensor& input : bound.inputs) {
    if (format::ElementCount(input) <= kMaxCombinations) continue;
    return Error{ErrorCode::kTooLarge, c.where,
                 "found an input of " + std::to_string(format::ElementCount(input)) +
                     " elements, expected at most " + std::to_string(kMaxCombinations)};
  }
  if (bound.names.size() == bound.inputs.size() && !bound.names.empty()) return bound;
  return Error{ErrorCode::kInvalid, c.where, "expected inputs that are no initializers"};
}

formula::Call CallOfClaim(const formula::Text& text, const BoundClaim& bound) {
  formula::Call call;
  call.node = &bound.model.graph.nodes.front();
  call.opset = format::OnnxOpset(bound.model);
  for (const format::Tensor& input : bound.inputs) call.inputs.push_back(&input);
  call.tables = bound.tables;
  for (const conformance::CaseValue& output : bound.c.outputs) {
    formula::ValueType& type = call.outputs.emplace_back();
    type.given = true;
    type.type = output.type.elem_type;
    type.quantization = output.type.quantization;
    type.table = TableOf(text, bound.c, output.name);
  }
  return call;
}

// The failing element whose reals are the least in sum; the first of equal ones.
std::int64_t Smallest(const BoundClaim& bound, const formula::Conditions& conditions) {
  const auto& [dims, holds] = conditions;
  std::vector<formula::Elements> inputs;
  for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
    inputs.emplace_back(bound.inputs[i], bound.tables[i]);
  }
  std::int64_t smallest = -1;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t element = 0; element < std::ssize(holds); ++element) {
    if (holds[static_cast<std::size_t>(element)]) continue;
    format::Dims coordinates(dims.size());
    std::int64_t rest = element;
    for (std::size_t i = dims.size(); i-- > 0; rest /= dims[i]) coordinates[i] = rest % dims[i];
    double size = 0;
    for (const formula::Elements& input : inputs) {
      size += input.Magnitude(input.Broadcast(coordinates));
    }
    if (smallest >= 0 && size >= least) continue;
    smallest = element;
    least = size;
  }
  return smallest;
}

}  // namespace

Result<ClaimResult> RunClaim(const Overlay& overlay, std::size_t claim,
                             const conformance::Case& c) {
  const Claim& claimed = overlay.claims[claim];
  QTX_ASSIGN_OR_RETURN(const BoundClaim bound, BindClaim(overlay.after, c));
  std::vector<std::string> outputs;
  for (const conformance::CaseValue& output : bound.c.outputs) outputs.push_back(output.name);
  QTX_ASSIGN_OR_RETURN(
      const formula::Conditions conditions,
      formula::HoldsBy(overlay.after, claimed.formula, CallOfClaim(overlay.after, bound),
                       c.arithmetics[0], bound.names, outputs));
  ClaimResult result{.claim = claim, .where = c.where, .exhaustive = bound.exhaustive};
  result.elements = std::ssize(conditions.holds);
  result.failing = std::ranges::count(conditions.holds, false);
  if (result.failing == 0) return result;
  result.counterexample = InputsAt(bound.inputs, bound.names, conditions.dims,
                                   Smallest(bound, conditions), bound.tables);
  return result;
}

}  // namespace qtx::spec
