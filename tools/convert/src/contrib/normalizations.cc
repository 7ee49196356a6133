// Normalizations and activations.
// Source: ONNX Runtime 1.32, docs/ContribOperators.md.
#include <array>

#include "contrib/node_group.h"
#include "onnx/graph_index.h"
#include "qtx/format/attributes.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Node;

constexpr float kSkipEpsilon = 1e-12F;        // of Skip*LayerNormalization
constexpr float kSimplifiedEpsilon = 1e-05F;  // of SimplifiedLayerNormalization

std::string Operand(const Node& node, std::size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : "";
}

// Results for training, which nodes of ai.onnx do not have.
bool HasMoments(const NodeGroup& group, std::initializer_list<std::size_t> outputs,
                std::string& why) {
  for (const std::size_t i : outputs) {
    if (!group.Has(i)) continue;
    why = "its result " + std::to_string(i) + " is one of training";
    return true;
  }
  return false;
}

// input + skip, + bias where there is one: the sum that result 3 is, if it is used.
std::string SumOf(const Node& former, NodeGroup& group, std::size_t bias_at) {
  const std::string bias = Operand(former, bias_at);
  std::string sum = group.OutputOr(3, "sum");
  if (bias.empty()) {
    group.AddTo({sum}, "Add", {former.inputs[0], former.inputs[1]});
  } else {
    group.AddTo({sum}, "Add", {group.Add("Add", {former.inputs[0], former.inputs[1]}), bias});
  }
  return sum;
}

// Result 1 counts the ones of each row of the mask; without a mask, none.
void AddMaskCount(const std::string& ids, const std::string& mask, NodeGroup& group) {
  constexpr std::int64_t kInt32 = 6;
  const Attribute to = Attribute::Int("to", kInt32);
  if (mask.empty()) {
    const std::string batch =
        group.Add("Shape", {ids}, {Attribute::Int("start", 0), Attribute::Int("end", 1)});
    group.AddTo({group.Output(1)}, "Expand", {group.Add("Cast", {group.Int(0)}, {to}), batch});
    return;
  }
  const std::string one = group.Add("CastLike", {group.Int(1), mask});
  const std::string ones = group.Add("Cast", {group.Add("Equal", {mask, one})}, {to});
  group.AddTo({group.Output(1)}, "ReduceSum", {ones, group.Ints({1})},
              {Attribute::Int("keepdims", 0)});
}

bool HasInputs(const Node& former, std::initializer_list<std::size_t> inputs, std::string& why) {
  for (const std::size_t i : inputs) {
    if (!Operand(former, i).empty()) continue;
    why = "it has no input " + std::to_string(i);
    return false;
  }
  return true;
}

}  // namespace

bool ExpandSimplifiedLayerNormalization(const ContribContext&, const Node& former, NodeGroup& group,
                                        std::string& why) {
  if (!HasInputs(former, {0, 1}, why) || HasMoments(group, {1}, why)) return false;
  group.AddTo({group.Output(0)}, "RMSNormalization", {former.inputs[0], former.inputs[1]},
              {Attribute::Int("axis", former.IntOr("axis", -1)),
               Attribute::Float("epsilon", former.FloatOr("epsilon", kSimplifiedEpsilon))});
  return true;
}

bool ExpandSkipSimplifiedLayerNormalization(const ContribContext&, const Node& former,
                                            NodeGroup& group, std::string& why) {
  if (!HasInputs(former, {0, 1, 2}, why) || HasMoments(group, {1, 2}, why)) return false;
  const std::string sum = SumOf(former, group, 3);
  group.AddTo({group.OutputOr(0, "normalized")}, "RMSNormalization", {sum, former.inputs[2]},
              {Attribute::Int("axis", -1),
               Attribute::Float("epsilon", former.FloatOr("epsilon", kSkipEpsilon))});
  return true;
}

