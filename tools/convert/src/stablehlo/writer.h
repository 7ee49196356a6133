// Writes the function of a StableHLO program while the nodes of a graph are walked.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger.h"
#include "qtx/format/inference.h"
#include "qtx/graph/graph_index.h"
#include "stablehlo/mlir_out.h"

namespace qtx::convert {

/// A value of the function.
struct HloValue {
  std::string id;  // "%x"
  HloType type;
};

class StablehloWriter {
 public:
  /// Borrows all.
  StablehloWriter(const graph::GraphIndex& graph, const format::Inference& inference,
                  Ledger& ledger)
      : graph_(graph), inference_(inference), ledger_(ledger) {}

  Ledger& ledger() { return ledger_; }
  const graph::GraphIndex& graph() const { return graph_; }

  /// The type of a value of the graph: declared, or inferred.  Errors: kUnsupported where element
  /// type or rank is unknown.
  Result<HloType> TypeOf(const std::string& name) const;
  Result<HloType> OutputType(const format::Node& node) const { return TypeOf(node.outputs[0]); }
  /// Input `i` of a node; a constant is written where it is first used.  Errors: kInvalid for one
  /// that is absent or defined nowhere; those of MlirType.
  Result<HloValue> Input(const format::Node& node, std::size_t i);
  static bool Has(const format::Node& node, std::size_t i) {
    return i < node.inputs.size() && !node.inputs[i].empty();
  }
  /// The integers of a constant input.  Errors: kUnsupported where it is computed.
  Result<std::vector<std::int64_t>> Ints(const format::Node& node, std::size_t i) const;

  Result<HloValue> Argument(const std::string& name);
  /// An operator: "stablehlo.add %a, %b", without types, of `operands`.
  Result<HloValue> Emit(std::string text, const std::vector<HloValue>& operands, HloType type);
  /// "op %a, %b" and `suffix`.
  Result<HloValue> Op(std::string_view op, const std::vector<HloValue>& operands, HloType type,
                      const std::string& suffix = "");
  /// A constant of the stored elements of `tensor`, which may be quantized.
  Result<HloValue> Constant(const format::Tensor& tensor, std::string_view name = "");
  /// `real` as a scalar of `type`, without dimensions; of a quantized type the stored value nearest
  /// to it. Infinity is the extreme of a type that has none.
  Result<HloValue> Scalar(double real, const HloType& type);
  Result<HloValue> Splat(double real, const HloType& type);

  /// The value in another type of the same dimensions: by uniform_quantize, uniform_dequantize or
  /// convert; itself where that is its type.
  Result<HloValue> Cast(HloValue value, const HloType& to);
  /// Its reals, as elements of `type`.
  Result<HloValue> Reals(const HloValue& value, format::ElementType type);
  /// `dims`: where the axes of `value` are in the result.
  Result<HloValue> Broadcast(const HloValue& value, const format::Dims& dims,
                             const std::vector<std::int64_t>& axes);
  /// As ONNX broadcasts: aligned at the last axis.
  Result<HloValue> Broadcast(const HloValue& value, const format::Dims& dims);
  Result<HloValue> Reshape(const HloValue& value, const format::Dims& dims);

  /// Output `i` of a node is `value`, cast to its declared type.
  Result<void> Bind(const format::Node& node, HloValue value, std::size_t i = 0);
  /// Errors: kInvalid for a name that nothing defines.
  Result<HloValue> Find(const std::string& name);

  /// The text of all operators.
  std::string Body() const;

 private:
  struct Line {
    std::string id, text, types, name;
  };

  const graph::GraphIndex& graph_;
  const format::Inference& inference_;
  Ledger& ledger_;
  MlirNames names_;
  std::vector<Line> lines_;
  std::unordered_map<std::string, HloValue> values_;
};

/// Errors: kUnsupported where a size is unknown.
Result<void> CheckFixed(const HloType& type);
std::string MlirInts(const std::vector<std::int64_t>& values);  // "[1, 2]"

/// Writes one node.  Errors: kUnsupported, without the node's place.
Result<void> WriteStablehloNode(StablehloWriter& writer, const format::Node& node);

}  // namespace qtx::convert
