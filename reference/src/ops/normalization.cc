#include "ops/normalization.h"

#include <cmath>

namespace qtx::reference {
namespace {

using format::Dims;

Result<std::vector<std::int64_t>> IndicesOf(const Call& call, std::size_t i, const Dims& dims) {
  const Dims& from = call.inputs[i]->dims;
  auto broadcast = Broadcast(from, dims);
  if (!broadcast.has_value() || *broadcast != dims) {
    return Error{ErrorCode::kInvalid, InputName(call, i),
                 "found shape " + format::ToString(from) + ", expected one that broadcasts to " +
                     format::ToString(dims)};
  }
  return BroadcastIndices(from, dims);
}

Coefficient Pick(const std::optional<Operand>& operand, const std::vector<std::int64_t>& indices,
                 std::int64_t element) {
  if (!operand) return {};
  return {&*operand, indices[static_cast<std::size_t>(element)]};
}

}  // namespace

Result<Groups> GroupsOf(const Call& call, const Dims& dims) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto axis = format::NormalizeAxis(call.node.IntOr("axis", -1), rank);
  if (!axis.has_value()) return At("attribute 'axis'", axis.error());
  Groups groups;
  groups.axis = *axis;
  for (std::int64_t i = 0; i < rank; ++i) {
    (i < *axis ? groups.count : groups.size) *= dims[static_cast<std::size_t>(i)];
  }
  return groups;
}

Result<Affine> AffineOf(const Call& call, const Dims& dims, bool has_bias) {
  Affine affine;
  QTX_ASSIGN_OR_RETURN(affine.gain, OptionalOperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(affine.gain_indices, IndicesOf(call, 1, dims));
  if (!has_bias || call.Input(2) == nullptr) return affine;
  QTX_ASSIGN_OR_RETURN(affine.bias, OptionalOperandAt(call, 2));
  QTX_ASSIGN_OR_RETURN(affine.bias_indices, IndicesOf(call, 2, dims));
  return affine;
}

Coefficient Affine::Gain(std::int64_t element) const { return Pick(gain, gain_indices, element); }
Coefficient Affine::Bias(std::int64_t element) const { return Pick(bias, bias_indices, element); }

Result<void> CheckPerChannel(const Call& call, std::size_t i, std::int64_t channels) {
  if (call.inputs[i]->dims == Dims{channels}) return {};
  return Error{ErrorCode::kInvalid, InputName(call, i),
               "found shape " + format::ToString(call.inputs[i]->dims) + ", expected [" +
                   std::to_string(channels) + "]"};
}

Result<void> CheckNormalization(const format::Node& node) {
  if (node.IntOr("stash_type", 1) != 1) {
    return Error{ErrorCode::kUnsupported, "attribute 'stash_type'", "expected 1 (FLOAT)"};
  }
  const float epsilon = node.FloatOr("epsilon", 1e-5F);
  if (epsilon >= 0 && std::isfinite(epsilon)) return {};
  return Error{ErrorCode::kInvalid, "attribute 'epsilon'",
               "found " + std::to_string(epsilon) + ", expected a finite number of at least 0"};
}

}  // namespace qtx::reference
