#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

bool Less(const Dyadic& a, const Dyadic& b) {
  return a.kind != Dyadic::Kind::kNan && b.kind != Dyadic::Kind::kNan && Compare(a, b) < 0;
}

// Before opset 11 a bound is the attribute `name`.  Source: clip.S4.
Result<std::optional<format::Tensor>> BoundOf(const Call& call, const char* name) {
  using Bound = std::optional<format::Tensor>;
  const format::Attribute* attribute = call.node.Find(name);
  if (attribute == nullptr) return Bound();
  QTX_ASSIGN_OR_RETURN(format::Tensor scalar, format::MakeTensor(format::ElementType::kFloat, {}));
  scalar.As<float>()[0] = attribute->f;
  return Bound(std::move(scalar));
}

// Input `i`, or else what the attribute says.
Result<std::optional<Operand>> OperandOf(const Call& call, std::size_t i,
                                         const std::optional<format::Tensor>& attribute) {
  if (!attribute) return OptionalOperandAt(call, i);
  QTX_ASSIGN_OR_RETURN(Operand operand, Operand::Make(*attribute));
  return std::optional<Operand>(std::move(operand));
}

// min(max(x, low), high) over the reals.  Source: clip.S1 to clip.S4.
Result<format::Tensor> Clip(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const auto min, BoundOf(call, "min"));
  QTX_ASSIGN_OR_RETURN(const auto max, BoundOf(call, "max"));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> low, OperandOf(call, 1, min));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> high, OperandOf(call, 2, max));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  Converter converter(call.arithmetic, x, &output, Purpose::kActivate);
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

const Operator kClip = {.op_type = "Clip", .run = Clip};

}  // namespace qtx::reference::ops
