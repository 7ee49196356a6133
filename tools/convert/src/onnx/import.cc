// FromOnnx: folds constants, rewrites each dialect to Q/DQ pairs, then folds the pairs into types.
#include <algorithm>

#include "contrib/expand.h"
#include "encodings.h"
#include "onnx/dimensions.h"
#include "onnx/expand_functions.h"
#include "onnx/flat_form.h"
#include "onnx/fold_constants.h"
#include "onnx/nodes.h"
#include "onnx/reals.h"
#include "opset/opset.h"
#include "qdq/fold.h"
#include "qdq/record.h"
#include "qonnx/dialect.h"
#include "qonnx/rewrite.h"
#include "qoperator/boundless.h"
#include "qoperator/operators.h"
#include "qoperator/qdq_pairs.h"
#include "qtx/convert/convert.h"
#include "qtx/format/functions.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert {
namespace {

// Ledger entries on intermediate values that are in neither model.
void ForgetInvented(const format::Model& model, std::vector<LedgerEntry>& ledger) {
  const graph::Names names(model.graph);
  std::erase_if(ledger, [&](const LedgerEntry& entry) {
    return entry.field == "value" && !names.IsTaken(entry.value);
  });
}

// Some files use com.microsoft's operators without importing them, which runtimes refuse.
void ImportMicrosoft(format::Model& model, Ledger& ledger) {
  const format::FlatModel flat(model);
  const bool used = std::ranges::any_of(
      flat.model().graph.nodes, [](const format::Node& node) { return node.domain == kMicrosoft; });
  if (!used || model.OpsetVersion(kMicrosoft) != 0) return;
  model.opset_imports.push_back({std::string(kMicrosoft), 1, ""});
  ledger.Changed("model", "opset_import", "com.microsoft 1, whose operators it has");
}

bool ImportsQonnx(const std::vector<format::OpsetImport>& imports) {
  return std::ranges::any_of(imports, IsQonnxDomain, &format::OpsetImport::domain);
}

// The extended form itself had Quant nodes, which lowering kept, if it imported their domain or
// nobody does: a writer of Quant nodes imports it.
bool HasOwnQuants(const format::Model& model) {
  const auto imports = ImportsIn(model);
  return imports && (ImportsQonnx(*imports) || !ImportsQonnx(model.opset_imports));
}

// FromOnnx of a flat model, still in the opset and with the imports of the file.
Result<Conversion> FromFlat(const format::Model& model, const Options& options,
                            Recorded& recorded) {
  Ledger ledger(options);
  Conversion conversion;
  format::Model open = model;
  OpenNegativeDimensions(open, ledger);
  recorded = ReadRecord(open, ledger);
  const bool as_recorded = recorded.all();
  const Encodings encodings = TakeAnnotated(open);
  Pairs pairs{std::move(open), {}};
  if (!as_recorded) {
    QTX_ASSIGN_OR_RETURN(pairs.model, FoldConstants(pairs.model, ledger));
  }
  if (!as_recorded || !HasOwnQuants(pairs.model)) {
    QTX_ASSIGN_OR_RETURN(pairs.model, RewriteQonnx(pairs.model, ledger));
  }
  if (!as_recorded) {
    if (model.OpsetVersion("") >= kExpandedOpset) pairs.model = ExpandContrib(pairs.model, ledger);
    QTX_ASSIGN_OR_RETURN(auto bounded, WithoutBoundlessScales(pairs.model, ledger));
    if (bounded) pairs.model = *std::move(bounded);
    QTX_ASSIGN_OR_RETURN(pairs, QOperatorsToPairs(pairs.model, ledger));
  }
  QTX_ASSIGN_OR_RETURN(conversion.model, FoldPairs(pairs.model, as_recorded, ledger, pairs.reals));
  QTX_RETURN_IF_ERROR(PutEncodings(encodings, conversion.model, ledger, options.data));
  QTX_RETURN_IF_ERROR(CheckOperands(conversion.model.graph));
  conversion.ledger = ledger.Take();
  ForgetInvented(model, conversion.ledger);
  return conversion;
}

void Append(std::vector<LedgerEntry> entries, std::vector<LedgerEntry>& to) {
  std::ranges::move(entries, std::back_inserter(to));
}

// `model` in the opset that the expansions of its nodes need, where it has such nodes and can be
// moved; else nullopt.
// Errors: kUnsupported for a node that must be expanded and cannot.
Result<std::optional<format::Model>> RaisedForContrib(const format::Model& model, Ledger& ledger) {
  if (!AnyNode(model, IsContribNode)) return std::nullopt;
  const format::FlatModel flat(model);
  QTX_RETURN_IF_ERROR(CheckMustExpand(flat.model()));
  Ledger unused;
  if (model.OpsetVersion("") >= kExpandedOpset || ReadRecord(flat.model(), unused).all() ||
      !HasExpansion(flat.model()))
    return std::nullopt;
  auto raised = ToOpset(model, kExpandedOpset, unused);
  if (raised.has_value()) {
    ledger.Changed("model", "opset_import",
                   "ai.onnx " + std::to_string(kExpandedOpset) +
                       ", which has what their own operators stand for");
    return std::optional(*std::move(raised));
  }
  if (AnyNode(model, MustExpand)) return raised.error();
  ledger.Changed("model", "opset_import",
                 "nodes with operators of their own stay as they are: not moved to ai.onnx " +
                     std::to_string(kExpandedOpset) + ": " + raised.error().where + ": " +
                     raised.error().message);
  return std::nullopt;
}

// ExpandSteps of a model that no lowering has written.
Result<std::optional<format::Model>> InSteps(const format::Model& model, Ledger& ledger) {
  if (std::ranges::none_of(model.graph.nodes, IsContribNode)) return std::optional<format::Model>();
  Ledger unused;
  if (ReadRecord(format::FlatModel(model).model(), unused).all())
    return std::optional<format::Model>();
  return ExpandSteps(model, ledger);
}

// FromOnnx of a model whose functions stay.
Result<Conversion> FromGraph(const format::Model& given, const Options& options) {
  Ledger moves(options);
  QTX_ASSIGN_OR_RETURN(const std::optional<format::Model> stepped, InSteps(given, moves));
  const format::Model& plain = stepped ? *stepped : given;
  QTX_ASSIGN_OR_RETURN(const std::optional<format::Model> raised, RaisedForContrib(plain, moves));
  const format::Model& model = raised ? *raised : plain;
  Recorded recorded;
  auto conversion = OnFlatForm(
      model, [&](const format::Model& flat) { return FromFlat(flat, options, recorded); });
  if (!conversion.has_value()) return conversion;
  Ledger ledger(options);
  RestoreImports(recorded, conversion->model, ledger);
  if (!recorded.all()) ImportMicrosoft(conversion->model, ledger);
  Append(ledger.Take(), conversion->ledger);
  Append(moves.Take(), conversion->ledger);
  return conversion;
}

}  // namespace

Result<Conversion> FromOnnx(const format::Model& model, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const std::vector<format::Function> functions, format::FunctionsOf(model));
  if (functions.empty()) return FromGraph(model, options);
  Ledger unused;
  const bool as_recorded = ReadRecord(format::FlatModel(model).model(), unused).all();
  if (as_recorded) return FromGraph(model, options);  // the extended form had them
  Ledger ledger(options);
  QTX_ASSIGN_OR_RETURN(const format::Model expanded, ExpandFunctions(model, ledger));
  auto conversion = FromGraph(expanded, options);
  if (!conversion.has_value()) return conversion;
  std::vector<LedgerEntry> entries = ledger.Take();
  Append(std::move(conversion->ledger), entries);
  conversion->ledger = std::move(entries);
  return conversion;
}

}  // namespace qtx::convert
