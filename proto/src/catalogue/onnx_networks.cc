// Operators of ONNX without a section: of networks, of images, of losses.
#include <algorithm>
#include <string>

#include "onnx_shapes.h"
#include "rules.h"

namespace qtx::format::catalogue {
namespace {

OnnxShapes OnnxNetworkShape(std::optional<Dims> dims) {
  return std::vector<std::optional<Dims>>{std::move(dims)};
}

// Networks ---------------------------------------------------------------------------------------

OnnxShapes OnnxRnnShape(const Application& a) {
  const bool batch_first = a.Int("layout") != 0;
  OnnxSizes sizes;
  QTX_RETURN_IF_ERROR(sizes.Take(a, 0, batch_first ? "BSI" : "SBI"));
  const std::string direction = a.String("direction");
  const bool both = direction == "bidirectional";
  if (both || direction == "forward" || direction == "reverse") {
    QTX_RETURN_IF_ERROR(sizes.Set('D', both ? 2 : 1));
  }
  const std::int64_t hidden = a.node.IntOr("hidden_size", kUnknownSize);
  if (hidden > 0) QTX_RETURN_IF_ERROR(sizes.Set('H', hidden));
  return std::vector<std::optional<Dims>>{sizes.Shape(batch_first ? "BSDH" : "SDBH"),
                                          sizes.Shape(batch_first ? "BDH" : "DBH")};
}

OnnxShapes OnnxCausalConvShape(const Application& a) {
  QTX_RETURN_IF_ERROR(StringOneOf("activation", {"none", "silu", "swish"})(a));
  OnnxSizes sizes;
  QTX_RETURN_IF_ERROR(sizes.Take(a, 0, "BCL"));
  QTX_RETURN_IF_ERROR(sizes.Take(a, 1, "C1K"));
  QTX_RETURN_IF_ERROR(sizes.Take(a, 2, "C"));
  if (sizes['K'] == 0) return BadInput(a, 1, "a kernel of size 0", "at least 1");
  if (Known(sizes['K'])) QTX_RETURN_IF_ERROR(sizes.Set('P', sizes['K'] - 1));
  QTX_RETURN_IF_ERROR(sizes.Take(a, 3, "BCP"));
  return std::vector<std::optional<Dims>>{sizes.Shape("BCL"), sizes.Shape("BCP")};
}

// Which of decay and beta the rule wants.
Result<void> OnnxLinearAttentionInputs(const Application& a) {
  const std::string rule = a.String("update_rule");
  const bool wanted[] = {rule.starts_with("gated"), rule.ends_with("delta")};
  for (const std::size_t i : {std::size_t{4}, std::size_t{5}}) {
    if (a.Input(i).given == wanted[i - 4]) continue;
    return BadInput(a, i, a.Input(i).given ? "one" : "none",
                    (wanted[i - 4] ? "one for " : "none for ") + rule);
  }
  return {};
}

// The packed size over a number of heads.
Result<void> OnnxHeadSize(const Application& a, std::size_t i, std::int64_t heads, char letter,
                          OnnxSizes& sizes) {
  const Dims* dims = DimsOf(a.Input(i));
  if (dims == nullptr || !Known(dims->back())) return {};
  if (dims->back() % heads != 0) {
    return BadInput(a, i, "shape " + ShapeText(*dims),
                    "a last size that " + std::to_string(heads) + " divides");
  }
  auto set = sizes.Set(letter, dims->back() / heads);
  if (!set.has_value()) return At(InputPlace(a, i), std::move(set).error());
  return {};
}

// The last size is one of these.
Result<void> OnnxLastSize(const Application& a, std::size_t i, std::int64_t one,
                          std::int64_t other) {
  const Dims* dims = DimsOf(a.Input(i));
  if (dims == nullptr || !Differ(dims->back(), one) || !Differ(dims->back(), other)) return {};
  return BadInput(a, i, "shape " + ShapeText(*dims),
                  "last size " + std::to_string(one) + " or " + std::to_string(other));
}

OnnxShapes OnnxLinearAttentionShape(const Application& a) {
  const std::int64_t q_heads = a.node.IntOr("q_num_heads", 0);
  const std::int64_t kv_heads = a.node.IntOr("kv_num_heads", 0);
  if (kv_heads <= 0) return BadAttribute("kv_num_heads", std::to_string(kv_heads), "at least 1");
  if (q_heads <= 0 || q_heads % kv_heads != 0) {
    return BadAttribute("q_num_heads", std::to_string(q_heads), "a multiple of kv_num_heads");
  }
  QTX_RETURN_IF_ERROR(StringOneOf("update_rule", {"linear", "gated", "delta", "gated_delta"})(a));
  QTX_RETURN_IF_ERROR(OnnxLinearAttentionInputs(a));
  OnnxSizes sizes;
  QTX_RETURN_IF_ERROR(sizes.Set('H', kv_heads));
  const std::string_view letters[] = {"BT_", "BT_", "BT_", "BHXY", "BT_", "BT_"};
  for (std::size_t i = 0; i < std::size(letters); ++i) {
    QTX_RETURN_IF_ERROR(sizes.Take(a, i, letters[i]));
  }
  QTX_RETURN_IF_ERROR(OnnxHeadSize(a, 0, q_heads, 'X', sizes));
  QTX_RETURN_IF_ERROR(OnnxHeadSize(a, 1, kv_heads, 'X', sizes));
  QTX_RETURN_IF_ERROR(OnnxHeadSize(a, 2, kv_heads, 'Y', sizes));
  QTX_RETURN_IF_ERROR(OnnxLastSize(a, 4, kv_heads, ProductOf(kv_heads, sizes['X'])));
  QTX_RETURN_IF_ERROR(OnnxLastSize(a, 5, kv_heads, 1));
  Dims output = sizes.Shape("BTY");
  output[2] = ProductOf(q_heads, output[2]);
  return std::vector<std::optional<Dims>>{std::move(output), sizes.Shape("BHXY")};
}

// The state has the past one's type, or that of the query.
ElementType OnnxLinearAttentionType(const Application& a, std::size_t output) {
  return a.Input(output == 1 && a.Input(3).given ? 3 : 0).type;
}

OnnxShapes OnnxDeformConvShape(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  const Dims* w = DimsOf(a.Input(1));
  if (x == nullptr || w == nullptr) return OnnxNetworkShape(std::nullopt);
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 2)(a));
  QTX_RETURN_IF_ERROR(RankIs(1, x->size())(a));
  const std::size_t axes = x->size() - 2;
  const auto list = [&](std::string_view name, std::size_t count, std::int64_t otherwise) {
    return a.node.IntsOr(name, Dims(count, otherwise));
  };
  Dims kernel(w->begin() + 2, w->end());
  if (const Attribute* given = a.Find("kernel_shape")) kernel = given->ints;
  const Dims dilations = list("dilations", axes, 1), pads = list("pads", 2 * axes, 0),
             strides = list("strides", axes, 1);
  Dims dims = {(*x)[0], (*w)[0]};
  if (dilations.size() != axes || pads.size() != 2 * axes || strides.size() != axes ||
      kernel.size() != axes) {
    return Refuse("attributes",
                  "found other numbers of kernel_shape, dilations, pads or strides, "
                  "expected " +
                      std::to_string(axes) + " axes");
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (a.Find("kernel_shape") != nullptr && kernel[i] <= 0) {
      return BadAttribute("kernel_shape", std::to_string(kernel[i]), "at least 1");
    }
    const bool known = Known((*x)[i + 2]) && Known(kernel[i]) && strides[i] > 0;
    // Beyond 2^31 nothing is said: the sums below cannot overflow.
    const auto small = [](std::int64_t value) {
      return value >= -(1LL << 31) && value < 1LL << 31;
    };
    if (!known || !small((*x)[i + 2]) || !small(kernel[i]) || !small(dilations[i]) ||
        !small(pads[i]) || !small(pads[axes + i])) {
      dims.push_back(kUnknownSize);
      continue;
    }
    const std::int64_t window = (kernel[i] - 1) * dilations[i] + 1;
    const std::int64_t free = (*x)[i + 2] + pads[i] + pads[axes + i] - window;
    dims.push_back(free < 0 ? 0 : free / strides[i] + 1);
  }
  return OnnxNetworkShape(std::move(dims));
}

