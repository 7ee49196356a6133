// ToIntegerOnly: biases, multipliers and bounds of each accumulator.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "errors.h"
#include "ledger.h"
#include "onnx/graph_index.h"
#include "qtx/convert/convert.h"
#include "qtx/format/accumulator.h"
#include "qtx/format/attributes.h"
#include "qtx/format/levels.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;
using format::Quantization;
using format::Tensor;
using format::TensorType;

using Wide = __int128;

// A binary32 is mantissa * 2^exponent.
struct Dyadic {
  Wide mantissa = 0;
  int exponent = 0;
};

Dyadic DyadicOf(float value) {
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  return {static_cast<Wide>(std::ldexp(fraction, 24)), exponent - 24};
}

Dyadic Product(const Dyadic& a, const Dyadic& b) {
  return {a.mantissa * b.mantissa, a.exponent + b.exponent};
}

// half_even(a / b); nullopt beyond 32 bits. |a| < 2^57, 0 < b < 2^49.
std::optional<std::int64_t> RoundedQuotient(Dyadic a, Dyadic b) {
  const int shift = a.exponent - b.exponent;
  if (a.mantissa == 0 || shift < -60) return 0;  // |a / b| < 2^57 / 2^60
  if (shift > 64) return std::nullopt;           // and at least 2^64 / 2^49 else
  (shift < 0 ? b.mantissa : a.mantissa) *= Wide{1} << std::abs(shift);
  const bool negative = a.mantissa < 0;
  const Wide magnitude = negative ? -a.mantissa : a.mantissa;
  Wide quotient = magnitude / b.mantissa;
  const Wide twice = 2 * (magnitude % b.mantissa);
  if (twice > b.mantissa || (twice == b.mantissa && quotient % 2 != 0)) ++quotient;
  if (quotient > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(negative ? -quotient : quotient);
}

// Multiplier and shift of a factor.  Source: spec/arithmetic/fixed_point.md, fixed_point.S1.
struct Fixed {
  std::int32_t multiplier = 0, shift = 0;
};
Fixed ToFixed(double factor) {
  int exponent = 0;
  auto mantissa =
      static_cast<std::int64_t>(std::round(std::ldexp(std::frexp(factor, &exponent), 31)));
  if (mantissa == std::int64_t{1} << 31) {
    mantissa /= 2;
    ++exponent;
  }
  return {static_cast<std::int32_t>(mantissa), -exponent};
}

// A node whose accumulator is a sum of products of `x` and `w`.
struct ProductNode {
  const Node* node = nullptr;
  TensorType x, w, y;  // parameters inline
  std::int64_t w_axis = 0;
  double alpha = 1;

  std::string Place() const { return "node '" + node->name + "' (" + node->op_type + ")"; }
};

class IntegerOnly {
 public:
  IntegerOnly(const format::Model& source, const GraphIndex& index, format::Model& model,
              Ledger& ledger)
      : source_(source), index_(index), model_(model), ledger_(ledger) {}

  Result<void> Run() {
    for (const Node& node : source_.graph.nodes) {
      QTX_RETURN_IF_ERROR(CheckIntegers(node));
      QTX_ASSIGN_OR_RETURN(const auto product, ProductOf(node));
      if (!product) continue;
      QTX_RETURN_IF_ERROR(SetBias(*product));
      SetRequantization(*product);
      QTX_RETURN_IF_ERROR(CheckAccumulator(*product));
    }
    Declare();
    return {};
  }

 private:
  Result<void> CheckIntegers(const Node& node);
  Result<std::optional<ProductNode>> ProductOf(const Node& node) const;
  Result<std::optional<TensorType>> QuantizedType(const std::string& value) const;
  Result<void> SetBias(const ProductNode& product);
  Result<Tensor> BiasInUnits(const ProductNode& product, const Tensor& bias) const;
  void SetRequantization(const ProductNode& product);
  Result<void> CheckAccumulator(const ProductNode& product);
  void Declare();

  const format::Model& source_;
  const GraphIndex& index_;
  format::Model& model_;
  Ledger& ledger_;
  std::map<std::string, Tensor> biases_;  // converted
  std::vector<format::ValueInfo> declared_;
  std::map<std::string, format::Requantization> requantizations_;
};

Result<void> IntegerOnly::CheckIntegers(const Node& node) {
  for (const auto* names : {&node.inputs, &node.outputs}) {
    for (const std::string& name : *names) {
      const TensorType* type = index_.TypeOf(name);
      // Skips shapes and bounds, which are not arithmetic on data, and biases, which become
      // integers.
      if (type == nullptr || type->elem_type != ElementType::kFloat ||
          index_.Initializer(name) != nullptr)
        continue;
      return ledger_.Lose("float", "node '" + node.name + "' (" + node.op_type + ")", "integers",
                          "computes over FLOAT value '" + name + "'");
    }
  }
  return {};
}

// nullopt: not quantized. Parameters by tensor name are made inline.
Result<std::optional<TensorType>> IntegerOnly::QuantizedType(const std::string& value) const {
  const TensorType* type = index_.TypeOf(value);
  if (type == nullptr || !format::IsQuantized(type->elem_type) ||
      !format::IsIntegerStorage(type->elem_type) || !type->quantization)
    return std::optional<TensorType>();
  TensorType resolved = *type;
  auto q = format::Resolve(index_.view(), *type, value);
  if (!q.has_value()) return At("value '" + value + "'", q.error());
  resolved.quantization = *std::move(q);
  if (!format::HasIntegerForm(*resolved.quantization)) {
    return Unsupported("value '" + value + "'",
                       "a base, a code book or a scale of 0 or below: cannot be computed with "
                       "integers only");
  }
  return std::optional(std::move(resolved));
}

Result<std::optional<ProductNode>> IntegerOnly::ProductOf(const Node& node) const {
  std::optional<ProductNode> none;
  if (!format::HasAccumulator(node) || node.outputs.size() != 1) return none;
  QTX_ASSIGN_OR_RETURN(auto x, QuantizedType(node.inputs[0]));
  QTX_ASSIGN_OR_RETURN(auto w, QuantizedType(node.inputs[1]));
  QTX_ASSIGN_OR_RETURN(auto y, QuantizedType(node.outputs[0]));
  if (!x || !w || !y) return none;
  ProductNode product{&node, *std::move(x), *std::move(w), *std::move(y)};
  const auto rank = index_.RankOf(node.inputs[1]);
  if (!rank || *rank < 2)
    return Unsupported(product.Place(),
                       "expected weights '" + node.inputs[1] + "' of rank 2 or more");
  product.w_axis = format::OutputAxis(node, *rank);
  product.alpha =
      node.op_type == "Gemm" ? static_cast<double>(format::Attributes(node).Float("alpha")) : 1;
  if (product.x.quantization->scale.size() != 1 || product.y.quantization->scale.size() != 1)
    return Unsupported(product.Place(),
                       "an accumulator needs one scale of its input and one of its "
                       "output, found several");
  const Quantization& q = *product.w.quantization;
  const bool blocks = std::ranges::any_of(q.block_shape, [](std::int64_t b) { return b != 1; });
  const bool along = q.axis.empty() || (q.axis.size() == 1 && q.axis[0] == product.w_axis);
  if (q.scale.empty()) return none;  // no channel, and no accumulator
  if (along && !blocks) return std::optional(std::move(product));
  return Unsupported(product.Place(), "weights '" + node.inputs[1] +
                                          "' have scales along other axes than their outputs, "
                                          "so that one accumulator has several");
}

void IntegerOnly::SetRequantization(const ProductNode& product) {
  format::Requantization requantization;
  const double x = static_cast<double>(product.x.quantization->scale[0]);
  const double y = static_cast<double>(product.y.quantization->scale[0]);
  for (const float w : product.w.quantization->scale) {
    const Fixed fixed = ToFixed(x * static_cast<double>(w) / y * product.alpha);
    requantization.multiplier.push_back(fixed.multiplier);
    requantization.shift.push_back(fixed.shift);
  }
  const std::string& name = product.node->outputs[0];
  ledger_.Changed(name, "requantization",
                  std::to_string(requantization.shift.size()) + " multipliers and shifts");
  requantizations_[name] = std::move(requantization);
}

// The types of results and biases.
void IntegerOnly::Declare() {
  for (auto* list : {&model_.graph.inputs, &model_.graph.outputs, &model_.graph.values}) {
    for (format::ValueInfo& info : *list) {
      const auto found = requantizations_.find(info.name);
      if (found != requantizations_.end()) info.type->quantization->requantization = found->second;
    }
  }
  std::erase_if(model_.graph.values, [&](const auto& info) { return biases_.contains(info.name); });
  std::ranges::move(declared_, std::back_inserter(model_.graph.values));
}

// The bias in units of x_scale * w_scale of its channel, each rounded half to even.
Result<Tensor> IntegerOnly::BiasInUnits(const ProductNode& product, const Tensor& bias) const {
  const std::vector<float>& scales = product.w.quantization->scale;
  const Dyadic x = DyadicOf(product.x.quantization->scale[0]);
  Quantization q;
  for (const float w : scales) q.scale.push_back(product.x.quantization->scale[0] * w);
  if (scales.size() > 1) q.axis = {static_cast<std::int64_t>(bias.dims.size()) - 1};
  q.scheme = format::Scheme::kSymmetric;
  const bool stored = bias.quantization.has_value();
  const auto count = static_cast<std::size_t>(format::ElementCount(bias));
  if (scales.size() > 1 && count != scales.size())
    return Error{ErrorCode::kUnsupported, "bias",
                 "found " + std::to_string(count) + " values for " + std::to_string(scales.size()) +
                     " scales of the weights"};
  const auto integers = stored ? format::UnpackInt32(bias) : std::vector<std::int32_t>();
  std::vector<std::int32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    Dyadic real = stored
                      ? DyadicOf(format::ScaleAt(*bias.quantization, static_cast<std::int64_t>(i)))
                      : DyadicOf(bias.As<float>()[i]);
    if (stored)
      real.mantissa *=
          Wide{integers[i]} - format::OffsetAt(*bias.quantization, static_cast<std::int64_t>(i));
    const auto value =
        RoundedQuotient(real, Product(x, DyadicOf(scales[scales.size() == 1 ? 0 : i])));
    if (!value)
      return Error{ErrorCode::kInvalid, "bias [" + std::to_string(i) + "]",
                   "does not fit 32 bits in units of x_scale * w_scale"};
    values[i] = static_cast<std::int32_t>(*value);
  }
  QTX_ASSIGN_OR_RETURN(Tensor result, format::MakeTensor(ElementType::kInt32Q, bias.dims, q));
  format::PackInt32(values, result);
  return result;
}

