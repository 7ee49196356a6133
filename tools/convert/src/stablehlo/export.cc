#include "stablehlo/export.h"

#include "errors.h"
#include "stablehlo/writer.h"

namespace qtx::convert {
namespace {

using graph::GraphIndex;

Result<void> LoseOfValue(const format::ValueInfo& value, Ledger& ledger) {
  constexpr const char* kWhy = "a StableHLO program cannot express it";
  if (!value.doc_string.empty() || !value.metadata.empty())
    QTX_RETURN_IF_ERROR(ledger.Lose("documentation", value.name, "doc_string", kWhy));
  if (!value.type) return {};
  if (value.type->statistics)
    QTX_RETURN_IF_ERROR(ledger.Lose("statistics", value.name, "statistics", kWhy));
  if (value.type->shape) {
    for (const format::Dimension& dimension : *value.type->shape) {
      if (!dimension.symbol.empty())
        ledger.Changed(value.name, "shape", "the size '" + dimension.symbol + "' is '?'");
    }
  }
  if (!value.type->quantization) return {};
  if (!format::IsQuantized(value.type->elem_type)) {
    return ledger.Lose("parameters", value.name, "quantization",
                       "annotates a " + std::string(format::Name(value.type->elem_type)) +
                           " value; types of StableHLO that have a scale are quantized");
  }
  ledger.Kept(value.name, "scale");
  ledger.Kept(value.name, "offset");
  const format::Quantization& q = *value.type->quantization;
  if (q.scheme == format::Scheme::kUnspecified && !q.requantization) return {};
  return ledger.Lose("scheme", value.name, "scheme", kWhy);
}

Result<void> LoseOfNode(const format::Node& node, Ledger& ledger) {
  constexpr const char* kWhy = "a StableHLO program cannot express it";
  const std::string place = graph::PlaceOf(node);
  if (!node.doc_string.empty() || !node.metadata.empty())
    QTX_RETURN_IF_ERROR(ledger.Lose("documentation", place, "doc_string", kWhy));
  if (node.origin && node.origin->framework != "stablehlo")
    QTX_RETURN_IF_ERROR(ledger.Lose("origin", place, "origin", kWhy));
  return {};
}

Result<void> LoseTheRest(const format::Model& model, Ledger& ledger) {
  for (const auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (const format::ValueInfo& value : *list) QTX_RETURN_IF_ERROR(LoseOfValue(value, ledger));
  }
  for (const format::Node& node : model.graph.nodes) QTX_RETURN_IF_ERROR(LoseOfNode(node, ledger));
  ledger.Dropped("model", "node names", "operators of StableHLO have those of their results");
  if (model.doc_string.empty() && model.graph.doc_string.empty()) return {};
  return ledger.Lose("documentation", "model", "doc_string",
                     "a StableHLO program cannot express it");
}

// %x: tensor<...> loc("x"), ...
Result<std::string> Arguments(StablehloWriter& writer, const GraphIndex& graph) {
  std::string text;
  for (const format::ValueInfo& input : graph.model().graph.inputs) {
    if (graph.Initializer(input.name) != nullptr)
      return Unsupported("input '" + input.name + "'", "has a default, an initializer");
    QTX_ASSIGN_OR_RETURN(const HloValue value, writer.Argument(input.name));
    auto type = MlirType(value.type);
    if (!type.has_value()) return At("input '" + input.name + "'", type.error());
    text += (text.empty() ? "" : ", ") + value.id + ": " + *type + " loc(" +
            MlirString(input.name) + ")";
  }
  return text;
}

Result<std::string> Function(StablehloWriter& writer, const GraphIndex& graph) {
  QTX_ASSIGN_OR_RETURN(const std::string arguments, Arguments(writer, graph));
  for (const format::Node& node : graph.model().graph.nodes) {
    if (IsStock(node, "Constant")) continue;  // written where it is read
    auto written = WriteStablehloNode(writer, node);
    if (!written.has_value()) return At(graph::PlaceOf(node), written.error());
  }
  std::string results;
  std::string values;
  std::string types;
  for (const format::ValueInfo& output : graph.model().graph.outputs) {
    QTX_ASSIGN_OR_RETURN(const HloValue value, writer.Find(output.name));
    QTX_ASSIGN_OR_RETURN(const std::string type, MlirType(value.type));
    results += (results.empty() ? "" : ", ") + type +
               " {jax.result_info = " + MlirString(output.name) + "}";
    values += (values.empty() ? " " : ", ") + value.id;
    types += (types.empty() ? " : " : ", ") + type;
  }
  return "  func.func public @main(" + arguments + ") -> (" + results + ") {\n" + writer.Body() +
         "    return" + values + types + "\n  }\n";
}

}  // namespace

Result<Export> ToStablehlo(const format::Model& model, const Options& options) {
  Ledger ledger(options);
  QTX_ASSIGN_OR_RETURN(const GraphIndex graph, GraphIndex::Of(model));
  const format::Inference inference(model);
  QTX_RETURN_IF_ERROR(LoseTheRest(model, ledger));
  if (model.graph.outputs.empty()) return Unsupported("graph", "no outputs to return");
  StablehloWriter writer(graph, inference, ledger);
  QTX_ASSIGN_OR_RETURN(const std::string function, Function(writer, graph));
  std::string text = "module @qtx {\n" + function + "}\n";
  return Export{std::move(text), ledger.Take()};
}

}  // namespace qtx::convert
