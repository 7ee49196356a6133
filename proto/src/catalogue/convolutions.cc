// Conv, ConvTranspose, and the integer convolutions of stock models.
// Source: spec/ops/, the sections that the rows name.
#include <algorithm>

#include "quantized.h"
#include "windows.h"

namespace qtx::format::catalogue {

WindowShapes WindowShapesOf(const Application& a, std::int64_t n, std::int64_t c,
                            const Result<std::vector<WindowAxis>>& axes) {
  std::vector<std::optional<Dims>> shapes(a.schema.outputs.size());
  if (!axes.has_value() && axes.error().code == ErrorCode::kTooLarge) return shapes;
  if (!axes.has_value()) return At(OutputPlace(a, 0), axes.error());
  Dims dims = {n, c};
  for (const WindowAxis& axis : *axes) dims.push_back(axis.output);
  std::ranges::fill(shapes, dims);
  return shapes;
}

Result<void> WindowAutoPad(const Application& a) { return CheckAutoPad(a.node); }

namespace {

// Parameters that are inputs ----------------------------------------------------------------------

bool MayBeWindowScalar(const Dims& dims) { return dims.empty() || !Differ(dims, {1}); }

// One element, or one for each filter of `w`.
ClauseRule WindowFilterParameter(std::size_t i, std::size_t w) {
  return [=](const Application& a) -> Result<void> {
    const Dims* dims = DimsOf(a.Input(i));
    const Dims* weights = DimsOf(a.Input(w));
    const bool known = weights != nullptr && !weights->empty();
    const std::int64_t filters = known ? weights->front() : kUnknownSize;
    if (dims == nullptr || MayBeWindowScalar(*dims) || !Differ(*dims, {filters})) return {};
    return BadInput(a, i, "shape " + ShapeText(*dims),
                    "one element, or one of " + ShapeText({filters}) + ", a filter each");
  };
}

// Conv and its like: x is input 0 -----------------------------------------------------------------

constexpr std::size_t kNoWindowBias = 99;

// conv.C2.
ClauseRule ConvRanks(std::size_t w) {
  return [=](const Application& a) -> Result<void> {
    QTX_RETURN_IF_ERROR(RankAtLeast(0, 3)(a));
    QTX_RETURN_IF_ERROR(RankAtLeast(w, 3)(a));
    const Dims* x = DimsOf(a.Input(0));
    return x == nullptr ? Result<void>() : RankIs(w, x->size())(a);
  };
}

// Shapes of x and w, of which one at least is known.
struct ConvShapes {
  Dims x, w;
  std::size_t rank() const { return x.size() - 2; }
  std::span<const std::int64_t> input() const { return std::span(x).subspan(2); }
  std::span<const std::int64_t> kernel() const { return std::span(w).subspan(2); }
};

// REQUIRES: ConvRanks.
std::optional<ConvShapes> ConvShapesOf(const Application& a, std::size_t w) {
  const Dims* x = DimsOf(a.Input(0));
  const Dims* weights = DimsOf(a.Input(w));
  if (x == nullptr && weights == nullptr) return std::nullopt;
  const Dims unknown(x != nullptr ? x->size() : weights->size(), kUnknownSize);
  return ConvShapes{x != nullptr ? *x : unknown, weights != nullptr ? *weights : unknown};
}

// conv.C3.
ClauseRule ConvGroups(std::size_t w) {
  return [=](const Application& a) -> Result<void> {
    const std::int64_t group = a.Int("group");
    if (group < 1) return BadAttribute("group", std::to_string(group), "at least 1");
    const auto shapes = ConvShapesOf(a, w);
    if (!shapes) return {};
    const std::int64_t channels = shapes->x[1];
    const std::int64_t filters = shapes->w[0];
    if (Known(channels) && (channels % group != 0 || Differ(channels / group, shapes->w[1]))) {
      return BadInput(a, w, "shape " + ShapeText(shapes->w),
                      "channels that times group " + std::to_string(group) + " are those of x, " +
                          std::to_string(channels));
    }
    if (!Known(filters) || (filters > 0 && filters % group == 0)) return {};
    return BadInput(a, w, std::to_string(filters) + " filters",
                    "a multiple of group " + std::to_string(group) + ", other than 0");
  };
}

// conv.C4.
ClauseRule ConvBias(std::size_t w, std::size_t b) {
  return [=](const Application& a) -> Result<void> {
    const Dims* bias = DimsOf(a.Input(b));
    const auto shapes = ConvShapesOf(a, w);
    const std::int64_t filters = shapes ? shapes->w[0] : kUnknownSize;
    if (bias == nullptr || !Differ(*bias, {filters})) return {};
    return BadInput(a, b, "shape " + ShapeText(*bias), ShapeText({filters}));
  };
}

// conv.C5.
ClauseRule ConvKernel(std::size_t w) {
  return [=](const Application& a) -> Result<void> {
    const auto shapes = ConvShapesOf(a, w);
    if (a.Find("kernel_shape") != nullptr) {
      QTX_RETURN_IF_ERROR(
          CheckKernelShape(a.node, shapes ? std::optional(shapes->rank()) : std::nullopt));
    }
    if (!shapes) return {};
    const Dims kernel(shapes->kernel().begin(), shapes->kernel().end());
    if (std::ranges::find(kernel, 0) != kernel.end()) {
      return BadInput(a, w, "shape " + ShapeText(shapes->w), "spatial sizes of at least 1");
    }
    const Dims attribute = a.node.IntsOr("kernel_shape", kernel);
    if (!Differ(attribute, kernel)) return {};
    return BadAttribute("kernel_shape", ShapeText(attribute), ShapeText(kernel) + ", as w has");
  };
}

// conv.C6.
ClauseRule ConvAttributes(std::size_t w) {
  return [=](const Application& a) -> Result<void> {
    const auto shapes = ConvShapesOf(a, w);
    return CheckWindowAttributes(a.node, shapes ? std::optional(shapes->rank()) : std::nullopt);
  };
}

// conv.C2 to conv.C7.
ClauseRule ConvNode(std::size_t w, std::size_t b) {
  return Both({ConvRanks(w), ConvGroups(w), ConvBias(w, b), ConvKernel(w), ConvAttributes(w),
               WindowAutoPad});
}

template <std::size_t kWeights>
WindowShapes ConvShape(const Application& a) {
  const auto shapes = ConvShapesOf(a, kWeights);
  if (!shapes) return std::vector<std::optional<Dims>>{std::nullopt};
  return WindowShapesOf(a, shapes->x[0], shapes->w[0],
                        WindowAxes(a.node, shapes->input(), shapes->kernel()));
}

// q_linear_conv.C1.
Result<void> QLinearConvTypes(const Application& a) {
  for (const std::size_t scale : {1U, 4U, 6U}) {
    QTX_RETURN_IF_ERROR(InputTypes(scale, kWindowFloat)(a));
  }
  for (const std::size_t stored : {0U, 2U, 3U, 5U, 7U}) {
    QTX_RETURN_IF_ERROR(InputTypes(stored, kWindowBytes)(a));
  }
  QTX_RETURN_IF_ERROR(QuantizedTypeIsThatOf(2, 0)(a));
  QTX_RETURN_IF_ERROR(QuantizedTypeIsThatOf(5, 3)(a));
  QTX_RETURN_IF_ERROR(InputTypes(8, {ElementType::kInt32})(a));
  QTX_RETURN_IF_ERROR(OutputTypes(0, kWindowBytes)(a));
  const ElementType zero_point = a.Input(7).type;
  if (zero_point == ElementType::kUndefined) return {};
  return OutputTypes(0, {zero_point})(a);
}

// q_linear_conv.C2.
Result<void> QLinearConvScales(const Application& a) {
  for (const std::size_t scale : {1U, 4U, 6U}) {
    QTX_RETURN_IF_ERROR(QuantizedScaleIsPositive(scale)(a));
    const Dims* expected = DimsOf(a.Input(scale));
    const Dims* found = DimsOf(a.Input(scale + 1));
    if (expected == nullptr || found == nullptr || !Differ(*expected, *found)) continue;
    if (MayBeWindowScalar(*expected) && MayBeWindowScalar(*found)) continue;
    return BadInput(a, scale + 1, "shape " + ShapeText(*found),
                    ShapeText(*expected) + ", as its scale");
  }
  return {};
}

ElementType TypeOfConvZeroPoint(const Application& a, std::size_t) { return a.Input(7).type; }

// conv_transpose.C3.
Result<void> TransposedGroups(const Application& a) {
  const std::int64_t group = a.Int("group");
  if (group < 1) return BadAttribute("group", std::to_string(group), "at least 1");
  const auto shapes = ConvShapesOf(a, 1);
  if (!shapes) return {};
  for (const std::int64_t channels : {shapes->x[1], shapes->w[0]}) {
    if (!Known(channels) || channels % group == 0) continue;
    return BadAttribute("group", std::to_string(group),
                        "a divisor of " + std::to_string(channels) + " channels");
  }
  if (!Differ(shapes->x[1], shapes->w[0]) && shapes->w[1] != 0) return {};
  return BadInput(a, 1, "shape " + ShapeText(shapes->w),
                  "the channels of x, " + ShapeText({shapes->x[1]}) + ", and filters");
}

// conv_transpose.C4.
Result<void> TransposedBias(const Application& a) {
  QTX_RETURN_IF_ERROR(RankIs(2, 1)(a));
  const Dims* bias = DimsOf(a.Input(2));
  const auto shapes = ConvShapesOf(a, 1);
  if (bias == nullptr || !Known(bias->front()) || !shapes) return {};
  const std::int64_t group = a.Int("group");
  const std::int64_t filters = shapes->w[1];
  if (bias->front() % group == 0 && !Differ(bias->front() / group, filters)) return {};
  return BadInput(a, 2, "shape " + ShapeText(*bias),
                  "group " + std::to_string(group) + " times " + ShapeText({filters}));
}

// conv_transpose.C6.
Result<void> TransposedAttributes(const Application& a) {
  const auto shapes = ConvShapesOf(a, 1);
  return CheckTransposedWindowAttributes(a.node,
                                         shapes ? std::optional(shapes->rank()) : std::nullopt);
}

WindowShapes TransposedShape(const Application& a) {
  const auto shapes = ConvShapesOf(a, 1);
  if (!shapes) return std::vector<std::optional<Dims>>{std::nullopt};
  const auto filters = Known(shapes->w[1]) ? ElementCount(Dims{a.Int("group"), shapes->w[1]})
                                           : Result<std::int64_t>(kUnknownSize);
  return WindowShapesOf(a, shapes->x[0], filters.value_or(kUnknownSize),
                        TransposedWindowAxes(a.node, shapes->input(), shapes->kernel()));
}

// Rows --------------------------------------------------------------------------------------------

std::vector<AttributeRule> ConvAttributeRules() {
  return {kWindowAutoPad,
          {"dilations", AttributeType::kInts},
          {"group", AttributeType::kInt, 1},
          kWindowKernel,
          kWindowPads,
          kWindowStrides};
}

void AddStockConvs(std::vector<OpSchema>& rows) {
  rows.push_back({.op_type = "ConvInteger",
                  .inputs = {{"x"}, {"w"}, {"x_zero_point", true}, {"w_zero_point", true}},
                  .outputs = {{"y"}},
                  .attributes = ConvAttributeRules(),
                  .checks = {{"conv_integer.C1",
                              Both({InputTypes(0, kWindowBytes), InputTypes(1, kWindowBytes),
                                    OutputTypes(0, {ElementType::kInt32})})},
                             {"conv_integer.C2",
                              Both({QuantizedTypeIsThatOf(2, 0), QuantizedTypeIsThatOf(3, 1),
                                    IsScalar(2), WindowFilterParameter(3, 1)})},
                             {"conv_integer.C3", ConvNode(1, kNoWindowBias)}},
                  .shape = ConvShape<1>,
                  .shape_clause = "conv_integer.C3",
                  .type = Int32Type});
  rows.push_back({.op_type = "QLinearConv",
                  .inputs = {{"x"},
                             {"x_scale"},
                             {"x_zero_point"},
                             {"w"},
                             {"w_scale"},
                             {"w_zero_point"},
                             {"y_scale"},
                             {"y_zero_point"},
                             {"B", true}},
                  .outputs = {{"y"}},
                  .attributes = ConvAttributeRules(),
                  .checks = {{"q_linear_conv.C1", QLinearConvTypes},
                             {"q_linear_conv.C2", QLinearConvScales},
                             {"q_linear_conv.C3",
                              Both({IsScalar(1), WindowFilterParameter(4, 3), IsScalar(6)})},
                             {"q_linear_conv.C4", ConvNode(3, 8)}},
                  .shape = ConvShape<3>,
                  .shape_clause = "q_linear_conv.C4",
                  .type = TypeOfConvZeroPoint});
}

void AddRealConvs(std::vector<OpSchema>& rows) {
  rows.push_back({.op_type = "Conv",
                  .inputs = {{"x"}, {"w"}, {"b", true}},
                  .outputs = {{"y"}},
                  .attributes = ConvAttributeRules(),
                  .checks = {{"conv.C1", RealOrOne({0, 1, 2}, {0}, kWindowDouble)},
                             {"conv.C2", ConvRanks(1)},
                             {"conv.C3", ConvGroups(1)},
                             {"conv.C4", ConvBias(1, 2)},
                             {"conv.C5", ConvKernel(1)},
                             {"conv.C6", ConvAttributes(1)},
                             {"conv.C7", WindowAutoPad}},
                  .shape = ConvShape<1>,
                  .shape_clause = "conv.C8"});
  rows.push_back({.op_type = "ConvTranspose",
                  .inputs = {{"x"}, {"w"}, {"b", true}},
                  .outputs = {{"y"}},
                  .attributes = ConvAttributeRules(),
                  .checks = {{"conv_transpose.C1", RealOrOne({0, 1, 2}, {0}, kWindowDouble)},
                             {"conv_transpose.C2", ConvRanks(1)},
                             {"conv_transpose.C3", TransposedGroups},
                             {"conv_transpose.C4", TransposedBias},
                             {"conv_transpose.C5", ConvKernel(1)},
                             {"conv_transpose.C6", TransposedAttributes},
                             {"conv_transpose.C7", WindowAutoPad}},
                  .shape = TransposedShape,
                  .shape_clause = "conv_transpose.C8"});
  rows.back().attributes.push_back({"output_padding", AttributeType::kInts});
  rows.back().attributes.push_back({"output_shape", AttributeType::kInts});
}

}  // namespace

void AddConvolutions(std::vector<OpSchema>& rows) {
  AddRealConvs(rows);
  AddStockConvs(rows);
}

}  // namespace qtx::format::catalogue
