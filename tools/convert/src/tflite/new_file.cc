#include "tflite/new_file.h"

#include <algorithm>
#include <cmath>

#include "qtx/format/inference.h"
#include "tflite/expand.h"
#include "tflite/file.h"
#include "tflite/halves.h"
#include "tflite/known.h"
#include "tflite/metadata.h"
#include "tflite/nodes_out.h"
#include "tflite/pack.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using schema::ActivationFunctionType;

// True for a layer with unsigned x and weights that its kernel refuses.
bool NeedsSigned(const TfliteWriter& writer, const format::Node& node) {
  static constexpr std::array kLayers = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  if (std::ranges::find(kLayers, node.op_type) == kLayers.end()) return false;
  // BATCH_MATMUL, used for products of two values, refuses unsigned types.
  bool has_bytes = false, others = node.op_type == "MatMul" && !writer.IsConstant(node.inputs[1]);
  for (const std::string& value : {node.inputs[0], node.inputs[1], node.outputs[0]}) {
    const auto type = writer.Type(value);
    if (!type.has_value() || !type->quantization) continue;
    const bool bytes = type->elem_type == ElementType::kUint8Q && type->quantization->axis.empty();
    has_bytes |= type->elem_type == ElementType::kUint8Q;
    others |= !bytes;
  }
  return has_bytes && others;
}

// The two nodes of a MEAN without keep_dims, whose kernel rounds differently.
bool DropsAxes(const format::Node& pool, const format::Node& reshape) {
  return pool.op_type == "GlobalAveragePool" && reshape.op_type == "Reshape" && pool.origin &&
         pool.origin->framework == "tflite" && pool.origin->op_type == "MEAN" &&
         pool.origin == reshape.origin;
}

// Nodes that are one operator with the one after them: a Relu or Clip, or the rest of a MEAN.
class Fusion {
 public:
  Fusion(const GraphIndex& graph, const TfliteWriter& writer) {
    const auto& nodes = graph.model().graph.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].inputs.empty()) continue;
      const std::string& x = nodes[i].inputs[0];
      const auto producer = graph.Producer(x);
      if (!producer || !graph.OnlyUse(x) || followers_.contains(*producer)) {
        continue;
      }
      const auto activation = ActivationOf(writer, nodes[i]);
      const auto type = writer.Type(x);
      // Not fused if the intermediate result is FLOAT or has its own grid, which rounds it.
      const bool activates = activation && type.has_value() && !type->quantization &&
                             TakesActivation(writer, nodes[*producer]);
      if (!activates && !DropsAxes(nodes[*producer], nodes[i])) continue;
      followers_[*producer] = {i, activates ? activation : std::nullopt};
      taken_.insert(i);
    }
  }
  bool IsTaken(std::size_t node) const { return taken_.contains(node); }
  Job JobOf(const format::Graph& graph, std::size_t node) const {
    const auto found = followers_.find(node);
    if (found == followers_.end()) return {graph.nodes[node], graph.nodes[node].outputs[0]};
    const auto& [follower, activation] = found->second;
    return {graph.nodes[node], graph.nodes[follower].outputs[0], activation};
  }

 private:
  std::map<std::size_t, std::pair<std::size_t, std::optional<ActivationFunctionType>>> followers_;
  std::set<std::size_t> taken_;
};

bool IsBinary32(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double v) { return v == static_cast<float>(v); });
}

Result<void> LoseOfType(const std::string& name, const format::TensorType& type, bool constant,
                        Ledger& ledger) {
  if (const auto& s = type.statistics) {
    const bool range = s->axis.size() <= 1 && IsBinary32(s->min) && IsBinary32(s->max);
    const bool more = !s->mean.empty() || !s->std.empty() || s->histogram || s->count != 0 ||
                      s->nan_count != 0 || s->infinity_count != 0 || !s->moments.empty();
    if (!range || more) {
      QTX_RETURN_IF_ERROR(ledger.Lose("statistics", name,
                                      range ? "statistics but min and max" : "statistics",
                                      "a TFLite tensor has only min and max, in binary32"));
    }
    if (range) ledger.Kept(name, "min and max");
  }
  if (!type.quantization) return {};
  if (!format::IsQuantized(type.elem_type)) {
    return ledger.Lose("parameters", name, "quantization",
                       "annotates a " + std::string(format::Name(type.elem_type)) +
                           " value; a tensor of TFLite that has a scale is of integers");
  }
  const format::Quantization& q = *type.quantization;
  ledger.Kept(name, "scale");
  // The source that a reader assigns.
  const bool symmetric = constant && format::StorageRange(type.elem_type).min < 0 &&
                         std::ranges::all_of(q.offset, [](auto offset) { return offset == 0; });
  const auto read = symmetric ? format::Scheme::kSymmetric : format::Scheme::kAsymmetric;
  if (q.requantization || (q.scheme != format::Scheme::kUnspecified && q.scheme != read)) {
    return ledger.Lose("scheme", name, "scheme", "a TFLite tensor has none");
  }
  return {};
}

