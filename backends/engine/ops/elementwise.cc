// Relu, Clip, Cast, Identity, QuantizeLinear, DequantizeLinear: a Converter over a whole tensor.
#include <cmath>
#include <utility>

#include "engine/ops/conversion.h"

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

StepResult MakeConversion(const NodePlan& node, const Value* x, Value* y, const Tensor& from,
                          const Tensor& to, const RealBounds& bounds) {
  auto converter = Converter::Make(from, to, bounds);
  if (!converter.has_value()) return node.Because(converter.error());
  return std::make_unique<Conversion>(x, y, *std::move(converter));
}

// A bound of Clip: nothing when absent or an infinity that bounds nothing.
Result<std::optional<Term>> BoundOf(const NodePlan& node, std::size_t input, float harmless) {
  if (!node.HasInput(input)) return std::optional<Term>();
  QTX_ASSIGN_OR_RETURN(const Tensor* tensor, node.Constant(input));
  if (format::ElementCount(*tensor) != 1) return node.Invalid("a bound that is not a scalar");
  if (tensor->elem_type == ElementType::kFloat) {
    const float real = tensor->As<float>()[0];
    if (real == harmless) return std::optional<Term>();
    if (!std::isfinite(real)) return node.Unsupported("a bound that is not finite");
    return std::optional(Term{1, real});
  }
  auto type = PerTensorOf(*tensor);
  if (!type.has_value()) return node.Because(type.error());
  const double integer = static_cast<double>(format::UnpackInt32(*tensor)[0]) - type->offset;
  return std::optional(Term{integer, type->scale});
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
    if (!std::isfinite(attribute->f)) return node.Unsupported("a bound that is not finite");
    *bound = Term{1, attribute->f};
  }
  return bounds;
}

// Scale and zero point inputs (1 and 2) of a Q/DQ node as the quantization of `stored`'s plain
// integers. `like` has the dims of the tensor they apply to.
Result<Tensor> AsQuantized(const NodePlan& node, const Tensor& like, ElementType storage) {
  QTX_ASSIGN_OR_RETURN(const Tensor* scale, node.Constant(1));
  const auto type = format::QuantizedOf(storage);
  if (!type.has_value() || scale->elem_type != ElementType::kFloat) {
    return node.Unsupported("storage " + std::string(format::Name(storage)) +
                            " with a scale of type " + std::string(format::Name(scale->elem_type)));
  }
  format::Quantization q;
  q.scale.assign(scale->As<float>().begin(), scale->As<float>().end());
  for (const float value : q.scale) {
    if (!(value > 0) || std::isinf(value))
      return node.Invalid("a scale that is not positive and finite");
  }
  if (node.HasInput(2)) {
    QTX_ASSIGN_OR_RETURN(const Tensor* zero_point, node.Constant(2));
    if (zero_point->elem_type != storage || zero_point->dims != scale->dims) {
      return node.Invalid("zero point and scale do not fit each other");
    }
    q.offset = format::UnpackInt32(*zero_point);
  }
  if (scale->dims.size() > 1 || node.node().IntOr("block_size", 0) != 0) {
    return node.Unsupported("blocked quantization");
  }
  if (!scale->dims.empty() && like.dims.size() > 0 && q.scale.size() > 1) {
    auto axis = format::NormalizeAxis(node.node().IntOr("axis", 1),
                                      static_cast<std::int64_t>(like.dims.size()));
    if (!axis.has_value()) return node.Because(axis.error());
    q.axis = {*axis};
    if (like.dims[static_cast<std::size_t>(*axis)] != scale->dims[0]) {
      return node.Invalid("found " + std::to_string(scale->dims[0]) +
                          " scales, expected one for each of " +
                          std::to_string(like.dims[static_cast<std::size_t>(*axis)]));
    }
  } else if (q.scale.size() != 1) {
    return node.Invalid("no scale");
  }
  Tensor result;
  result.elem_type = *type;
  result.dims = like.dims;
  result.quantization = std::move(q);
  return result;
}

}  // namespace

StepResult PrepareConversion(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const RealBounds bounds, BoundsOf(node));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(x->tensor.dims));
  const bool is_cast = node.node().op_type == "Cast";
  if (is_cast && node.node().IntOr("to", 0) != static_cast<std::int64_t>(y->tensor.elem_type)) {
    return node.Invalid("attribute 'to' differs from the output's type " +
                        std::string(format::Name(y->tensor.elem_type)));
  }
  return MakeConversion(node, x, y, x->tensor, y->tensor, bounds);
}

StepResult PrepareQuantizeLinear(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  ElementType storage = ElementType::kUint8;
  if (node.HasInput(2)) {
    QTX_ASSIGN_OR_RETURN(const Tensor* zero_point, node.Constant(2));
    storage = zero_point->elem_type;
  }
  QTX_ASSIGN_OR_RETURN(const Tensor to, AsQuantized(node, x->tensor, storage));
  QTX_ASSIGN_OR_RETURN(Value * y, node.OutputOfType(x->tensor.dims, storage));
  return MakeConversion(node, x, y, x->tensor, to, {});
}

StepResult PrepareDequantizeLinear(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Tensor from, AsQuantized(node, x->tensor, x->tensor.elem_type));
  QTX_ASSIGN_OR_RETURN(Value * y, node.OutputOfType(x->tensor.dims, ElementType::kFloat));
  return MakeConversion(node, x, y, from, y->tensor, {});
}

}  // namespace qtx::backend::engine
