// Products: convolution and dot_general. Of quantized values, with a bias, they are StableHLO's
// usual chain: a sum of 32 bits in units of the product of both scales, the bias in the same type
// added, then uniform_quantize. `fold_bias.cc` reads it back as one node.
#include <algorithm>
#include <cmath>
#include <functional>

#include "errors.h"
#include "qtx/format/window.h"
#include "stablehlo/fold_bias.h"
#include "stablehlo/out.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using format::Node;
using format::Quantization;

struct Product {
  HloValue x, w;
  std::int64_t w_axis = 0;       // of the features of w
  std::int64_t result_axis = 0;  // the same axis of the result
  std::function<Result<HloValue>(const HloValue&, const HloValue&, HloType)> emit;
};

// The type of sums in units of x_scale * w_scale, rounded to binary32 as biases have it; nullopt
// where StableHLO does not take x and w as they are.
std::optional<HloType> SumType(const Product& product, const HloType& result) {
  const HloType& x = product.x.type;
  const HloType& w = product.w.type;
  if (!x.quantization || !w.quantization || !x.quantization->axis.empty() ||
      !IsPerTensorOrAxis(w) || format::BitWidth(x.elem_type) != format::BitWidth(w.elem_type) ||
      format::BitWidth(x.elem_type) > 16 ||
      format::RealTypeOf(*x.quantization) != format::RealTypeOf(*w.quantization) ||
      format::RealTypeOf(*x.quantization) != ComputedType(result))
    return std::nullopt;
  const Quantization& q = *w.quantization;
  if (!q.axis.empty() && q.axis[0] != product.w_axis) return std::nullopt;
  HloType sum{ElementType::kInt32Q, result.dims, Quantization()};
  sum.quantization->real_type = x.quantization->real_type;
  const std::int64_t count = q.axis.empty() ? 1 : w.dims[static_cast<std::size_t>(q.axis[0])];
  for (std::int64_t i = 0; i < count; ++i) {
    const float scale = format::ScaleAt(*x.quantization, 0) * format::ScaleAt(q, i);
    if (!std::isnormal(scale)) return std::nullopt;
    sum.quantization->scale.push_back(scale);
  }
  if (!q.axis.empty()) sum.quantization->axis = {product.result_axis};
  return sum;
}

// The bias in the type of the sum, along its only axis; nullopt where it is no constant in these
// units. The sum takes the bias's scales, which differ from the product's by the rounding of the
// tool that made them.
Result<std::optional<HloValue>> BiasOf(StablehloWriter& writer, const std::string& name,
                                       HloType& sum) {
  QTX_ASSIGN_OR_RETURN(const HloType type, writer.TypeOf(name));
  Quantization& wanted = *sum.quantization;
  if (type.elem_type != ElementType::kInt32Q || type.dims.size() != 1 ||
      format::RealTypeOf(*type.quantization) != format::RealTypeOf(wanted))
    return std::optional<HloValue>();
  const Quantization& q = *type.quantization;
  const auto count = static_cast<std::int64_t>(wanted.scale.size());
  if (!wanted.axis.empty() && type.dims[0] != count) return std::optional<HloValue>();
  for (std::int64_t i = 0; i < type.dims[0]; ++i) {
    if (!AreScalesOfOneUnit(format::ScaleAt(q, i), format::ScaleAt(wanted, i)) ||
        (wanted.axis.empty() && format::ScaleAt(q, i) != q.scale[0]) || format::OffsetAt(q, i) != 0)
      return std::optional<HloValue>();
  }
  for (std::int64_t i = 0; i < count; ++i)
    wanted.scale[static_cast<std::size_t>(i)] = format::ScaleAt(q, i);
  QTX_ASSIGN_OR_RETURN(auto constant, writer.graph().Constant(name));
  if (!constant) return std::optional<HloValue>();
  constant->elem_type = type.elem_type;
  constant->quantization = wanted;
  if (!wanted.axis.empty()) constant->quantization->axis = {0};
  QTX_ASSIGN_OR_RETURN(HloValue bias, writer.Constant(*constant, name));
  return std::optional(std::move(bias));
}