// A bias whose scale is the product rounded to binary32 is added as stored: float32.S5.
bool IsInUnits(const ProductNode& product, const Tensor& bias) {
  if (bias.elem_type != ElementType::kInt32Q || !bias.quantization->offset.empty()) return false;
  const std::vector<float>& weights = product.w.quantization->scale;
  const std::vector<float>& scales = bias.quantization->scale;
  if (scales.size() != weights.size()) return false;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const double unit =
        static_cast<double>(product.x.quantization->scale[0]) * static_cast<double>(weights[i]);
    if (std::fabs(static_cast<double>(scales[i]) - unit) > 0x1p-22 * unit) return false;
  }
  return true;
}

Result<void> IntegerOnly::SetBias(const ProductNode& product) {
  const Node& node = *product.node;
  if (node.inputs.size() < 3 || node.inputs[2].empty()) return {};
  const std::string& name = node.inputs[2];
  const std::string place = product.Place() + ": bias '" + name + "'";
  if (product.alpha != 1 || (node.op_type == "Gemm" && format::Attributes(node).Float("beta") != 1))
    return Unsupported(place, "an accumulator takes no bias with alpha or beta");
  if (index_.Initializer(name) == nullptr || index_.IsInput(name))
    return Unsupported(place, "is computed, expected an initializer");
  QTX_ASSIGN_OR_RETURN(const Tensor bias, format::LoadInitializer(index_.view(), name));
  if (IsInUnits(product, bias)) return {};
  const bool real = bias.elem_type == ElementType::kFloat;
  if (!real && (!bias.quantization || format::BitWidth(bias.elem_type) > 32 ||
                !format::IsIntegerStorage(bias.elem_type)))
    return Unsupported(place, "is " + std::string(format::Name(bias.elem_type)) +
                                  ", expected FLOAT or a quantized integer");
  if (index_.Uses(name).size() != 1)
    return Unsupported(place, "is shared, and would need a scale for each use");
  auto converted = BiasInUnits(product, bias);
  if (!converted.has_value()) return At(product.Place(), converted.error());
  model_.graph.initializers[index_.InitializerPlace(name)] = format::ToTensorData(name, *converted);
  TensorType type{.elem_type = converted->elem_type,
                  .shape = format::ToShape(converted->dims),
                  .quantization = converted->quantization};
  declared_.push_back({.name = name, .type = std::move(type)});
  ledger_.Changed(name, "elem_type", "INT32Q in units of x_scale * w_scale, half to even");
  biases_.emplace(name, *std::move(converted));
  return {};
}

