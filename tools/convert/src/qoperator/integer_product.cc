#include "qoperator/integer_product.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "qoperator/constants.h"
#include "qoperator/operators.h"
#include "qtx/format/attributes.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::Node;
using format::Tensor;

struct Scales {
  std::vector<float> values;  // empty: none
  Dims dims;
};

struct Pattern {
  std::size_t cast = 0, mul = 0;
  std::optional<std::size_t> scale_mul;  // of the two scales
  Scales factor;                         // of the accumulator
  Scales first, second;                  // factor = first * second, where it is made so
};

std::optional<std::size_t> SoleReader(const GraphIndex& index, const std::string& value) {
  const auto use = index.OnlyUse(value);
  return use ? std::optional(use->node) : std::nullopt;
}

Result<Scales> ScalesIn(const GraphIndex& index, const std::string& value) {
  QTX_ASSIGN_OR_RETURN(const std::optional<Tensor> tensor, index.Constant(value));
  if (!tensor) return Scales();
  auto values = Floats(*tensor);
  if (!values) return Scales();
  return Scales{*std::move(values), tensor->dims};
}

// A constant, or the product of two of which one is a single value.
Result<bool> ReadFactor(const GraphIndex& index, const std::string& value, Pattern& pattern) {
  QTX_ASSIGN_OR_RETURN(pattern.factor, ScalesIn(index, value));
  if (!pattern.factor.values.empty()) return true;
  const auto producer = index.Producer(value);
  if (!producer || !IsStock(index.node(*producer), "Mul")) return false;
  const Node& mul = index.node(*producer);
  QTX_ASSIGN_OR_RETURN(pattern.first, ScalesIn(index, InputOf(mul, 0)));
  QTX_ASSIGN_OR_RETURN(pattern.second, ScalesIn(index, InputOf(mul, 1)));
  if (pattern.first.values.size() != 1) std::swap(pattern.first, pattern.second);
  if (pattern.first.values.size() != 1 || pattern.second.values.empty()) return false;
  pattern.factor = pattern.second;
  for (float& scale : pattern.factor.values) scale = pattern.first.values[0] * scale;
  if (SoleReader(index, value)) pattern.scale_mul = producer;
  return true;
}

Result<std::optional<Pattern>> FindPattern(const GraphIndex& index, const Node& node) {
  Pattern pattern;
  const auto cast = SoleReader(index, node.outputs[0]);
  if (!cast || !IsStock(index.node(*cast), "Cast") ||
      format::Attributes(index.node(*cast)).Int("to") != 1 || index.node(*cast).outputs.size() != 1)
    return std::optional<Pattern>();
  pattern.cast = *cast;
  const std::string& real = index.node(*cast).outputs[0];
  const auto mul = SoleReader(index, real);
  if (!mul || !IsStock(index.node(*mul), "Mul") || index.node(*mul).inputs.size() != 2 ||
      index.node(*mul).outputs.size() != 1)
    return std::optional<Pattern>();
  pattern.mul = *mul;
  const auto& inputs = index.node(*mul).inputs;
  QTX_ASSIGN_OR_RETURN(const bool read,
                       ReadFactor(index, inputs[inputs[0] == real ? 1 : 0], pattern));
  return read ? std::optional(std::move(pattern)) : std::nullopt;
}

// The scale that a QuantizeLinear gives `x`.
Result<std::optional<float>> ScaleOf(const GraphIndex& index, const std::string& x) {
  const auto producer = index.Producer(x);
  if (!producer || !IsQuantizeLinear(index.node(*producer))) return std::optional<float>();
  QTX_ASSIGN_OR_RETURN(const auto parameters, FromStock(index, index.node(*producer)));
  if (!parameters || parameters->quantization.scale.size() != 1) return std::optional<float>();
  return std::optional(parameters->quantization.scale[0]);
}

// The binary32 factor with `x` * factor = `product`, searched near the quotient.
std::optional<float> Quotient(float product, float x) {
  const float near = product / x;
  const float infinity = std::numeric_limits<float>::infinity();
  const float below = std::nextafterf(near, 0), above = std::nextafterf(near, infinity);
  for (const float candidate : {near, below, above}) {
    if (std::isfinite(candidate) && candidate > 0 && x * candidate == product) return candidate;
  }
  return std::nullopt;
}

// factor = x * w. An order of the two scales is kept, else the known scale of x divides.
Result<bool> Split(const LiftContext& context, const Pattern& pattern, const std::string& x_name,
                   float& x, Scales& w) {
  QTX_ASSIGN_OR_RETURN(const auto known, ScaleOf(context.index, x_name));
  w = pattern.factor;
  if (!pattern.first.values.empty()) {
    const Scales *first = &pattern.first, *second = &pattern.second;
    if (known && first->values[0] != *known && second->values.size() == 1) std::swap(first, second);
    if (!known || first->values[0] == *known) {
      x = first->values[0];
      w.values = second->values;
      return true;
    }
  }
  if (!known) {
    context.why = "the scale of '" + x_name + "' is not known";
    return false;
  }
  x = *known;
  for (float& scale : w.values) {
    const auto quotient = Quotient(scale, x);
    if (!quotient) {
      context.why = "its factor is not a product of the scale of '" + x_name + "' and another";
      return false;
    }
    scale = *quotient;
  }
  return true;
}

Result<std::optional<Dims>> DimsOf(const GraphIndex& index, const std::string& value) {
  if (const format::TensorData* data = index.Initializer(value)) return std::optional(data->dims);
  QTX_ASSIGN_OR_RETURN(const auto constant, index.Constant(value));
  if (constant) return std::optional(constant->dims);
  const format::TensorType* type = index.TypeOf(value);
  return type != nullptr && type->shape ? format::FixedDims(*type->shape) : std::nullopt;
}

