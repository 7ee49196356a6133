#include "tflite/losses.h"

#include <algorithm>

namespace qtx::convert {
namespace {

using format::ValueInfo;

void Bare(std::vector<ValueInfo>& values) {
  for (ValueInfo& value : values) {
    value.doc_string.clear();
    value.metadata.clear();
    if (!value.type) continue;
    value.type->statistics.reset();
    if (!value.type->quantization) continue;
    value.type->quantization->scheme = format::Scheme::kUnspecified;
    value.type->quantization->requantization.reset();
  }
}

// The graph without parts that do not affect results.
format::Graph Bare(format::Graph graph) {
  graph.name.clear();
  graph.doc_string.clear();
  graph.metadata.clear();
  for (format::Node& node : graph.nodes) {
    node.name.clear();
    node.doc_string.clear();
    node.metadata.clear();
    node.origin.reset();
  }
  Bare(graph.inputs);
  Bare(graph.outputs);
  Bare(graph.values);
  graph.initializers.clear();
  return graph;
}

bool SameConstants(const format::Model& model, const format::Model& back) {
  const auto same = [&](const format::TensorData& a, const format::TensorData& b) {
    if (a == b) return true;
    const auto ours = format::Decode(a, model.folder), theirs = format::Decode(b);
    return a.name == b.name && ours.has_value() && theirs.has_value() && *ours == *theirs;
  };
  return std::ranges::equal(model.graph.initializers, back.graph.initializers, same);
}

class Comparison {
 public:
  explicit Comparison(Ledger& ledger) : ledger_(ledger) {}

  Result<void> Values(const std::vector<ValueInfo>& values, const std::vector<ValueInfo>& back) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const ValueInfo &a = values[i], &b = back[i];
      QTX_RETURN_IF_ERROR(Documentation(a.name, a.doc_string, b.doc_string));
      QTX_RETURN_IF_ERROR(Entries(a.name, a.metadata, b.metadata));
      if (a.type && b.type) QTX_RETURN_IF_ERROR(Type(a.name, *a.type, *b.type));
    }
    return {};
  }
  Result<void> Nodes(const std::vector<format::Node>& nodes,
                     const std::vector<format::Node>& back) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const format::Node &a = nodes[i], &b = back[i];
      const std::string place = "node '" + a.name + "'";
      QTX_RETURN_IF_ERROR(Documentation(place, a.doc_string, b.doc_string));
      QTX_RETURN_IF_ERROR(Entries(place, a.metadata, b.metadata));
      if (a.origin && a.origin != b.origin) {
        QTX_RETURN_IF_ERROR(ledger_.Lose("origin", place, "origin", "belongs to another operator"));
      }
      if (a.name != b.name) QTX_RETURN_IF_ERROR(Lost(place, "name"));
    }
    return {};
  }
  Result<void> Documentation(const std::string& place, const std::string& a, const std::string& b) {
    return a.empty() || a == b ? Result<void>() : Lost(place, "doc_string");
  }
  Result<void> Entries(const std::string& place, const format::Metadata& a,
                       const format::Metadata& b) {
    return a.empty() || a == b ? Result<void>() : Lost(place, "metadata_props");
  }

 private:
  Result<void> Lost(const std::string& place, const char* field) {
    return ledger_.Lose("documentation", place, field, "a TFLite file cannot express it");
  }
  Result<void> Type(const std::string& name, const format::TensorType& a,
                    const format::TensorType& b) {
    if (a.statistics && a.statistics != b.statistics) {
      QTX_RETURN_IF_ERROR(ledger_.Lose("statistics", name, "statistics",
                                       "a TFLite tensor has only min and max, in binary32"));
    }
    if (!a.quantization || a.quantization == b.quantization) return {};
    return ledger_.Lose("scheme", name, "scheme", "a TFLite tensor has none");
  }

  Ledger& ledger_;
};

}  // namespace

bool SameGraph(const format::Model& model, const format::Model& back) {
  return Bare(model.graph) == Bare(back.graph) && SameConstants(model, back) &&
         model.opset_imports == back.opset_imports;
}

Result<void> LoseTheRest(const format::Model& model, const format::Model& back, Ledger& ledger) {
  Comparison comparison(ledger);
  const format::Graph &graph = model.graph, &other = back.graph;
  QTX_RETURN_IF_ERROR(comparison.Values(graph.inputs, other.inputs));
  QTX_RETURN_IF_ERROR(comparison.Values(graph.outputs, other.outputs));
  QTX_RETURN_IF_ERROR(comparison.Values(graph.values, other.values));
  QTX_RETURN_IF_ERROR(comparison.Nodes(graph.nodes, other.nodes));
  QTX_RETURN_IF_ERROR(comparison.Documentation("graph", graph.doc_string, other.doc_string));
  QTX_RETURN_IF_ERROR(comparison.Entries("graph", graph.metadata, other.metadata));
  return comparison.Documentation("model", model.doc_string, back.doc_string);
}

}  // namespace qtx::convert
