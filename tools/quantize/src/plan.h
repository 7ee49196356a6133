// What becomes of each node and value, before anything is rewritten.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph_index.h"
#include "ledger.h"
#include "operators.h"
#include "qtx/format/tensor_type.h"
#include "settings.h"

namespace qtx::quantize {

enum class Mode {
  kFloat,
  kWeights,    // weights quantized, activations FLOAT
  kQuantized,  // data inputs and outputs too
};

struct NodePlan {
  const OperatorRow* row = nullptr;
  Settings settings;
  Mode mode = Mode::kFloat;
};

/// One for each node.  Errors: those of SettingsOf; kInvalid for a value without a declared type,
/// kUnsupported for a node with subgraphs.
Result<std::vector<NodePlan>> PlanNodes(const GraphIndex& index, const Options& options);

/// Where a node reads an activation: an input of the row's data, or weights that are computed.
std::vector<std::size_t> DataInputs(const GraphIndex& index, const format::Node& node,
                                    const OperatorRow& row);
/// Its outputs that are quantized with it.
std::vector<std::string> DataOutputs(const format::Node& node);

/// The limits that a Relu or Clip put on a value before it went into the value's producer.
struct Clamp {
  double min = 0;
  double max = 0;
};
using Clamps = std::map<std::string, Clamp>;

/// Every quantized Relu and Clip that alone reads what a node with `takes_clamp` computes goes
/// into that node. Stored values are rounded and clamped in one step, so that this is exact: with
/// Q monotonic, Q(clip(x, lo, hi)) = clamp(Q(x), Q(lo), Q(hi)).  `plans` loses its rows, too.
Clamps FoldActivations(format::Model& model, std::vector<NodePlan>& plans, Ledger& ledger);

/// The parameters of a value.
struct ValuePlan {
  TypeSpec spec;
  Parameters parameters;
  std::optional<ChosenRange> chosen;  // nullopt: fixed by the operator
  format::Quantization quantization;  // the same, with the limits of a clamp
};
using ValuePlans = std::map<std::string, ValuePlan>;

/// Parameters of every value that a quantized node reads or writes, constants left out.
/// Errors: kInvalid, naming the value, of RangeOf and ChooseParameters.
Result<ValuePlans> PlanValues(const GraphIndex& index, const std::vector<NodePlan>& plans,
                              const Clamps& clamps);

}  // namespace qtx::quantize
