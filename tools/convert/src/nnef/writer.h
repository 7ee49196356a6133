// Writes the text and binaries of an NNEF model while the nodes of a graph are walked.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger.h"
#include "qtx/format/inference.h"
#include "qtx/graph/graph_index.h"

namespace qtx::convert::nnef {

/// A tensor of the text.
struct OutTensor {
  std::string id;  // an identifier, or the literal of a scalar constant
  format::Dims dims;
  format::ElementType type = format::ElementType::kFloat;
};

class Writer {
 public:
  /// Borrows all.
  Writer(const graph::GraphIndex& graph, const format::Inference& inference, Ledger& ledger)
      : graph_(graph), inference_(inference), ledger_(ledger) {}

  const graph::GraphIndex& graph() const { return graph_; }

  /// Type and fixed dimensions of a value.  Errors: kUnsupported where they are not known.
  Result<format::TensorType> TypeOf(const std::string& value) const;
  Result<format::Dims> DimsOf(const std::string& value) const;
  static bool Has(const format::Node& node, std::size_t i) {
    return i < node.inputs.size() && !node.inputs[i].empty();
  }

  /// Input `i`: a constant becomes a variable where it is first read, a scalar FLOAT a literal.
  Result<OutTensor> Input(const format::Node& node, std::size_t i);
  /// The same with `rank` dimensions: with ones before its own, where NNEF puts them behind.
  Result<OutTensor> Aligned(const format::Node& node, std::size_t i, std::size_t rank);
  /// A vector of channels as [1, C].
  Result<OutTensor> Channels(const format::Node& node, std::size_t i);
  /// The integers of a constant input.  Errors: kUnsupported where it is computed.
  Result<std::vector<std::int64_t>> Ints(const format::Node& node, std::size_t i) const;

  /// `id = text;` where the result is within the node.
  OutTensor Inner(const std::string& text, format::Dims dims);
  /// `id = text;` of output `i`, with its entry of graph.quant.
  Result<void> Emit(const format::Node& node, const std::string& text, std::size_t i = 0);
  /// `[ids] = text;` of all outputs.
  Result<void> EmitAll(const format::Node& node, const std::string& text);

  Result<void> AddInput(const std::string& value);
  Result<std::string> Find(const std::string& value) const;  // its identifier
  /// graph.nnef, graph.quant if there is a quantized tensor, and the binaries.
  std::vector<OutputFile> Files(const std::string& name, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs) const;

 private:
  std::string NewId(const std::string& wanted);
  Result<std::string> Define(const std::string& value);
  Result<OutTensor> Constant(const std::string& value, const format::Dims& dims);
  Result<void> NoteQuantization(const std::string& id, const format::TensorType& type);

  const graph::GraphIndex& graph_;
  const format::Inference& inference_;
  Ledger& ledger_;
  std::unordered_map<std::string, int> ids_;
  std::unordered_map<std::string, std::string> values_;  // identifiers, of constants by dims too
  std::unordered_map<std::string, std::string> labels_;  // of constants, by file
  std::string text_, quant_;
  std::vector<OutputFile> binaries_;
};

std::string ListText(const std::vector<std::int64_t>& values);  // "[1, 2]"

/// Writes one node.  Errors: kUnsupported, without the node's place.
Result<void> WriteNode(Writer& writer, const format::Node& node);

}  // namespace qtx::convert::nnef
