// Relu, Clip, Cast, Identity: a Converter over a whole tensor.
#include <cmath>
#include <utility>

#include "engine/ops/cast.h"
#include "engine/ops/conversion.h"
#include "engine/ops/reals.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Tensor;

class Conversion : public Step {
 public:
  Conversion(const Value* x, Value* y, Converter converter)
      : x_(x), y_(y), converter_(std::move(converter)) {}
  std::string_view Path() const override { return "conversion"; }
  Result<void> Run() override {
    converter_.Run(x_->tensor.bytes, y_->tensor.bytes);
    return {};
  }

 private:
  const Value* x_;
  Value* y_;
  Converter converter_;
};

// A bound of Clip: nothing when absent or an infinity that bounds nothing. A NaN bounds nothing
// either, as every comparison with it is false.
Result<std::optional<Term>> BoundOf(const NodePlan& node, std::size_t input, float harmless) {
  if (!node.HasInput(input)) return std::optional<Term>();
  QTX_ASSIGN_OR_RETURN(const Tensor* tensor, node.Constant(input));
  if (tensor->elem_type == ElementType::kFloat) {
    const float real = tensor->As<float>()[0];
    if (real == harmless || std::isnan(real)) return std::optional<Term>();
  }
  auto checked = CheckReals(*tensor);
  if (!checked.has_value()) return node.Because(checked.error());
  return std::optional(RealsOf(*tensor)[0]);
}

Result<RealBounds> BoundsOf(const NodePlan& node) {
  RealBounds bounds;
  if (node.node().op_type == "Relu") bounds.low = Term{0, 1};
  if (node.node().op_type != "Clip") return bounds;
  QTX_ASSIGN_OR_RETURN(bounds.low, BoundOf(node, 1, -INFINITY));
  QTX_ASSIGN_OR_RETURN(bounds.high, BoundOf(node, 2, INFINITY));
  // Before opset 11 the bounds are attributes.
  for (const auto& [name, bound] :
       {std::pair("min", &bounds.low), std::pair("max", &bounds.high)}) {
    const format::Attribute* attribute = node.node().Find(name);
    if (attribute == nullptr) continue;
    *bound = Term{1, attribute->f};
  }
  return bounds;
}

// Checks that a Converter exists. Only Identity copies equal types of any kind.
Result<void> CheckElements(const NodePlan& node, ElementType from, ElementType to) {
  if (to == ElementType::kString) return node.Unsupported("a STRING");
  for (const ElementType type : {from, to}) {
    if (node.node().op_type != "Identity" && IsPlainNumber(type)) {
      return node.Unsupported("elements of type " + std::string(format::Name(type)));
    }
  }
  return {};
}

// definitions.S11.
bool IsRelu6(const NodePlan& node, const RealBounds& bounds) {
  if (!ComesFromTflite(node.node(), "RELU6")) return false;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (!node.HasInput(i)) return false;
    const auto bound = node.TypeOf(i);
    if (!bound.has_value() || (*bound)->elem_type != ElementType::kFloat) return false;
  }
  const auto is = [](const std::optional<Term>& bound, double value) {
    return bound.has_value() && bound->integer * bound->scale == value;
  };
  return is(bounds.low, 0) && is(bounds.high, 6);
}

// TFLite's kernels: RELU and RELU6 rescale, QUANTIZE changes types; Identity moves, and another
// Clip than RELU6 has none (tflite.S9, tflite.S11).
Purpose PurposeOf(const NodePlan& node, const RealBounds& bounds) {
  const std::string& op = node.node().op_type;
  if (op == "Cast") return Purpose::kQuantize;
  if (op == "Identity") return Purpose::kMove;
  const bool no_kernel = op == "Clip" && IsTflite(node.arithmetic()) && !IsRelu6(node, bounds);
  return no_kernel ? Purpose::kSelect : Purpose::kActivate;
}

}  // namespace

StepResult PrepareConversion(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Tensor* from, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const Tensor to, node.OutputType(from->dims));
  QTX_RETURN_IF_ERROR(CheckElements(node, from->elem_type, to.elem_type));
  QTX_ASSIGN_OR_RETURN(const RealBounds bounds, BoundsOf(node));
  const Purpose purpose = PurposeOf(node, bounds);
  StepResult bytes = PrepareByteMap(node, bounds, purpose);
  if (bytes.has_value() || bytes.error().code != ErrorCode::kUnsupported) return bytes;
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(from->dims));
  ChangeRule rule = RuleFor(node.arithmetic(), purpose, x->tensor, y->tensor);
  if (purpose == Purpose::kMove) {
    const bool same_type = x->tensor.elem_type == y->tensor.elem_type &&
                           x->tensor.quantization == y->tensor.quantization;
    if (same_type) rule = {ChangeRule::Kind::kCopy};
    if (!same_type && OverlooksEqual(rule, x->tensor, y->tensor)) {
      return node.Unsupported("parameters per axis that differ in part");
    }
  }
  auto converter = Converter::Make(x->tensor, y->tensor, bounds, rule);
  if (!converter.has_value()) return node.Because(converter.error());
  converter->Use(node.kernels());
  return std::make_unique<Conversion>(x, y, *std::move(converter));
}

}  // namespace qtx::backend::engine
