#include "ops/axes.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Removes axes of size 1: the named ones, or all.  Source: squeeze.S1 (ONNX Squeeze-13).
Result<format::Tensor> Squeeze(const Call& call) {
  const format::Dims& from = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(const auto named, NamedAxes(call, from.size()));
  format::Dims dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool removed = named ? (*named)[i] : from[i] == 1;
    if (removed && from[i] != 1) {
      return Error{ErrorCode::kInvalid, "axes",
                   "axis " + std::to_string(i) + " of " + format::ToString(from) + " is not 1"};
    }
    if (!removed) dims.push_back(from[i]);
  }
  return Reshaped(call, dims);
}

constexpr AttributeRule kSqueezeAttributes[] = {{"axes", format::AttributeType::kInts}};

}  // namespace

const Operator kSqueeze = {.op_type = "Squeeze",
                           .min_inputs = 1,
                           .max_inputs = 2,
                           .attributes = kSqueezeAttributes,
                           .run = Squeeze};

}  // namespace qtx::reference::ops
