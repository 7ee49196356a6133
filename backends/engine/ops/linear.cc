// QuantizeLinear and DequantizeLinear: scale and zero point are inputs, constant or computed, per
// tensor, per axis or in blocks. As a Quantization they make plain integers reals.
#include <cmath>
#include <utility>

#include "engine/ops/reals.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::ElementType;
using format::Quantization;
using format::Tensor;

struct Parameters {
  const Value* scale = nullptr;
  const Value* zero_point = nullptr;  // null: 0
  ElementType type = ElementType::kUndefined;
  Quantization granularity;  // axis and block_shape alone
  std::string place;         // of the node, for what is found at run time
};

// The parameters as they are now.
Result<Quantization> Read(const Parameters& p) {
  Quantization q = p.granularity;
  const auto scales = p.scale->tensor.As<float>();
  q.scale.assign(scales.begin(), scales.end());
  for (const float value : q.scale) {
    if (value > 0 && !std::isinf(value)) continue;
    return Error{ErrorCode::kInvalid, p.place, "a scale that is not positive and finite"};
  }
  if (p.zero_point != nullptr) q.offset = format::UnpackInt32(p.zero_point->tensor);
  return q;
}

class Linear : public Step {
 public:
  Linear(const Value* x, Value* y, Parameters parameters, bool quantizes)
      : x_(x), y_(y), parameters_(std::move(parameters)), quantizes_(quantizes) {}

  Result<void> Run() override {
    QTX_ASSIGN_OR_RETURN(Quantization q, Read(parameters_));
    Tensor integers{.elem_type = parameters_.type,
                    .dims = x_->tensor.dims,
                    .quantization = std::move(q),
                    .bytes = (quantizes_ ? y_ : x_)->tensor.bytes};
    if (quantizes_) {
      StoreReals(RealsOf(x_->tensor), integers);
      y_->tensor.bytes = std::move(integers.bytes);
    } else {
      StoreReals(RealsOf(integers), y_->tensor);
    }
    return {};
  }

 private:
  const Value* x_;
  Value* y_;
  Parameters parameters_;
  bool quantizes_;
};

// The axis, or the blocks, that parameters of shape `own` have in a tensor of shape `dims`.
// Source: ONNX QuantizeLinear-21.
Result<void> SetGranularity(const NodePlan& node, const Dims& own, const Dims& dims,
                            Quantization& q) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  const std::int64_t block = node.node().IntOr("block_size", 0);
  if (block == 0 && own.size() <= 1 && format::ElementCount(own) == 1) return {};
  auto axis = format::NormalizeAxis(node.node().IntOr("axis", 1), rank);
  if (!axis.has_value()) return node.Because(axis.error());
  const auto named = static_cast<std::size_t>(*axis);
  Dims expected{dims[named]};
  q.axis = {*axis};
  if (block != 0) {
    if (block < 1) return node.Invalid("block_size: expected at least 1");
    expected = dims;
    expected[named] = dims[named] / block + (dims[named] % block == 0 ? 0 : 1);
    q.axis.clear();
    for (std::int64_t d = 0; d < rank; ++d) q.axis.push_back(d);
    q.block_shape.assign(dims.size(), 1);
    q.block_shape[named] = block;
  }
  if (own == expected) return {};
  return node.Invalid("found scales of shape " + format::ToString(own) + ", expected " +
                      format::ToString(expected));
}

// A vector of one element serves as a scalar.  Source: quantize_linear.C3.
bool SameLayout(const Dims& scale, const Dims& zero) {
  const auto single = [](const Dims& dims) { return dims.empty() || dims == Dims{1}; };
  return scale == zero || (single(scale) && single(zero));
}

Result<Parameters> ParametersOf(const NodePlan& node, const Dims& dims, ElementType storage) {
  Parameters p;
  p.place = node.Because({}).where;
  QTX_ASSIGN_OR_RETURN(p.scale, node.Input(1));
  const auto type = format::QuantizedOf(storage);
  const ElementType scale_type = p.scale->tensor.elem_type;
  const bool halves = scale_type == ElementType::kFloat16 || scale_type == ElementType::kBfloat16 ||
                      scale_type == ElementType::kFloat8E8M0;
  if (type.has_value() && (format::IsSmallFloat(storage) || halves)) {
    return node.Unsupported("storage " + std::string(format::Name(storage)) +
                            " with a scale of type " + std::string(format::Name(scale_type)));
  }
  if (!type.has_value() || !format::IsIntegerStorage(storage) ||
      storage == ElementType::kBipolar1 || scale_type != ElementType::kFloat) {
    return node.Invalid("storage " + std::string(format::Name(storage)) + " with a scale of type " +
                        std::string(format::Name(scale_type)));
  }
  p.type = *type;
  const Dims& own = p.scale->tensor.dims;
  if (node.HasInput(2)) {
    QTX_ASSIGN_OR_RETURN(p.zero_point, node.Input(2));
    if (p.zero_point->tensor.elem_type != storage || !SameLayout(own, p.zero_point->tensor.dims)) {
      return node.Invalid("zero point and scale do not fit each other");
    }
  }
  QTX_RETURN_IF_ERROR(SetGranularity(node, own, dims, p.granularity));
  if (p.scale->constant) QTX_RETURN_IF_ERROR(Read(p));
  return p;
}

}  // namespace

StepResult PrepareQuantizeLinear(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  const ElementType type = x->tensor.elem_type;
  if (type == ElementType::kInt32 || type == ElementType::kFloat16 ||
      type == ElementType::kBfloat16) {
    return node.Unsupported("elements of type " + std::string(format::Name(type)));
  }
  QTX_RETURN_IF_ERROR(CheckReals(node, *x));
  ElementType storage = ElementType::kUint8;
  if (node.HasInput(2)) {
    QTX_ASSIGN_OR_RETURN(const Value* zero_point, node.Input(2));
    storage = zero_point->tensor.elem_type;
  }
  if (storage == ElementType::kInt32) return node.Invalid("INT32 is dequantized only");
  QTX_ASSIGN_OR_RETURN(Parameters p, ParametersOf(node, x->tensor.dims, storage));
  QTX_ASSIGN_OR_RETURN(Value * y, node.OutputOfType(x->tensor.dims, storage));
  return std::make_unique<Linear>(x, y, std::move(p), true);
}

StepResult PrepareDequantizeLinear(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Parameters p, ParametersOf(node, x->tensor.dims, x->tensor.elem_type));
  QTX_ASSIGN_OR_RETURN(Value * y, node.OutputOfType(x->tensor.dims, ElementType::kFloat));
  QTX_RETURN_IF_ERROR(CheckReals(node, *y));
  return std::make_unique<Linear>(x, y, std::move(p), false);
}

}  // namespace qtx::backend::engine
