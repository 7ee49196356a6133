#include "qonnx/channels_last.h"

#include "qonnx/dialect.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Node;

// The rank, from any source.
std::optional<std::int64_t> RankOf(const GraphIndex& index, const Node& node) {
  const format::Attribute* kernel = node.Find("kernel_shape");
  if (kernel != nullptr) return static_cast<std::int64_t>(kernel->ints.size()) + 2;
  if (const auto rank = index.RankOf(node.inputs[0])) return rank;
  return node.op_type == "Conv" ? index.RankOf(node.inputs[1]) : std::nullopt;
}

std::vector<std::int64_t> ToFirst(std::int64_t rank) {
  std::vector<std::int64_t> perm = {0, rank - 1};
  for (std::int64_t axis = 1; axis < rank - 1; ++axis) perm.push_back(axis);
  return perm;
}

std::vector<std::int64_t> ToLast(std::int64_t rank) {
  std::vector<std::int64_t> perm = {0};
  for (std::int64_t axis = 2; axis < rank; ++axis) perm.push_back(axis);
  perm.push_back(1);
  return perm;
}

Node Transpose(const std::string& from, const std::string& to, std::vector<std::int64_t> perm) {
  Node node;
  node.name = to + "/Transpose";
  node.op_type = "Transpose";
  node.inputs = {from};
  node.outputs = {to};
  node.attributes = {Attribute::Ints("perm", std::move(perm))};
  return node;
}

}  // namespace

bool IsChannelsLast(const Node& node) { return node.domain.ends_with(".channels_last"); }

Result<std::vector<Node>> ChannelsFirst(const GraphIndex& index, const Node& node,
                                        const std::function<std::string(std::string)>& unique) {
  const bool conv = node.op_type == "Conv";
  if (!conv && node.op_type != "MaxPool" && node.op_type != "BatchNormalization")
    return Error{ErrorCode::kUnsupported, node.domain + "." + node.op_type,
                 "the extended form has no such operator"};
  if (node.inputs.size() < (conv ? 2U : 1U) || node.outputs.size() != 1)
    return Error{ErrorCode::kInvalid, "inputs and outputs", "missing, or more than one output"};
  const auto rank = RankOf(index, node);
  if (!rank || *rank < 3 || *rank > 16)
    return Error{ErrorCode::kInvalid, "value '" + node.inputs[0] + "'",
                 "expected a known rank of 3 or more"};
  Node first = node;
  first.domain.clear();
  first.origin = {.framework = std::string(kQonnxFramework),
                  .domain = node.domain,
                  .op_type = node.op_type,
                  .name = node.name,
                  .attributes = node.attributes};
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < (conv ? 2U : 1U); ++i) {
    first.inputs[i] = unique(node.inputs[i] + "/nchw");
    nodes.push_back(Transpose(node.inputs[i], first.inputs[i], ToFirst(*rank)));
  }
  first.outputs = {unique(node.outputs[0] + "/nchw")};
  nodes.push_back(first);
  nodes.push_back(Transpose(first.outputs[0], node.outputs[0], ToLast(*rank)));
  return nodes;
}

}  // namespace qtx::convert
