// Lifting of a node on plain integers to the extended form.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "onnx/graph_index.h"
#include "onnx/quantized_types.h"
#include "qdq/parameters.h"
#include "qoperator/operators.h"

namespace qtx::convert {

/// A quantized initializer built from a node's inputs.
struct NewWeight {
  std::string name;
  format::Tensor stored;
  QdqParameters parameters;
  std::size_t input = 1;  // of the node
};

struct Lift {
  format::Node node;                             // on the names of the integers
  std::map<std::size_t, QdqParameters> inputs;   // how each integer input is read
  std::map<std::size_t, QdqParameters> outputs;  // how each integer output is written
  std::vector<format::Node> after;               // nodes on reals that follow it
  std::set<std::size_t> absorbed;                // further nodes that it replaces
  std::optional<NewWeight> weight;
  std::vector<format::Node> before;           // nodes on reals that it reads
  std::vector<format::TensorData> constants;  // initializers that these read
};

/// Context of the Lift functions.
struct LiftContext {
  const GraphIndex& index;
  graph::Names& names;
  std::string& why;  // reason, if the result is nullopt
};

/// Origin::framework of a node that came from stock ONNX; and of a stock node that replaces an
/// operator without a stock form, whose origin has the extended op_type and attributes.
inline constexpr const char* kOnnxFramework = "onnx";
inline constexpr const char* kOwnFramework = "qtx";

/// A node `op_type` that replaces `from`, with its name, metadata and origin.
format::Node PlainNode(const format::Node& from, std::string_view op_type);

/// The operator on reals that `node`, of this layout, stands for, on the names of the integers;
/// nullopt where its attributes say more.
std::optional<format::Node> PlainOperator(const LiftContext& context, const format::Node& node,
                                          const QOperatorLayout& layout);

/// Lifts the node; nullopt if it stays as it is.
/// Errors: kInvalid for a node that breaks its own rules, kUnsupported for one that is refused.
Result<std::optional<Lift>> LiftNode(const LiftContext& context, std::size_t node);

}  // namespace qtx::convert
