// Pools over windows and over whole images.
// Source: spec/ops/, the sections that the rows name.
#include <algorithm>

#include "quantized.h"
#include "windows.h"

namespace qtx::format::catalogue {
namespace {

// No axis of input 0 is empty, from `first` on.
ClauseRule WindowNoEmptyAxis(std::size_t first) {
  return [=](const Application& a) -> Result<void> {
    const Dims* x = DimsOf(a.Input(0));
    if (x == nullptr) return {};
    const auto checked = std::span(*x).subspan(first);
    if (std::ranges::find(checked, 0) == checked.end()) return {};
    return BadInput(a, 0, "shape " + ShapeText(*x), "no empty axis");
  };
}

// average_pool.C3.
Result<void> PoolKernel(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  return CheckKernelShape(a.node, x != nullptr ? std::optional(x->size() - 2) : std::nullopt);
}

// lp_pool.C4.
Result<void> PoolAttributes(const Application& a) {
  QTX_RETURN_IF_ERROR(CheckPoolAttributes(a.node));
  return IntWithin("ceil_mode", 0, 1)(a);
}

// REQUIRES: the rank of x is known.
Result<std::vector<WindowAxis>> PoolAxes(const Application& a) {
  return WindowAxes(a.node, std::span(*a.Input(0).dims).subspan(2),
                    a.node.IntsOr("kernel_shape", {}));
}

// max_pool.C4.
Result<void> MaxPoolAttributes(const Application& a) {
  QTX_RETURN_IF_ERROR(PoolAttributes(a));
  if (DimsOf(a.Input(0)) == nullptr) return {};
  const auto axes = PoolAxes(a);
  if (!axes.has_value() || std::ranges::none_of(*axes, HasWindowInPadding)) return {};
  return BadAttribute("dilations", "a window that lies wholly in padding",
                      "an element of x in each, since padding does not count");
}

// average_pool.C4.
Result<void> AveragePoolAttributes(const Application& a) {
  return a.Int("count_include_pad") != 0 ? PoolAttributes(a) : MaxPoolAttributes(a);
}

WindowShapes PoolShape(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return std::vector<std::optional<Dims>>(a.schema.outputs.size());
  return WindowShapesOf(a, (*x)[0], (*x)[1], PoolAxes(a));
}

WindowShapes GlobalPoolShape(const Application& a) {
  std::optional<Dims> dims = a.Input(0).dims;
  if (dims) std::fill(dims->begin() + 2, dims->end(), 1);
  return std::vector<std::optional<Dims>>{std::move(dims)};
}

ElementType MaxPoolType(const Application& a, std::size_t output) {
  return output == 0 ? a.Input(0).type : ElementType::kInt64;
}

// q_linear_average_pool.C1.
Result<void> QLinearPoolTypes(const Application& a) {
  QTX_RETURN_IF_ERROR(InputTypes(0, kWindowBytes)(a));
  QTX_RETURN_IF_ERROR(OutputTypes(0, kWindowBytes)(a));
  return OutputsFollowInput()(a);
}

// q_linear_average_pool.C2.
Result<void> QLinearPoolParameters(const Application& a) {
  for (const std::size_t scale : {1U, 3U}) {
    QTX_RETURN_IF_ERROR(InputTypes(scale, kWindowFloat)(a));
    QTX_RETURN_IF_ERROR(IsScalar(scale)(a));
    QTX_RETURN_IF_ERROR(QuantizedScaleIsPositive(scale)(a));
    QTX_RETURN_IF_ERROR(QuantizedTypeIsThatOf(scale + 1, 0)(a));
    QTX_RETURN_IF_ERROR(IsScalar(scale + 1)(a));
  }
  return {};
}

// Rows --------------------------------------------------------------------------------------------

std::vector<AttributeRule> PoolAttributeRules(std::vector<AttributeRule> further) {
  further.insert(further.end(), {kWindowAutoPad, kWindowKernel, kWindowPads, kWindowStrides});
  return further;
}

void AddWindowPools(std::vector<OpSchema>& rows) {
  rows.push_back(
      {.op_type = "AveragePool",
       .inputs = {{"x"}},
       .outputs = {{"y"}},
       .attributes = PoolAttributeRules({{"ceil_mode", AttributeType::kInt, 0, false, 10},
                                         {"count_include_pad", AttributeType::kInt, 0, false, 7},
                                         {"dilations", AttributeType::kInts}}),
       .checks = {{"average_pool.C1", RealOrOne({0}, {0}, kWindowDouble)},
                  {"average_pool.C2", RankAtLeast(0, 3)},
                  {"average_pool.C3", PoolKernel},
                  {"average_pool.C5", WindowAutoPad},
                  {"average_pool.C4", AveragePoolAttributes}},
       .shape = PoolShape,
       .shape_clause = "average_pool.C6"});
  rows.push_back(
      {.op_type = "MaxPool",
       .inputs = {{"x"}},
       .outputs = {{"y"}, {"indices", true}},
       .attributes = PoolAttributeRules({{"ceil_mode", AttributeType::kInt, 0, false, 10},
                                         {"dilations", AttributeType::kInts, {}, false, 10},
                                         {"storage_order", AttributeType::kInt, 0, false, 8}}),
       .checks = {{"max_pool.C1", RealOrOne({0}, {0}, kPlainTypes)},
                  {"max_pool.C2", RankAtLeast(0, 3)},
                  {"max_pool.C3", PoolKernel},
                  {"max_pool.C4", MaxPoolAttributes},
                  {"max_pool.C5", WindowAutoPad},
                  {"max_pool.C7", OutputTypes(1, {ElementType::kInt64})},
                  {"max_pool.C8", IntWithin("storage_order", 0, 1)}},
       .shape = PoolShape,
       .shape_clause = "max_pool.C6",
       .type = MaxPoolType,
       .copies_elements = true});
  rows.push_back(
      {.op_type = "LpPool",
       .inputs = {{"x"}},
       .outputs = {{"y"}},
       .attributes = PoolAttributeRules({{"ceil_mode", AttributeType::kInt, 0, false, 18},
                                         {"dilations", AttributeType::kInts, {}, false, 18},
                                         {"p", AttributeType::kInt, 2}}),
       .checks = {{"lp_pool.C1", RealOrOne({0}, {0}, kWindowDouble)},
                  {"lp_pool.C2", RankAtLeast(0, 3)},
                  {"lp_pool.C3", PoolKernel},
                  {"lp_pool.C4", PoolAttributes},
                  {"lp_pool.C5", WindowAutoPad},
                  {"lp_pool.C7", IntWithin("p", 1, 64)}},
       .shape = PoolShape,
       .shape_clause = "lp_pool.C6"});
}

OpSchema GlobalPool(std::string_view op_type, std::vector<ClauseCheck> checks,
                    std::string_view shape_clause) {
  return {.op_type = op_type,
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .attributes = {},
          .checks = std::move(checks),
          .shape = GlobalPoolShape,
          .shape_clause = shape_clause};
}

void AddGlobalPools(std::vector<OpSchema>& rows) {
  rows.push_back(GlobalPool("GlobalAveragePool",
                            {{"global_average_pool.C1", RealOrOne({0}, {0}, kWindowDouble)},
                             {"global_average_pool.C2", RankAtLeast(0, 3)},
                             {"global_average_pool.C3", WindowNoEmptyAxis(2)}},
                            "global_average_pool.C4"));
  rows.push_back(GlobalPool("GlobalMaxPool",
                            {{"global_max_pool.C1", RealOrOne({0}, {0}, kWindowDouble)},
                             {"global_max_pool.C2", RankAtLeast(0, 3)},
                             {"global_max_pool.C3", WindowNoEmptyAxis(0)}},
                            "global_max_pool.C4"));
  rows.back().copies_elements = true;
}

void AddQLinearPools(std::vector<OpSchema>& rows) {
  const AttributeRule channels_last{"channels_last", AttributeType::kInt, 0};
  rows.push_back(
      {.op_type = "QLinearAveragePool",
       .domain = "com.microsoft",
       .inputs = {{"X"}, {"X_scale"}, {"X_zero_point", true}, {"Y_scale"}, {"Y_zero_point", true}},
       .outputs = {{"Y"}},
       .attributes = PoolAttributeRules({{"ceil_mode", AttributeType::kInt, 0},
                                         channels_last,
                                         {"count_include_pad", AttributeType::kInt, 0}}),
       .checks = {{"q_linear_average_pool.C1", QLinearPoolTypes},
                  {"q_linear_average_pool.C2", QLinearPoolParameters},
                  {"q_linear_average_pool.C4", IntWithin("channels_last", 0, 0)},
                  {"q_linear_average_pool.C3",
                   Both({RankAtLeast(0, 3), PoolKernel, WindowAutoPad, AveragePoolAttributes})}},
       .shape = PoolShape,
       .shape_clause = "q_linear_average_pool.C3"});
  rows.push_back({.op_type = "QLinearGlobalAveragePool",
                  .domain = "com.microsoft",
                  .inputs = {{"X"}, {"X_scale"}, {"X_zero_point"}, {"Y_scale"}, {"Y_zero_point"}},
                  .outputs = {{"Y"}},
                  .attributes = {channels_last},
                  .checks = {{"q_linear_global_average_pool.C1", QLinearPoolTypes},
                             {"q_linear_global_average_pool.C2", QLinearPoolParameters},
                             {"q_linear_global_average_pool.C4", IntWithin("channels_last", 0, 0)},
                             {"q_linear_global_average_pool.C3",
                              Both({RankAtLeast(0, 3), WindowNoEmptyAxis(0)})}},
                  .shape = GlobalPoolShape,
                  .shape_clause = "q_linear_global_average_pool.C3"});
}

}  // namespace

void AddPools(std::vector<OpSchema>& rows) {
  AddWindowPools(rows);
  AddGlobalPools(rows);
  AddQLinearPools(rows);
}

}  // namespace qtx::format::catalogue