// Pools ------------------------------------------------------------------------------------------

OnnxShapes OnnxGlobalPoolShape(const Application& a) {
  std::optional<Dims> dims = a.Input(0).dims;
  if (dims && dims->size() > 2) std::fill(dims->begin() + 2, dims->end(), 1);
  return OnnxNetworkShape(std::move(dims));
}

OnnxShapes OnnxMaxUnpoolShape(const Application& a) {
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 2)(a));
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return OnnxNetworkShape(std::nullopt);
  const std::size_t axes = x->size() - 2;
  const Dims kernel = a.node.IntsOr("kernel_shape", {}),
             pads = a.node.IntsOr("pads", Dims(2 * axes, 0)),
             strides = a.node.IntsOr("strides", Dims(axes, 1));
  if (kernel.size() != axes || pads.size() != 2 * axes || strides.size() != axes) {
    return Refuse("attributes", "found other numbers of kernel_shape, pads or strides, expected " +
                                    std::to_string(axes) + " axes");
  }
  if (a.Input(2).given) {
    QTX_RETURN_IF_ERROR(RankIs(2, 1)(a));
    const auto rank = static_cast<std::int64_t>(x->size());
    if (Differ(LengthOf(a.Input(2)), rank)) {
      return BadInput(a, 2, std::to_string(LengthOf(a.Input(2))) + " values", std::to_string(rank));
    }
    const auto sizes = IntegersOf(a.Input(2));
    return OnnxNetworkShape(sizes ? std::optional(*sizes) : DimsOfRank(rank));
  }
  if (DimsOf(a.Input(1)) == nullptr) return OnnxNetworkShape(std::nullopt);
  QTX_RETURN_IF_ERROR(RankAtLeast(1, 2)(a));
  Dims dims = {(*x)[0], (*a.Input(1).dims)[1]};
  for (std::size_t i = 0; i < axes; ++i) {
    std::int64_t size = 0;
    const bool past = !Known((*x)[i + 2]) ||
                      __builtin_mul_overflow((*x)[i + 2] - 1, strides[i], &size) ||
                      __builtin_add_overflow(size, kernel[i], &size) ||
                      __builtin_sub_overflow(size, pads[i], &size) ||
                      __builtin_sub_overflow(size, pads[axes + i], &size);
    dims.push_back(past || size < 0 ? kUnknownSize : size);
  }
  return OnnxNetworkShape(std::move(dims));
}