// Products summed for one result. In this many no sum of 8-bit differences passes 2^31 - 1, where
// the integer operator wraps and the quantized one does not.
constexpr std::int64_t kMostProducts = ((std::int64_t{1} << 31) - 1) / (std::int64_t{255} * 255);

bool FitsInt32(const Dims& w, bool conv) {
  std::int64_t count = conv ? 1 : w[w.size() < 2 ? 0 : w.size() - 2];
  for (std::size_t i = 1; conv && i < w.size(); ++i) {
    if (w[i] < 0 || w[i] > kMostProducts) return false;
    count *= w[i];
    if (count > kMostProducts) return false;
  }
  return count <= kMostProducts;
}

// True when values of dims `dims` differ at most along the channels of the result, whose rank is at
// least that of w: the last axis of a product, axis 1 of a convolution.
bool AlongChannels(const Dims& dims, std::size_t count, std::int64_t w_rank, bool conv) {
  if (count == 1) return true;
  const std::int64_t from_end = conv ? w_rank - 1 : 1;
  const std::int64_t at = static_cast<std::int64_t>(dims.size()) - from_end;
  return at >= 0 && dims[static_cast<std::size_t>(at)] == static_cast<std::int64_t>(count);
}

// The type with which `node` reads `value`; its zero point is input `at`.
Result<std::optional<QdqParameters>> Operand(const LiftContext& context, const Node& node,
                                             std::size_t i, std::vector<float> scales,
                                             std::int64_t axis) {
  const std::string& zero_name = InputOf(node, i + 2);
  QTX_ASSIGN_OR_RETURN(auto storage, StorageOfValue(context.index, InputOf(node, i)));
  std::vector<std::int32_t> offsets;
  if (!zero_name.empty()) {
    QTX_ASSIGN_OR_RETURN(const auto zero, context.index.Constant(zero_name));
    if (!zero) {
      context.why = "zero point '" + zero_name + "' is computed at run time";
      return std::optional<QdqParameters>();
    }
    storage = zero->elem_type;
    if (format::IsIntegerStorage(storage) && format::BitWidth(storage) == 8)
      offsets = format::UnpackInt32(*zero);
  }
  const auto type = format::QuantizedOf(storage);
  const std::size_t count = std::max(scales.size(), offsets.size());
  const bool agree = scales.size() == 1 || offsets.size() <= 1 || scales.size() == offsets.size();
  if (!type || format::BitWidth(storage) != 8 || !agree || (i == 0 && count > 1)) {
    context.why = "the parameters of '" + InputOf(node, i) + "' are not those of a quantized type";
    return std::optional<QdqParameters>();
  }
  QTX_RETURN_IF_ERROR(CheckScales(scales, InputOf(node, i)));
  scales.resize(count, scales[0]);
  if (!offsets.empty()) offsets.resize(count, offsets[0]);
  if (std::ranges::all_of(offsets, [](std::int32_t o) { return o == 0; })) offsets.clear();
  QdqParameters parameters{*type, {}};
  parameters.quantization.scale = std::move(scales);
  parameters.quantization.offset = std::move(offsets);
  if (count > 1) parameters.quantization.axis = {axis};
  return std::optional(std::move(parameters));
}

}  // namespace

Result<std::optional<Lift>> LiftIntegerProduct(const LiftContext& context, std::size_t i) {
  const Node& node = context.index.node(i);
  if (node.outputs.size() != 1 || node.inputs.size() < 2)
    return Error{ErrorCode::kInvalid, "inputs", "found " + std::to_string(node.inputs.size())};
  QTX_ASSIGN_OR_RETURN(const auto pattern, FindPattern(context.index, node));
  const bool conv = node.op_type == "ConvInteger";
  QTX_ASSIGN_OR_RETURN(const auto w_dims, DimsOf(context.index, node.inputs[1]));
  if (!pattern || !w_dims || w_dims->empty()) {
    context.why = "its INT32 result is not brought to FLOAT by constant scales";
    return std::optional<Lift>();
  }
  const auto rank = static_cast<std::int64_t>(w_dims->size());
  if (!FitsInt32(*w_dims, conv) ||
      !AlongChannels(pattern->factor.dims, pattern->factor.values.size(), rank, conv)) {
    context.why = "its sums may wrap, or its scales do not go with its channels";
    return std::optional<Lift>();
  }
  float x_scale = 0;
  Scales w;
  QTX_ASSIGN_OR_RETURN(const bool split, Split(context, *pattern, node.inputs[0], x_scale, w));
  if (!split) return std::optional<Lift>();
  QTX_ASSIGN_OR_RETURN(const auto x_type, Operand(context, node, 0, {x_scale}, 0));
  if (!x_type) return std::optional<Lift>();
  QTX_ASSIGN_OR_RETURN(const auto w_type, Operand(context, node, 1, w.values, conv ? 0 : rank - 1));
  if (!w_type) return std::optional<Lift>();
  Lift lift{
      PlainNode(node, conv ? "Conv" : "MatMul"), {{0, *x_type}, {1, *w_type}}, {}, {}, {}, {}};
  lift.node.inputs = {node.inputs[0], node.inputs[1]};
  lift.node.outputs = context.index.node(pattern->mul).outputs;
  lift.absorbed = {pattern->cast, pattern->mul};
  if (pattern->scale_mul) lift.absorbed.insert(*pattern->scale_mul);
  return std::optional(std::move(lift));
}

}  // namespace qtx::convert
