#include "ops/normalization.h"

namespace qtx::reference {
namespace {

using format::Dims;

Coefficient Pick(const std::optional<Operand>& operand, const std::vector<std::int64_t>& indices,
                 std::int64_t element) {
  if (!operand) return {};
  return {&*operand, indices[static_cast<std::size_t>(element)]};
}

}  // namespace

Groups GroupsOf(const Call& call, const Dims& dims) {
  const std::size_t axis = AxisOf(call, dims.size());
  Groups groups;
  groups.axis = static_cast<std::int64_t>(axis);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    (i < axis ? groups.count : groups.size) *= dims[i];
  }
  return groups;
}

Result<Affine> AffineOf(const Call& call, const Dims& dims, bool has_bias) {
  Affine affine;
  QTX_ASSIGN_OR_RETURN(affine.gain, OptionalOperandAt(call, 1));
  affine.gain_indices = BroadcastIndices(call.inputs[1]->dims, dims);
  if (!has_bias || call.Input(2) == nullptr) return affine;
  QTX_ASSIGN_OR_RETURN(affine.bias, OptionalOperandAt(call, 2));
  affine.bias_indices = BroadcastIndices(call.inputs[2]->dims, dims);
  return affine;
}

Coefficient Affine::Gain(std::int64_t element) const { return Pick(gain, gain_indices, element); }
Coefficient Affine::Bias(std::int64_t element) const { return Pick(bias, bias_indices, element); }

Result<void> SupportsStash(const format::Node& node, std::int64_t opset) {
  if (format::Attributes(node, opset).Int("stash_type") == 1) return {};
  return Error{ErrorCode::kUnsupported, "attribute 'stash_type'", "expected 1 (FLOAT)"};
}

}  // namespace qtx::reference
