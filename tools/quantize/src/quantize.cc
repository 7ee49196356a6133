#include "qtx/quantize/quantize.h"

#include <algorithm>

#include "awq.h"
#include "bias_correction.h"
#include "equalize.h"
#include "fold.h"
#include "plan.h"
#include "qtx/format/annotation.h"
#include "qtx/format/description.h"
#include "qtx/format/inference.h"
#include "qtx/format/levels.h"
#include "qtx/format/scopes.h"
#include "qtx/graph/widen.h"
#include "rewrite.h"

namespace qtx::quantize {

namespace {

// Statistics change from here on: what says them a second time is made anew at the end.
void ForgetDescriptions(format::Model& model) {
  std::erase_if(model.metadata,
                [](const auto& entry) { return entry.first == format::kStatisticsKey; });
  for (auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values})
    std::ranges::for_each(*list, format::Undescribe);
}

void TellFloatNodes(const format::Graph& graph, const std::vector<NodePlan>& plans,
                    Ledger& ledger) {
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].mode == Mode::kFloat)
      ledger.Kept(PlaceOf(graph.nodes[i]), "FLOAT",
                  plans[i].row == nullptr ? "no operator that is quantized" : "");
  }
}

// Statistics of a flat form, which only its nested form can be run for.
Measure MeasureOf(const format::FlatModel& flat, const Measure& measure) {
  if (!measure) return measure;
  return [&](const format::Model& model) -> Result<format::Model> {
    QTX_ASSIGN_OR_RETURN(const format::Model nested, flat.Nest(model));
    QTX_ASSIGN_OR_RETURN(const format::Model measured, measure(nested));
    format::Model flat_measured = format::FlatModel(measured).model();
    ForgetDescriptions(flat_measured);
    return flat_measured;
  };
}

MeasureSums MeasureOf(const format::FlatModel& flat, const MeasureSums& measure) {
  if (!measure) return measure;
  return [&](const format::Model& real, const format::Model& changed,
             const format::Node& node) -> Result<Gram> {
    QTX_ASSIGN_OR_RETURN(const format::Model nested_real, flat.Nest(real));
    QTX_ASSIGN_OR_RETURN(const format::Model nested_changed, flat.Nest(changed));
    return measure(nested_real, nested_changed, node);
  };
}

// `flat` is read, and the result is a flat form.
Result<Quantized> QuantizeFlat(const format::FlatModel& flat, Options options) {
  const format::Model& model = flat.model();
  const format::Inference inference(flat);
  Quantized result{.model = model};
  ForgetDescriptions(result.model);
  Ledger ledger;
  QTX_RETURN_IF_ERROR(Fold(result.model, ledger));
  if (options.equalize) QTX_RETURN_IF_ERROR(Equalize(result.model, options, ledger));
  if (options.awq != Awq::kNone) QTX_RETURN_IF_ERROR(ScaleInputs(result.model, options, ledger));
  if (options.correct_bias) QTX_RETURN_IF_ERROR(EnsureMeans(result.model, options));
  result.real = result.model;
  QTX_ASSIGN_OR_RETURN(auto plans, PlanNodes(GraphIndex(result.model), inference, options, ledger));
  TellFloatNodes(result.model.graph, plans, ledger);
  const Clamps clamps = FoldActivations(result.model, plans, ledger);
  QTX_ASSIGN_OR_RETURN(const ValuePlans values,
                       PlanValues(GraphIndex(result.model), plans, clamps));
  QTX_RETURN_IF_ERROR(Rewrite(result.model, plans, values, options, result, ledger));
  DropUnused(model, result.model, ledger);
  auto& imports = result.model.opset_imports;
  auto own = std::ranges::find(imports, format::kDomain, &format::OpsetImport::domain);
  if (own == imports.end())
    own = imports.insert(own, {.domain = std::string(format::kDomain), .version = 1});
  own->version = std::max(own->version, format::FormatVersion(result.model));
  format::EraseLoweringRecord(result.model.metadata);  // its annotations are types now
  result.ledger = ledger.Take();
  return result;
}

}  // namespace

Result<Quantized> Quantize(const format::Model& model, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const graph::Widened widened, graph::WidenHalves(model));
  const format::FlatModel flat(widened.model);
  Options nested = options;
  nested.measure = MeasureOf(flat, options.measure);
  nested.measure_sums = MeasureOf(flat, options.measure_sums);
  auto result = QuantizeFlat(flat, std::move(nested));
  if (!result.has_value()) return flat.Readable(std::move(result).error());
  QTX_ASSIGN_OR_RETURN(result->model, flat.Nest(std::move(result->model)));
  QTX_ASSIGN_OR_RETURN(result->real, flat.Nest(std::move(result->real)));
  QTX_RETURN_IF_ERROR(format::RecordStatistics(result->model));
  for (LedgerEntry& entry : result->ledger) {
    entry.value = flat.Readable(entry.value);
    entry.why = flat.Readable(entry.why);
  }
  std::erase_if(result->sources, [](const auto& source) { return format::IsOfBody(source.first); });
  return result;
}

}  // namespace qtx::quantize
