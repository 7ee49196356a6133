// The plan for folding: what becomes of each QuantizeLinear and DequantizeLinear.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ledger.h"
#include "onnx/graph_index.h"
#include "qdq/parameters.h"

namespace qtx::convert {

struct QdqPlan {
  std::set<std::size_t> removed;                 // nodes
  std::map<std::size_t, format::Node> replaced;  // nodes that become a Cast
  std::map<std::string, std::string> renamed;    // values; applied to inputs and outputs of nodes
  std::map<std::string, std::string> initializers;          // to be renamed
  std::vector<std::pair<std::string, std::string>> copies;  // initializer, name of its copy
  std::map<std::string, format::TensorType> types;          // of quantized values
  std::vector<std::string> order;                           // of `types`, as found
  std::set<std::string> dropped;                            // removed values
};

struct PlanOptions {
  // True if the model has the nodes and annotations that lowering left (Recorded::all): only pairs
  // that lowering added are folded.
  bool as_recorded = false;
  std::set<std::string> reals;  // values that must stay FLOAT
};

/// Errors: kInvalid (parameters that no type can have).
Result<QdqPlan> MakePlan(const GraphIndex& index, const PlanOptions& options, Ledger& ledger);

}  // namespace qtx::convert