bool ExpandSkipLayerNormalization(const ContribContext&, const Node& former, NodeGroup& group,
                                  std::string& why) {
  if (!HasInputs(former, {0, 1, 2}, why) || HasMoments(group, {1, 2}, why)) return false;
  const std::string sum = SumOf(former, group, 4);
  group.AddTo({group.OutputOr(0, "normalized")}, "LayerNormalization",
              {sum, former.inputs[2], Operand(former, 3)},
              {Attribute::Int("axis", -1),
               Attribute::Float("epsilon", former.FloatOr("epsilon", kSkipEpsilon))});
  return true;
}

// Rows of two or three tables, their sum normalized.
bool ExpandEmbedLayerNormalization(const ContribContext&, const Node& former, NodeGroup& group,
                                   std::string& why) {
  if (!HasInputs(former, {0, 2, 3, 5, 6}, why)) return false;
  const std::string ids = former.inputs[0], mask = Operand(former, 7);
  std::string positions = Operand(former, 8);
  if (positions.empty()) {
    const std::string length = group.Add("Shape", {ids}, {Attribute::Int("start", 1)});
    positions = group.Add("Range", {group.Int(0), group.Add("Squeeze", {length}), group.Int(1)});
  }
  const bool segments = !Operand(former, 1).empty() && !Operand(former, 4).empty();
  const std::string word = group.Add("Gather", {former.inputs[2], ids});
  const std::string place = group.Add("Gather", {former.inputs[3], positions});
  const std::string sum = group.OutputOr(2, "sum");
  if (segments) {
    const std::string two = group.Add("Add", {word, place});
    group.AddTo({sum}, "Add", {two, group.Add("Gather", {former.inputs[4], former.inputs[1]})});
  } else {
    group.AddTo({sum}, "Add", {word, place});
  }
  if (group.Has(1)) AddMaskCount(ids, mask, group);
  group.AddTo({group.OutputOr(0, "normalized")}, "LayerNormalization",
              {sum, former.inputs[5], former.inputs[6]},
              {Attribute::Int("axis", -1),
               Attribute::Float("epsilon", former.FloatOr("epsilon", kSkipEpsilon))});
  return true;
}

bool ExpandGelu(const ContribContext&, const Node& former, NodeGroup& group, std::string& why) {
  if (!HasInputs(former, {0}, why)) return false;
  group.AddTo({group.Output(0)}, "Gelu", {former.inputs[0]});
  return true;
}

bool ExpandBiasGelu(const ContribContext&, const Node& former, NodeGroup& group, std::string& why) {
  if (!HasInputs(former, {0, 1}, why)) return false;
  group.AddTo({group.Output(0)}, "Gelu", {group.Add("Add", {former.inputs[0], former.inputs[1]})});
  return true;
}

// 0.5 x (1 + tanh(0.797885 x + 0.035677 x^3)): the coefficients are sqrt(2 / pi) and 0.044715 times
// that, of which ONNX Runtime writes the first digits.
bool ExpandFastGelu(const ContribContext&, const Node& former, NodeGroup& group, std::string& why) {
  if (!HasInputs(former, {0}, why)) return false;
  std::string x = former.inputs[0];
  if (!Operand(former, 1).empty()) x = group.Add("Add", {x, former.inputs[1]});
  group.AddTo({group.Output(0)}, "Gelu", {x}, {Attribute::String("approximate", "tanh")});
  return true;
}

// x * sigmoid(alpha * x).
bool ExpandQuickGelu(const ContribContext&, const Node& former, NodeGroup& group,
                     std::string& why) {
  if (!HasInputs(former, {0}, why)) return false;
  const std::string& x = former.inputs[0];
  const std::string alpha =
      group.Add("CastLike", {group.Float(former.FloatOr("alpha", 1.702F)), x});
  const std::string gate = group.Add("Sigmoid", {group.Add("Mul", {x, alpha})});
  group.AddTo({group.Output(0)}, "Mul", {x, gate});
  return true;
}

}  // namespace qtx::convert