// The largest and the smallest sum that an output channel's weights can give.
struct Bound {
  Wide max = 0, min = 0;
};

// One bound for each output of a matrix or filter, `outputs` of them along `axis`; those of several
// matrices one after the other. Each term includes 0, for padding adds nothing.
std::vector<Bound> Bounds(const Tensor& w, std::int64_t axis, bool matrices,
                          format::IntegerRange x) {
  const auto stored = format::UnpackInt32(w);
  const auto outputs = static_cast<std::size_t>(w.dims[static_cast<std::size_t>(axis)]);
  std::size_t inner = 1, matrix = stored.size();
  for (auto i = static_cast<std::size_t>(axis) + 1; i < w.dims.size(); ++i)
    inner *= static_cast<std::size_t>(w.dims[i]);
  if (matrices) matrix = outputs * static_cast<std::size_t>(w.dims[w.dims.size() - 2]);
  std::vector<Bound> bounds(matrix == 0 ? 0 : stored.size() / matrix * outputs);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::size_t output = i / inner % outputs;
    const auto parameter = static_cast<std::int64_t>(output);
    const Wide weight = Wide{stored[i]} - format::OffsetAt(*w.quantization, parameter);
    const Wide low = weight * x.min, high = weight * x.max;
    Bound& bound = bounds[i / matrix * outputs + output];
    bound.max += std::max({low, high, Wide{0}});
    bound.min += std::min({low, high, Wide{0}});
  }
  return bounds;
}

