#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

bool Less(const Dyadic& a, const Dyadic& b) {
  return a.kind != Dyadic::Kind::kNan && b.kind != Dyadic::Kind::kNan && Compare(a, b) < 0;
}

Result<void> CheckScalar(const Call& call, std::size_t i) {
  const format::Tensor* bound = call.Input(i);
  if (bound == nullptr || (bound->dims.size() <= 1 && format::ElementCount(*bound) == 1)) return {};
  return Error{ErrorCode::kInvalid, InputName(call, i),
               "found shape " + format::ToString(bound->dims) + ", expected a scalar"};
}

// RELU6 rescales in fixed point; any other Clip has no kernel in TFLite (tflite.S9, tflite.S11).
const RequantizeRecipe* KernelOf(const Call& call) {
  const auto& origin = call.node.origin;
  const bool relu6 = origin && origin->framework == "tflite" && origin->op_type == "RELU6";
  return relu6 || call.arithmetic.domain != Domain::kStored ? &call.arithmetic.activation : nullptr;
}

// min(max(x, low), high) over the reals.  Source: clip.S1 to clip.S3.
Result<format::Tensor> Clip(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> low, OptionalOperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> high, OptionalOperandAt(call, 2));
  QTX_RETURN_IF_ERROR(CheckScalar(call, 1));
  QTX_RETURN_IF_ERROR(CheckScalar(call, 2));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, x.tensor().dims));
  Converter converter(call.arithmetic, x, &output, KernelOf(call));
  const std::int64_t count = format::ElementCount(x.tensor());
  for (std::int64_t i = 0; i < count; ++i) {
    const bool raised = low && Less(x.exact(i), low->exact(0));
    const Dyadic value = raised ? low->exact(0) : x.exact(i);
    if (high && Less(high->exact(0), value)) {
      converter.PutValue(i, *high, 0);
    } else if (raised) {
      converter.PutValue(i, *low, 0);
    } else {
      converter.Put(i, i);
    }
  }
  return output.Take();
}

}  // namespace

const Operator kClip = {
    .op_type = "Clip", .min_inputs = 1, .max_inputs = 3, .attributes = {}, .run = Clip};

}  // namespace qtx::reference::ops