// Images -----------------------------------------------------------------------------------------

OnnxShapes OnnxRoiAlignShape(const Application& a) {
  QTX_RETURN_IF_ERROR(IntWithin("output_height", 0, INT64_MAX)(a));
  QTX_RETURN_IF_ERROR(IntWithin("output_width", 0, INT64_MAX)(a));
  OnnxSizes sizes;
  QTX_RETURN_IF_ERROR(sizes.Take(a, 0, "NCHW"));
  QTX_RETURN_IF_ERROR(sizes.Take(a, 1, "R4"));
  QTX_RETURN_IF_ERROR(sizes.Take(a, 2, "R"));
  Dims dims = sizes.Shape("RC");
  dims.push_back(a.Int("output_height"));
  dims.push_back(a.Int("output_width"));
  return OnnxNetworkShape(std::move(dims));
}

OnnxShapes OnnxMaxRoiPoolShape(const Application& a) {
  OnnxSizes sizes;
  QTX_RETURN_IF_ERROR(sizes.Take(a, 0, "NCHW"));
  QTX_RETURN_IF_ERROR(sizes.Take(a, 1, "R5"));
  const Dims pooled = a.node.IntsOr("pooled_shape", {});
  if (pooled.size() != 2 || pooled[0] <= 0 || pooled[1] <= 0) {
    return BadAttribute("pooled_shape", ShapeText(pooled), "two sizes of at least 1");
  }
  Dims dims = sizes.Shape("RC");
  dims.insert(dims.end(), pooled.begin(), pooled.end());
  return OnnxNetworkShape(std::move(dims));
}

