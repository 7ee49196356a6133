// QuantizeLinear and DequantizeLinear: scale and zero point are inputs, constant or computed, per
// tensor, per axis or in blocks. As a Quantization they make plain integers reals.
#include <cmath>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/cast.h"
#include "engine/ops/conversion.h"
#include "engine/ops/reals.h"
#include "engine/ops/types.h"

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

// The parameters as they are now. Each scale is a binary32 (quantize_linear.C2).
Result<Quantization> Read(const Parameters& p) {
  Quantization q = p.granularity;
  const NumberReader scales(p.scale->tensor);
  for (std::int64_t i = 0; i < format::ElementCount(p.scale->tensor); ++i) {
    const Number scale = scales(i);
    const bool positive = scale.finite() && scale.Sign() > 0;
    q.scale.push_back(positive ? static_cast<float>(scale.value().get_d()) : 0);
    if (positive && mpq_class(q.scale.back()) == scale.value()) continue;
    return Error{
        ErrorCode::kInvalid, p.place,
        positive ? "a scale that is no binary32" : "a scale that is not positive and finite"};
  }
  if (p.zero_point == nullptr) return q;
  if (format::IsIntegerStorage(p.zero_point->tensor.elem_type)) {
    q.offset = format::UnpackInt32(p.zero_point->tensor);
    return q;
  }
  const NumberReader zeros(p.zero_point->tensor);
  for (std::int64_t i = 0; i < format::ElementCount(p.zero_point->tensor); ++i) {
    if (!zeros(i).finite() || zeros(i).Sign() != 0) {
      return Error{ErrorCode::kInvalid, p.place, "a zero point of floats that is not 0"};
    }
  }
  return q;
}

class Linear : public Step {
 public:
  Linear(const Value* x, Value* y, Parameters parameters, bool quantizes, SmallFloatRules rules,
         Arithmetic arithmetic)
      : x_(x),
        y_(y),
        parameters_(std::move(parameters)),
        quantizes_(quantizes),
        rules_(std::move(rules)),
        arithmetic_(arithmetic) {}

  Result<void> Run() override {
    QTX_ASSIGN_OR_RETURN(Quantization q, Read(parameters_));
    Tensor integers{.elem_type = parameters_.type,
                    .dims = x_->tensor.dims,
                    .quantization = std::move(q),
                    .bytes = (quantizes_ ? y_ : x_)->tensor.bytes};
    if (arithmetic_ != Arithmetic::kExact) {
      Change(integers);
    } else if (!quantizes_) {
      Copy(integers, y_->tensor);
    } else if (format::IsSmallFloat(parameters_.type)) {
      QuantizeToFloats(*integers.quantization);
    } else {
      Copy(x_->tensor, integers);
      y_->tensor.bytes = std::move(integers.bytes);
    }
    return {};
  }

 private:
  static void Copy(const Tensor& from, Tensor& to) {
    if (IsRealOutput(from.elem_type) && IsRealOutput(to.elem_type) &&
        !format::IsSmallFloat(from.elem_type)) {
      StoreReals(RealsOf(from), to);
      return;
    }
    const NumberReader reader(from);
    NumberWriter writer(to);
    for (std::int64_t i = 0; i < format::ElementCount(to); ++i) writer.Put(i, reader(i));
  }

  // In the arithmetic's own steps.
  void Change(Tensor& integers) {
    const Tensor& from = quantizes_ ? x_->tensor : integers;
    Tensor& to = quantizes_ ? integers : y_->tensor;
    const Purpose purpose = quantizes_ ? Purpose::kQuantize : Purpose::kMove;
    StoreChanged(RuleFor(arithmetic_, purpose, from, to), RealsOf(from), to);
    if (quantizes_) y_->tensor.bytes = std::move(integers.bytes);
  }

  // Codes of plain floats: NaN stays NaN, and saturate is an attribute.
  void QuantizeToFloats(const Quantization& q) {
    const NumberReader reader(x_->tensor);
    NumberWriter writer(y_->tensor);
    const format::ParameterMap parameter(q, x_->tensor.dims);
    for (std::int64_t i = 0; i < format::ElementCount(y_->tensor); ++i) {
      const Number scale = Number::OfDouble(format::ScaleAt(q, parameter(i)));
      writer.PutCode(i, SmallFloatCode(reader(i) / scale, y_->tensor.elem_type, rules_));
    }
  }

