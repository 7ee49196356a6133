#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

bool Less(const Dyadic& a, const Dyadic& b) {
  return a.kind != Dyadic::Kind::kNan && b.kind != Dyadic::Kind::kNan && Compare(a, b) < 0;
}

// The bound at input `i`; before opset 11 the attribute `name`.  Source: clip.S4, clip.C2, clip.C4.
Result<std::optional<format::Tensor>> BoundOf(const Call& call, std::size_t i, const char* name) {
  using Bound = std::optional<format::Tensor>;
  const format::Attribute* attribute = call.node.Find(name);
  if (attribute != nullptr) {
    if (call.opset >= 11 || call.Input(i) != nullptr) {
      return Error{ErrorCode::kInvalid, "attribute '" + std::string(name) + "'",
                   "is an input from opset 11 on"};
    }
    if (!IsReal(call.inputs[0]->elem_type)) {
      return Error{ErrorCode::kInvalid, "attribute '" + std::string(name) + "'",
                   "bounds real operands only"};
    }
    QTX_ASSIGN_OR_RETURN(format::Tensor scalar,
                         format::MakeTensor(format::ElementType::kFloat, {}));
    scalar.As<float>()[0] = attribute->f;
    return Bound(std::move(scalar));
  }
  const format::Tensor* bound = call.Input(i);
  if (bound == nullptr) return Bound();
  if (bound->dims.size() <= 1 && format::ElementCount(*bound) == 1) return Bound(*bound);
  return Error{ErrorCode::kInvalid, InputName(call, i),
               "found shape " + format::ToString(bound->dims) + ", expected a scalar"};
}

// RELU6 rescales in fixed point; any other Clip has no kernel in TFLite (tflite.S9, tflite.S11).
Purpose PurposeOf(const Call& call) {
  const auto& origin = call.node.origin;
  const bool relu6 = origin && origin->framework == "tflite" && origin->op_type == "RELU6";
  return relu6 || call.arithmetic.domain != Domain::kStored ? Purpose::kActivate : Purpose::kSelect;
}

Result<std::optional<Operand>> OperandOf(const Call& call, std::size_t i,
                                         const std::optional<format::Tensor>& bound) {
  if (!bound) return std::optional<Operand>();
  if (call.Input(i) != nullptr) return OptionalNumberAt(call, i);
  QTX_ASSIGN_OR_RETURN(Operand operand, Operand::Make(*bound));
  return std::optional<Operand>(std::move(operand));
}

// min(max(x, low), high) over the reals.  Source: clip.S1 to clip.S4.
Result<format::Tensor> Clip(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, NumberAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const auto min, BoundOf(call, 1, "min"));
  QTX_ASSIGN_OR_RETURN(const auto max, BoundOf(call, 2, "max"));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> low, OperandOf(call, 1, min));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> high, OperandOf(call, 2, max));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, x.tensor().dims));
  Converter converter(call.arithmetic, x, &output, PurposeOf(call));
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

constexpr AttributeRule kClipAttributes[] = {{"max", format::AttributeType::kFloat},
                                             {"min", format::AttributeType::kFloat}};

}  // namespace

const Operator kClip = {.op_type = "Clip",
                        .min_inputs = 1,
                        .max_inputs = 3,
                        .attributes = kClipAttributes,
                        .run = Clip};

}  // namespace qtx::reference::ops