Result<void> LoseOfValues(const GraphIndex& graph, const std::vector<format::ValueInfo>& values,
                          Ledger& ledger) {
  for (const format::ValueInfo& value : values) {
    if (!value.doc_string.empty() || !value.metadata.empty()) {
      QTX_RETURN_IF_ERROR(ledger.Lose("documentation", value.name, "doc_string",
                                      "a TFLite file cannot express it"));
    }
    if (!value.type) continue;
    const bool constant = graph.Initializer(value.name) != nullptr;
    QTX_RETURN_IF_ERROR(LoseOfType(value.name, *value.type, constant, ledger));
  }
  return {};
}

Result<void> LoseOfNodes(const format::Graph& graph, Ledger& ledger) {
  for (const format::Node& node : graph.nodes) {
    const std::string place = "node '" + node.name + "'";
    if (!node.doc_string.empty() || !node.metadata.empty()) {
      QTX_RETURN_IF_ERROR(
          ledger.Lose("documentation", place, "doc_string", "a TFLite file cannot express it"));
    }
    if (node.origin && node.origin->framework != "tflite") {
      QTX_RETURN_IF_ERROR(
          ledger.Lose("origin", place, "origin", "a TFLite file cannot express it"));
    }
  }
  ledger.Dropped("model", "node names", "operators of TFLite have no names");
  return {};
}

Result<void> LoseOfModel(const GraphIndex& index, const format::Model& model, Ledger& ledger) {
  const format::Graph& graph = model.graph;
  QTX_RETURN_IF_ERROR(LoseOfValues(index, graph.inputs, ledger));
  QTX_RETURN_IF_ERROR(LoseOfValues(index, graph.outputs, ledger));
  QTX_RETURN_IF_ERROR(LoseOfValues(index, graph.values, ledger));
  QTX_RETURN_IF_ERROR(LoseOfNodes(graph, ledger));
  if (graph.doc_string.empty() && graph.metadata.empty()) return {};
  return ledger.Lose("documentation", "graph", "doc_string", "a TFLite file cannot express it");
}

}  // namespace

Result<std::string> NewTflite(const format::Model& source, Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(const Widened widened, WidenHalves(WithoutMissingOperators(
                                                  WithKnownValues(source, ledger), ledger)));
  const format::Model model = format::WithInferredTypes(widened.model);
  QTX_ASSIGN_OR_RETURN(const GraphIndex graph, GraphIndex::Of(model));
  const TfliteWriter probe(graph, false, widened.halves, ledger);
  const bool to_signed = std::ranges::any_of(model.graph.nodes, [&](const format::Node& node) {
    return node.inputs.size() > 1 && !node.outputs.empty() && NeedsSigned(probe, node);
  });
  if (to_signed) {
    ledger.Changed("model", "elem_type",
                   "inner UINT8Q values become INT8Q, reduced by 128, because weights are signed "
                   "or per channel");
  }
  QTX_RETURN_IF_ERROR(LoseOfModel(graph, model, ledger));
  TfliteWriter writer(graph, to_signed, widened.halves, ledger);
  QTX_RETURN_IF_ERROR(writer.AddInputs());
  const Fusion fusion(graph, writer);
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
    if (fusion.IsTaken(i) || model.graph.nodes[i].outputs.empty()) continue;
    QTX_RETURN_IF_ERROR(WriteNode(writer, fusion.JobOf(model.graph, i)));
  }
  QTX_ASSIGN_OR_RETURN(schema::ModelT tables, writer.Finish(model));
  SetProperties(model.metadata, tables);
  QTX_ASSIGN_OR_RETURN(std::string bytes, PackTflite(tables));
  // Verifies that the written file can be read.
  QTX_RETURN_IF_ERROR(TfliteFile::Open(bytes));
  return bytes;
}

}  // namespace qtx::convert