OnnxShapes OnnxAffineGridShape(const Application& a) {
  QTX_RETURN_IF_ERROR(RankIs(1, 1)(a));
  const std::int64_t length = LengthOf(a.Input(1));
  if (!Known(length)) return OnnxNetworkShape(std::nullopt);
  if (length != 4 && length != 5) {
    return BadInput(a, 1, std::to_string(length) + " values", "4 or 5");
  }
  auto sizes = IntegersOf(a.Input(1)).value_or(Dims(static_cast<std::size_t>(length), -1));
  sizes.erase(sizes.begin() + 1);
  sizes.push_back(length - 2);
  return OnnxNetworkShape(std::move(sizes));
}

OnnxShapes OnnxImageDecoderShape(const Application& a) {
  QTX_RETURN_IF_ERROR(RankIs(0, 1)(a));
  return OnnxNetworkShape(DimsOfRank(3));
}

// Losses -----------------------------------------------------------------------------------------

OnnxShapes OnnxLikelihoodShape(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  const Dims* target = DimsOf(a.Input(1));
  if (x == nullptr || target == nullptr) return OnnxNetworkShape(std::nullopt);
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 2)(a));
  Dims expected = *x;
  expected.erase(expected.begin() + 1);
  if (Differ(*target, expected)) {
    return BadInput(a, 1, "shape " + ShapeText(*target), ShapeText(expected));
  }
  if (a.Input(2).given) {
    QTX_RETURN_IF_ERROR(RankIs(2, 1)(a));
    if (Differ(LengthOf(a.Input(2)), (*x)[1])) {
      return BadInput(a, 2, std::to_string(LengthOf(a.Input(2))) + " values",
                      std::to_string((*x)[1]));
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = EitherOf(expected[i], (*target)[i]);
  }
  return OnnxNetworkShape(a.String("reduction") == "none" ? expected : Dims());
}

OnnxShapes OnnxCrossEntropyShape(const Application& a) {
  std::optional<Dims> loss = Dims();
  if (a.String("reduction") == "none") loss = a.Input(1).dims;
  return std::vector<std::optional<Dims>>{std::move(loss), a.Input(0).dims};
}

}  // namespace

void AddOnnxNetworks(std::vector<OpSchema>& rows) {
  rows.push_back({.op_type = "RNN",
                  .attributes = {{"direction", AttributeType::kString, "forward"},
                                 {"layout", AttributeType::kInt, 0}},
                  .shape = OnnxRnnShape});
  rows.push_back({.op_type = "CausalConvWithState",
                  .attributes = {{"activation", AttributeType::kString, "none"}},
                  .shape = OnnxCausalConvShape});
  rows.push_back({.op_type = "LinearAttention",
                  .attributes = {{"update_rule", AttributeType::kString, "gated_delta"}},
                  .shape = OnnxLinearAttentionShape,
                  .type = OnnxLinearAttentionType});
  rows.push_back({.op_type = "DeformConv", .shape = OnnxDeformConvShape});
  rows.push_back({.op_type = "GlobalLpPool", .shape = OnnxGlobalPoolShape});
  rows.push_back({.op_type = "MaxUnpool", .shape = OnnxMaxUnpoolShape});
  rows.push_back({.op_type = "RoiAlign",
                  .attributes = {{"output_height", AttributeType::kInt, 1},
                                 {"output_width", AttributeType::kInt, 1}},
                  .shape = OnnxRoiAlignShape});
  rows.push_back({.op_type = "MaxRoiPool", .shape = OnnxMaxRoiPoolShape});
  rows.push_back({.op_type = "AffineGrid", .shape = OnnxAffineGridShape});
  rows.push_back({.op_type = "ImageDecoder", .shape = OnnxImageDecoderShape});
  const AttributeRule reduction{"reduction", AttributeType::kString, "mean"};
  rows.push_back({.op_type = "NegativeLogLikelihoodLoss",
                  .attributes = {reduction},
                  .shape = OnnxLikelihoodShape});
  rows.push_back({.op_type = "SoftmaxCrossEntropyLoss",
                  .attributes = {reduction},
                  .shape = OnnxCrossEntropyShape});
}

}  // namespace qtx::format::catalogue