Result<void> IntegerOnly::CheckAccumulator(const ProductNode& product) {
  const Node& node = *product.node;
  if (index_.Initializer(node.inputs[1]) == nullptr) {
    ledger_.Changed(product.Place(), "accumulator",
                    "not bounded, because its weights are computed");
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const Tensor w, format::LoadInitializer(index_.view(), node.inputs[1]));
  const format::IntegerRange range =
      format::StoredRange(product.x.elem_type, *product.x.quantization);
  const std::int64_t offset = format::OffsetAt(*product.x.quantization, 0);
  auto bounds =
      Bounds(w, product.w_axis, IsStock(node, "MatMul"), {range.min - offset, range.max - offset});
  if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
    const auto converted = biases_.find(node.inputs[2]);
    Tensor bias;
    if (converted != biases_.end()) {
      bias = converted->second;
    } else {
      QTX_ASSIGN_OR_RETURN(bias, format::LoadInitializer(index_.view(), node.inputs[2]));
    }
    const auto stored = format::UnpackInt32(bias);
    for (std::size_t c = 0; c < bounds.size() && !stored.empty(); ++c) {
      const std::int32_t value = stored[stored.size() == bounds.size() ? c : 0];
      bounds[c].max += value;
      bounds[c].min += value;
    }
  }
  constexpr Wide kMax = std::numeric_limits<std::int32_t>::max();
  const auto overflows = [](const Bound& b) { return b.max > kMax || b.min < -kMax - 1; };
  const auto worst = std::ranges::find_if(bounds, overflows);
  if (worst == bounds.end()) return {};
  const Wide reached = worst->max > kMax ? worst->max : worst->min;
  ledger_.Changed(product.Place(), "accumulator",
                  "channel " + std::to_string(worst - bounds.begin()) + " can reach " +
                      std::to_string(static_cast<std::int64_t>(reached)) + ", beyond 32 bits (" +
                      std::to_string(std::ranges::count_if(bounds, overflows)) + " of " +
                      std::to_string(bounds.size()) + " channels)");
  return {};
}

}  // namespace

Result<Conversion> ToIntegerOnly(const format::Model& model, const Options& options) {
  Ledger ledger(options);
  Conversion conversion{model, {}};
  QTX_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Of(model));
  QTX_RETURN_IF_ERROR(IntegerOnly(model, index, conversion.model, ledger).Run());
  conversion.ledger = ledger.Take();
  return conversion;
}

}  // namespace qtx::convert