Result<HloValue> Added(StablehloWriter& writer, HloValue value, HloValue bias, std::int64_t axis) {
  if (bias.type.dims.size() == 1) {
    QTX_ASSIGN_OR_RETURN(bias, writer.Broadcast(bias, value.type.dims, {axis}));
  } else {
    QTX_ASSIGN_OR_RETURN(bias, writer.Broadcast(bias, value.type.dims));
  }
  const HloType type = value.type;
  return writer.Op("stablehlo.add", {value, bias}, type);
}

// Factors of Gemm; 1 where there are none.
Result<HloValue> Scaled(StablehloWriter& writer, HloValue value, float factor) {
  if (factor == 1) return value;
  QTX_ASSIGN_OR_RETURN(const HloValue by, writer.Splat(factor, value.type));
  return writer.Op("stablehlo.multiply", {value, by}, value.type);
}

Result<HloValue> OverReals(StablehloWriter& writer, const Node& node, Product product,
                           const HloType& result) {
  const HloType real = RealsOf(result);
  QTX_ASSIGN_OR_RETURN(product.x, writer.Reals(product.x, real.elem_type));
  QTX_ASSIGN_OR_RETURN(product.w, writer.Reals(product.w, real.elem_type));
  QTX_ASSIGN_OR_RETURN(HloValue value, product.emit(product.x, product.w, real));
  QTX_ASSIGN_OR_RETURN(value, Scaled(writer, std::move(value), node.FloatOr("alpha", 1)));
  if (!StablehloWriter::Has(node, 2)) return value;
  QTX_ASSIGN_OR_RETURN(HloValue bias, writer.Input(node, 2));
  QTX_ASSIGN_OR_RETURN(bias, writer.Reals(bias, real.elem_type));
  QTX_ASSIGN_OR_RETURN(bias, Scaled(writer, std::move(bias), node.FloatOr("beta", 1)));
  return Added(writer, std::move(value), std::move(bias), product.result_axis);
}

Result<void> WriteProduct(StablehloWriter& writer, const Node& node, Product product) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  const bool scaled = node.FloatOr("alpha", 1) != 1 || node.FloatOr("beta", 1) != 1;
  auto sum = scaled ? std::nullopt : SumType(product, result);
  const bool has_bias = StablehloWriter::Has(node, 2);
  if (sum && !has_bias && result.quantization && result.quantization->axis.empty()) {
    QTX_ASSIGN_OR_RETURN(HloValue value, product.emit(product.x, product.w, result));
    return writer.Bind(node, std::move(value));
  }
  std::optional<HloValue> bias;
  if (sum && has_bias) {
    QTX_ASSIGN_OR_RETURN(bias, BiasOf(writer, node.inputs[2], *sum));
  }
  if (!sum || (has_bias && !bias)) {
    QTX_ASSIGN_OR_RETURN(HloValue value, OverReals(writer, node, std::move(product), result));
    return writer.Bind(node, std::move(value));
  }
  QTX_ASSIGN_OR_RETURN(HloValue value, product.emit(product.x, product.w, *sum));
  if (bias) {
    QTX_ASSIGN_OR_RETURN(value,
                         Added(writer, std::move(value), std::move(*bias), product.result_axis));
  }
  return writer.Bind(node, std::move(value));
}

std::string DotSuffix(const Dims& lhs_batch, const Dims& rhs_batch, std::int64_t lhs,
                      std::int64_t rhs) {
  std::string text;
  if (!lhs_batch.empty())
    text = ", batching_dims = " + MlirInts(lhs_batch) + " x " + MlirInts(rhs_batch);
  return text + ", contracting_dims = " + MlirInts({lhs}) + " x " + MlirInts({rhs});
}

auto DotOf(StablehloWriter& writer, std::string suffix) {
  return [&writer, suffix = std::move(suffix)](const HloValue& x, const HloValue& w, HloType type) {
    return writer.Op("stablehlo.dot_general", {x, w}, std::move(type), suffix);
  };
}

