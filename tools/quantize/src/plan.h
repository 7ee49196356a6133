// The plan: what becomes of each node and value, decided before rewriting.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "initializers.h"
#include "ledger.h"
#include "operators.h"
#include "qtx/format/inference.h"
#include "qtx/format/tensor_type.h"
#include "settings.h"

namespace qtx::quantize {

enum class Mode {
  kFloat,
  kWeights,    // weights quantized, activations FLOAT
  kQuantized,  // data inputs and outputs quantized, too
};

struct NodePlan {
  const OperatorRow* row = nullptr;
  Settings settings;
  Mode mode = Mode::kFloat;
};

/// Plans every node. `inference` knows the types of values that the model does not declare.
/// The ledger gains the values that integers would ruin.
/// Errors: those of SettingsOf; kInvalid for a value whose type is not known.
Result<std::vector<NodePlan>> PlanNodes(const GraphIndex& index, const format::Inference& inference,
                                        const Options& options, Ledger& ledger);

/// True if the input is an activation: data, or computed weights.
std::vector<std::size_t> DataInputs(const GraphIndex& index, const format::Node& node,
                                    const OperatorRow& row);
/// The outputs that are quantized with the node.
std::vector<std::string> DataOutputs(const format::Node& node);

/// The limits of a Relu or Clip that was fused into the value's producer.
struct Clamp {
  double min = 0;
  double max = 0;
};
using Clamps = std::map<std::string, Clamp>;

/// Fuses every quantized Relu and Clip that is the only reader of a node with `takes_clamp` into
/// that node. This is exact: Q monotonic, Q(clip(x, lo, hi)) = clamp(Q(x), Q(lo), Q(hi)).  Also
/// removes their plans.
Clamps FoldActivations(format::Model& model, std::vector<NodePlan>& plans, Ledger& ledger);

/// The parameters of a value.
struct ValuePlan {
  TypeSpec spec;
  Parameters parameters;
  std::optional<ChosenRange> chosen;  // nullopt: fixed by the operator
  format::Quantization quantization;  // the same, with the limits of a clamp
};
using ValuePlans = std::map<std::string, ValuePlan>;

/// Parameters of every value that a quantized node reads or writes, except constants.
/// Errors: kInvalid, naming the value, of RangeOf and ChooseParameters.
Result<ValuePlans> PlanValues(const GraphIndex& index, const std::vector<NodePlan>& plans,
                              const Clamps& clamps);

}  // namespace qtx::quantize
