// Relu, Clip, Cast, Identity: a Converter over a whole tensor.
#include <cmath>
#include <utility>

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
  if (format::ElementCount(*tensor) != 1) return node.Invalid("a bound that is not a scalar");
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
    if (node.opset() >= 11) return node.Invalid("bounds are inputs from opset 11 on");
    *bound = Term{1, attribute->f};
  }
  return bounds;
}

// Cast names the type it goes to, as its output's declaration does.
Result<void> CheckTo(const NodePlan& node, const Tensor& y) {
  const bool is_cast = node.node().op_type == "Cast";
  if (!is_cast || node.node().IntOr("to", 0) == static_cast<std::int64_t>(y.elem_type)) return {};
  return node.Invalid("attribute 'to' differs from the output's type " +
                      std::string(format::Name(y.elem_type)));
}

}  // namespace

StepResult PrepareEightBitConversion(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Tensor* x, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const Tensor y, node.OutputType(x->dims));
  QTX_RETURN_IF_ERROR(CheckTo(node, y));
  QTX_ASSIGN_OR_RETURN(const RealBounds bounds, BoundsOf(node));
  return PrepareByteMap(node, bounds);
}

StepResult PrepareConversion(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const RealBounds bounds, BoundsOf(node));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(x->tensor.dims));
  QTX_RETURN_IF_ERROR(CheckTo(node, y->tensor));
  const bool is_cast = node.node().op_type == "Cast";
  for (const Value* value : {x, static_cast<const Value*>(y)}) {
    const ElementType type = value->tensor.elem_type;
    if (is_cast && IsPlainNumber(type)) {
      return node.Unsupported("elements of type " + std::string(format::Name(type)));
    }
  }
  auto converter = Converter::Make(x->tensor, y->tensor, bounds);
  if (!converter.has_value()) return node.Because(converter.error());
  return std::make_unique<Conversion>(x, y, *std::move(converter));
}

}  // namespace qtx::backend::engine
