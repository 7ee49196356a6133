#include "ops/axes.h"
#include "ops/registry.h"
#include "qtx/format/limits.h"

namespace qtx::reference::ops {
namespace {

// Inserts axes of size 1 at the named positions of the result.  Source: unsqueeze.S1 (ONNX
// Unsqueeze-13).
Result<format::Tensor> Unsqueeze(const Call& call) {
  const format::Dims& from = call.inputs[0]->dims;
  std::size_t added = call.node.IntsOr("axes", {}).size();
  if (call.Input(1) != nullptr) {
    added = static_cast<std::size_t>(format::ElementCount(*call.Input(1)));
  }
  if (added > static_cast<std::size_t>(format::kMaxRank)) {
    return Error{ErrorCode::kTooLarge, "axes", "found " + std::to_string(added) + " axes"};
  }
  QTX_ASSIGN_OR_RETURN(const auto named, NamedAxes(call, from.size() + added));
  if (!named) return Error{ErrorCode::kInvalid, "axes", "are required"};
  format::Dims dims;
  auto next = from.begin();
  for (const bool inserted : *named) dims.push_back(inserted ? 1 : *next++);
  return Reshaped(call, dims);
}

constexpr AttributeRule kUnsqueezeAttributes[] = {{"axes", format::AttributeType::kInts}};

}  // namespace

const Operator kUnsqueeze = {.op_type = "Unsqueeze",
                             .min_inputs = 1,
                             .max_inputs = 2,
                             .attributes = kUnsqueezeAttributes,
                             .run = Unsqueeze};

}  // namespace qtx::reference::ops
