// FLOOR_DIV and FLOOR_MOD: ONNX's Div of integers goes towards 0, and its Mod of floats has the
// sign of the dividend.
#include "tflite/ops.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;

// Values between the operands and the result, which are all of one type and shape.
class Steps {
 public:
  static Result<Steps> Make(TfliteBuilder& builder, const TfliteOperator& op) {
    Steps steps(builder, op);
    QTX_ASSIGN_OR_RETURN(const int a, builder.Input(op, 0));
    QTX_ASSIGN_OR_RETURN(const int b, builder.Input(op, 1));
    QTX_ASSIGN_OR_RETURN(steps.y_, builder.Output(op));
    QTX_ASSIGN_OR_RETURN(steps.a, builder.Use(a, Layout::kOwn));
    QTX_ASSIGN_OR_RETURN(steps.b, builder.Use(b, Layout::kOwn));
    QTX_ASSIGN_OR_RETURN(steps.type_, builder.Type(steps.y_));
    steps.type_.statistics.reset();
    if (!steps.type_.quantization) return steps;
    return Error{ErrorCode::kUnsupported, "output", "a quantized quotient, expected plain numbers"};
  }
  bool IsFloat() const { return type_.elem_type == ElementType::kFloat; }
  std::string Add(Draft draft, const std::string& suffix) {
    return Add(std::move(draft), suffix, type_.elem_type);
  }
  std::string Add(Draft draft, const std::string& suffix, ElementType elem_type) {
    format::TensorType type = type_;
    type.elem_type = elem_type;
    return builder_.EmitInner(op_, std::move(draft), builder_.tensor(y_).name + suffix,
                              std::move(type));
  }
  std::string Remainder() {
    return Add({"Mod", {a, b}, {Attribute::Int("fmod", IsFloat() ? 1 : 0)}}, "/remainder");
  }
  Result<void> Finish(Draft draft) {
    return builder_.Emit(op_, std::move(draft), y_, Layout::kOwn);
  }

  std::string a, b;

 private:
  Steps(TfliteBuilder& builder, const TfliteOperator& op) : builder_(builder), op_(op) {}

  TfliteBuilder& builder_;
  const TfliteOperator& op_;
  int y_ = 0;
  format::TensorType type_;
};

}  // namespace

// Floats: the floor of the rounded quotient, as TFLite computes it.  Integers: what is left once
// the remainder, of b's sign, is taken away divides without one.
Result<void> ConvertFloorDiv(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(Steps steps, Steps::Make(builder, op));
  if (steps.IsFloat()) {
    const std::string quotient = steps.Add({"Div", {steps.a, steps.b}, {}}, "/quotient");
    return steps.Finish({"Floor", {quotient}, {}});
  }
  const std::string multiple = steps.Add({"Sub", {steps.a, steps.Remainder()}, {}}, "/multiple");
  return steps.Finish({"Div", {multiple, steps.b}, {}});
}

// Floats: b is added to a remainder of the other sign.
Result<void> ConvertFloorMod(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(Steps steps, Steps::Make(builder, op));
  if (!steps.IsFloat()) {
    return steps.Finish({"Mod", {steps.a, steps.b}, {Attribute::Int("fmod", 0)}});
  }
  const std::string remainder = steps.Remainder();
  const std::string sign = steps.Add({"Sign", {remainder}, {}}, "/sign");
  const std::string sign_of_b = steps.Add({"Sign", {steps.b}, {}}, "/sign_of_b");
  const std::string product = steps.Add({"Mul", {sign, sign_of_b}, {}}, "/signs");
  const std::string zero = builder.AddConstant(sign + "/zero", graph::FloatTensor(0.0F));
  const std::string differ =
      steps.Add({"Less", {product, zero}, {}}, "/differ", ElementType::kBool);
  const std::string moved = steps.Add({"Add", {remainder, steps.b}, {}}, "/moved");
  return steps.Finish({"Where", {differ, moved, remainder}, {}});
}

}  // namespace qtx::convert
