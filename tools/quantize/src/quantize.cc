#include "qtx/quantize/quantize.h"

#include <algorithm>

#include "bias_correction.h"
#include "equalize.h"
#include "fold.h"
#include "plan.h"
#include "qtx/format/annotation.h"
#include "rewrite.h"

namespace qtx::quantize {

namespace {

void TellFloatNodes(const format::Graph& graph, const std::vector<NodePlan>& plans,
                    Ledger& ledger) {
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].mode == Mode::kFloat)
      ledger.Kept(PlaceOf(graph.nodes[i]), "FLOAT",
                  plans[i].row == nullptr ? "no operator that is quantized" : "");
  }
}

}  // namespace

Result<Quantized> Quantize(const format::Model& model, const Options& options) {
  Quantized result{.model = model};
  Ledger ledger;
  QTX_RETURN_IF_ERROR(Fold(result.model, ledger));
  if (options.equalize) QTX_RETURN_IF_ERROR(Equalize(result.model, options, ledger));
  if (options.correct_bias) QTX_RETURN_IF_ERROR(EnsureMeans(result.model, options));
  result.real = result.model;
  QTX_ASSIGN_OR_RETURN(auto plans, PlanNodes(GraphIndex(result.model), options));
  TellFloatNodes(result.model.graph, plans, ledger);
  const Clamps clamps = FoldActivations(result.model, plans, ledger);
  QTX_ASSIGN_OR_RETURN(const ValuePlans values,
                       PlanValues(GraphIndex(result.model), plans, clamps));
  QTX_RETURN_IF_ERROR(Rewrite(result.model, plans, values, options, result, ledger));
  DropUnused(model, result.model, ledger);
  auto& imports = result.model.opset_imports;
  if (std::ranges::find(imports, format::kDomain, &format::OpsetImport::domain) == imports.end())
    imports.push_back({.domain = std::string(format::kDomain), .version = format::kVersion});
  format::EraseLoweringRecord(result.model.metadata);  // its annotations are types now
  result.ledger = ledger.Take();
  return result;
}

}  // namespace qtx::quantize
