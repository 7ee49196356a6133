// A tar with graph.nnef, graph.quant and the binaries, in one piece that replaces a file at once.
#include "errors.h"
#include "nnef/files.h"
#include "nnef/nnef.h"
#include "nnef/writer.h"

namespace qtx::convert {
namespace {

Result<void> LoseOfValue(const format::ValueInfo& value, Ledger& ledger) {
  constexpr const char* kWhy = "NNEF cannot express it";
  if (!value.doc_string.empty() || !value.metadata.empty())
    QTX_RETURN_IF_ERROR(ledger.Lose("documentation", value.name, "doc_string", kWhy));
  if (!value.type) return {};
  if (value.type->statistics)
    QTX_RETURN_IF_ERROR(ledger.Lose("statistics", value.name, "statistics", kWhy));
  if (!value.type->quantization) return {};
  if (!format::IsQuantized(value.type->elem_type))
    return ledger.Lose("parameters", value.name, "quantization", "annotates a value of reals");
  const format::Quantization& q = *value.type->quantization;
  if (q.scheme == format::Scheme::kUnspecified && !q.requantization) return {};
  return ledger.Lose("scheme", value.name, "scheme", kWhy);
}

Result<void> LoseTheRest(const format::Model& model, Ledger& ledger) {
  constexpr const char* kWhy = "NNEF cannot express it";
  for (const auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (const format::ValueInfo& value : *list) QTX_RETURN_IF_ERROR(LoseOfValue(value, ledger));
  }
  for (const format::Node& node : model.graph.nodes) {
    if (!node.doc_string.empty() || !node.metadata.empty())
      QTX_RETURN_IF_ERROR(ledger.Lose("documentation", graph::PlaceOf(node), "doc_string", kWhy));
    if (node.origin && node.origin->framework != "nnef")
      QTX_RETURN_IF_ERROR(ledger.Lose("origin", graph::PlaceOf(node), "origin", kWhy));
  }
  ledger.Dropped("model", "node names", "operators of NNEF have those of their results");
  if (model.doc_string.empty() && model.graph.doc_string.empty()) return {};
  return ledger.Lose("documentation", "model", "doc_string", kWhy);
}

Result<std::vector<OutputFile>> FilesOf(const format::Model& model, const graph::GraphIndex& graph,
                                        Ledger& ledger) {
  const format::Inference inference(model);
  nnef::Writer writer(graph, inference, ledger);
  std::vector<std::string> inputs, outputs;
  for (const format::ValueInfo& input : model.graph.inputs) {
    QTX_RETURN_IF_ERROR(writer.AddInput(input.name));
    QTX_ASSIGN_OR_RETURN(std::string id, writer.Find(input.name));
    inputs.push_back(std::move(id));
  }
  for (const format::Node& node : model.graph.nodes) {
    if (IsStock(node, "Constant")) continue;  // written where it is read
    auto written = nnef::WriteNode(writer, node);
    if (!written.has_value()) return At(graph::PlaceOf(node), written.error());
  }
  for (const format::ValueInfo& output : model.graph.outputs) {
    QTX_ASSIGN_OR_RETURN(std::string id, writer.Find(output.name));
    outputs.push_back(std::move(id));
  }
  return writer.Files("net", inputs, outputs);
}

}  // namespace

Result<Export> WriteNnef(const format::Model& model, const Options& options) {
  Ledger ledger(options);
  QTX_ASSIGN_OR_RETURN(const graph::GraphIndex graph, graph::GraphIndex::Of(model));
  QTX_RETURN_IF_ERROR(LoseTheRest(model, ledger));
  if (model.graph.outputs.empty())
    return Unsupported("graph", "no outputs, of which NNEF has one or more");
  QTX_ASSIGN_OR_RETURN(const auto files, FilesOf(model, graph, ledger));
  QTX_ASSIGN_OR_RETURN(std::vector<format::Piece> tar, nnef::TarOf(files));
  return Export{std::move(tar), ledger.Take()};
}

}  // namespace qtx::convert