// The axes of batches of both operands, of the same sizes.
Result<Dims> Batches(StablehloWriter& writer, Product& product, const HloType& result) {
  Dims batch(result.dims.begin(), result.dims.end() - 2);
  for (HloValue* value : {&product.x, &product.w}) {
    Dims dims = batch;
    dims.insert(dims.end(), value->type.dims.end() - 2, value->type.dims.end());
    QTX_ASSIGN_OR_RETURN(*value, writer.Broadcast(*value, dims));
  }
  Dims axes;
  for (std::size_t i = 0; i < batch.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

std::string LettersOf(const char* first, const char* second, std::size_t spatial) {
  std::string text = std::string("[") + first + ", " + second;
  for (std::size_t i = 0; i < spatial; ++i) text += ", " + std::to_string(i);
  return text + "]";
}

}  // namespace

Result<void> WriteConv(StablehloWriter& writer, const Node& node, const OutRow&) {
  Product product;
  QTX_ASSIGN_OR_RETURN(product.x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(product.w, writer.Input(node, 1));
  product.result_axis = 1;
  const Dims& x = product.x.type.dims;
  const Dims& w = product.w.type.dims;
  QTX_RETURN_IF_ERROR(CheckFixed(product.w.type));
  const Dims sizes(x.begin() + 2, x.end());
  const Dims kernel(w.begin() + 2, w.end());
  if (std::ranges::any_of(sizes, [](std::int64_t size) { return size < 0; }))
    return Unsupported("", "unknown sizes along the window");
  QTX_ASSIGN_OR_RETURN(const auto axes, format::WindowAxes(node, sizes, kernel));
  Dims strides;
  Dims dilations;
  std::string pads;
  for (const format::WindowAxis& axis : axes) {
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation);
    pads += (pads.empty() ? "" : ", ") + MlirInts({axis.pad_begin, axis.pad_end});
  }
  const std::string activations = LettersOf("b", "f", axes.size());
  const std::string attributes = " dim_numbers = " + activations + "x" +
                                 LettersOf("o", "i", axes.size()) + "->" + activations +
                                 ", window = {stride = " + MlirInts(strides) + ", pad = [" + pads +
                                 "], rhs_dilate = " + MlirInts(dilations) +
                                 "} {batch_group_count = 1 : i64, feature_group_count = " +
                                 std::to_string(node.IntOr("group", 1)) + " : i64}";
  product.emit = [&](const HloValue& a, const HloValue& b, HloType type) {
    return writer.Emit("stablehlo.convolution(" + a.id + ", " + b.id + ")" + attributes, {a, b},
                       std::move(type));
  };
  return WriteProduct(writer, node, std::move(product));
}

Result<void> WriteMatMul(StablehloWriter& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  Product product;
  QTX_ASSIGN_OR_RETURN(product.x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(product.w, writer.Input(node, 1));
  const auto lhs = static_cast<std::int64_t>(product.x.type.dims.size());
  const auto rhs = static_cast<std::int64_t>(product.w.type.dims.size());
  if (rhs <= 2) {  // contracts the last axis of x with the first of w, whatever the ranks
    product.w_axis = 1;
    product.result_axis = lhs - 1;
    product.emit = DotOf(writer, DotSuffix({}, {}, lhs - 1, 0));
    return WriteProduct(writer, node, std::move(product));
  }
  if (lhs < 2) return Unsupported("", "of a vector and matrices");
  QTX_ASSIGN_OR_RETURN(const Dims batch, Batches(writer, product, result));
  const auto rank = static_cast<std::int64_t>(result.dims.size());
  product.w_axis = product.result_axis = rank - 1;
  product.emit = DotOf(writer, DotSuffix(batch, batch, rank - 1, rank - 2));
  return WriteProduct(writer, node, std::move(product));
}

Result<void> WriteGemm(StablehloWriter& writer, const Node& node, const OutRow&) {
  Product product;
  QTX_ASSIGN_OR_RETURN(product.x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(product.w, writer.Input(node, 1));
  const bool transposed = node.IntOr("transB", 0) != 0;
  product.w_axis = transposed ? 0 : 1;
  product.result_axis = 1;
  product.emit =
      DotOf(writer, DotSuffix({}, {}, node.IntOr("transA", 0) != 0 ? 0 : 1, transposed ? 1 : 0));
  return WriteProduct(writer, node, std::move(product));
}

}  // namespace qtx::convert