  const Value* x_;
  Value* y_;
  Parameters parameters_;
  bool quantizes_;
  SmallFloatRules rules_;
  Arithmetic arithmetic_;
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

bool IsHalf(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBfloat16;
}

bool IsScaleType(const NodePlan& node, ElementType type) {
  const bool quantizes = node.node().op_type == "QuantizeLinear";
  return type == ElementType::kFloat || type == ElementType::kFloat8E8M0 || IsHalf(type) ||
         (quantizes && type == ElementType::kInt32);
}

Result<Parameters> ParametersOf(const NodePlan& node, const Dims& dims, ElementType storage) {
  Parameters p;
  p.place = node.Because({}).where;
  QTX_ASSIGN_OR_RETURN(p.scale, node.Input(1));
  const auto type = format::QuantizedOf(storage);
  const ElementType scale_type = p.scale->tensor.elem_type;
  if (!type.has_value() || !IsScaleType(node, scale_type)) {
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
  if (p.scale->constant && (p.zero_point == nullptr || p.zero_point->constant)) {
    QTX_RETURN_IF_ERROR(Read(p));
  }
  return p;
}

// The type that attribute output_dtype names; undefined without one.
Result<ElementType> NamedType(const NodePlan& node) {
  const std::int64_t code = node.node().IntOr("output_dtype", 0);
  const auto type = format::ElementTypeFromCode(code);
  if (!type.has_value()) return node.Invalid("output_dtype " + std::to_string(code));
  return *type;
}

// Of y: that of the zero point, or what output_dtype names, or UINT8.  Source: quantize_linear.S3.
Result<ElementType> StorageOf(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const ElementType named, NamedType(node));
  ElementType storage = named;
  if (node.HasInput(2)) {
    QTX_ASSIGN_OR_RETURN(const Value* zero_point, node.Input(2));
    storage = zero_point->tensor.elem_type;
    if (named != ElementType::kUndefined && named != storage) {
      return node.Invalid("output_dtype is not the type of the zero point");
    }
  }
  if (storage == ElementType::kInt32) return node.Invalid("INT32 is dequantized only");
  return storage == ElementType::kUndefined ? ElementType::kUint8 : storage;
}

Result<void> CheckPrecision(const NodePlan& node) {
  const std::int64_t precision = node.node().IntOr("precision", 0);
  for (const ElementType type :
       {ElementType::kUndefined, ElementType::kFloat, ElementType::kFloat16, ElementType::kBfloat16,
        ElementType::kDouble}) {
    if (precision == static_cast<std::int64_t>(type)) return {};
  }
  return node.Invalid("precision " + std::to_string(precision));
}

// Other arithmetics than exact have rules for integers and FLOAT here.
Result<void> CheckArithmetic(const NodePlan& node, const Value& real, ElementType storage) {
  const bool known = real.tensor.elem_type == ElementType::kFloat &&
                     format::IsIntegerStorage(storage) && storage != ElementType::kInt32;
  if (known || node.arithmetic() == Arithmetic::kExact) return {};
  return node.Unsupported("elements of type " + std::string(format::Name(storage)) + " beside " +
                          std::string(format::Name(real.tensor.elem_type)) +
                          " in another arithmetic than exact");
}

}  // namespace

StepResult PrepareQuantizeLinear(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  const ElementType type = x->tensor.elem_type;
  if (type != ElementType::kFloat && !IsHalf(type) && type != ElementType::kInt32) {
    return node.Invalid("elements of type " + std::string(format::Name(type)));
  }
  QTX_RETURN_IF_ERROR(CheckPrecision(node));
  QTX_ASSIGN_OR_RETURN(const ElementType storage, StorageOf(node));
  QTX_ASSIGN_OR_RETURN(SmallFloatRules rules, SmallFloatRulesOf(node, storage));
  QTX_ASSIGN_OR_RETURN(Parameters p, ParametersOf(node, x->tensor.dims, storage));
  QTX_ASSIGN_OR_RETURN(Value * y, node.OutputOfType(x->tensor.dims, storage));
  QTX_RETURN_IF_ERROR(CheckArithmetic(node, *x, storage));
  return std::make_unique<Linear>(x, y, std::move(p), true, std::move(rules), node.arithmetic());
}

StepResult PrepareDequantizeLinear(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Parameters p, ParametersOf(node, x->tensor.dims, x->tensor.elem_type));
  QTX_ASSIGN_OR_RETURN(ElementType type, NamedType(node));
  if (type == ElementType::kUndefined) {
    const ElementType scale = p.scale->tensor.elem_type;
    type = scale == ElementType::kFloat8E8M0 ? ElementType::kFloat : scale;
  }
  if (type != ElementType::kFloat && !IsHalf(type)) return node.Invalid("a result of no such type");
  QTX_ASSIGN_OR_RETURN(Value * y, node.OutputOfType(x->tensor.dims, type));
  QTX_RETURN_IF_ERROR(CheckArithmetic(node, *y, x->tensor.elem_type));
  return std::make_unique<Linear>(x, y, std::move(p), false, SmallFloatRules(), node.arithmetic());
}

}  // namespace qtx::backend::engine
