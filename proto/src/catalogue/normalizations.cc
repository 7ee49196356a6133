// Normalizations and softmax.
// Source: spec/ops/, the sections that the rows name.
#include <algorithm>
#include <utility>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

using NormShapes = std::vector<std::optional<Dims>>;

constexpr AttributeRule kNormEpsilon{"epsilon", AttributeType::kFloat, 1e-5F};

// One element a channel ---------------------------------------------------------------------------

// batch_normalization.C2: inputs 1 to `last` have shape [C]. An x of rank 1 has one channel.
ClauseRule NormPerChannel(std::size_t last) {
  return [=](const Application& a) -> Result<void> {
    const Dims* x = DimsOf(a.Input(0));
    std::int64_t channels = kUnknownSize;
    if (x != nullptr) channels = x->size() > 1 ? (*x)[1] : 1;
    for (std::size_t i = 1; i <= last; ++i) {
      const Dims* dims = DimsOf(a.Input(i));
      if (dims == nullptr) continue;
      if (Differ(*dims, {channels})) {
        return BadInput(a, i, "shape " + ShapeText(*dims), ShapeText({channels}));
      }
      channels = EitherOf(channels, (*dims)[0]);
    }
    return {};
  };
}

// graph.C5: from opset 14 on the statistics are outputs in training, and only then.
Result<void> BatchNormalizationOutputs(const Application& a) {
  const std::size_t expected = a.Int("training_mode") != 0 ? 3 : 1;
  if (a.opset < 14 || a.outputs.size() == expected) return {};
  Error error = Refuse("output", "found " + std::to_string(a.outputs.size()) + ", expected " +
                                     std::to_string(expected) + " with training_mode " +
                                     std::to_string(a.Int("training_mode")));
  error.clause = "graph.C5";
  return error;
}

// batch_normalization.C5.
Result<void> BatchNormalizationTrains(const Application& a) {
  QTX_RETURN_IF_ERROR(BatchNormalizationOutputs(a));
  if (a.Int("training_mode") != 0) return UndefinedAttribute("training_mode", "1");
  if (a.outputs.size() == 1) return {};
  return Error{ErrorCode::kUnsupported, OutputPlace(a, 1),
               "found one, which this version of the text does not define"};
}

// batch_normalization.C4; statistics have one element for each channel.
Result<NormShapes> ShapeOfBatchNormalization(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return NormShapes(5);
  NormShapes shapes(5, Dims{x->size() > 1 ? (*x)[1] : 1});
  shapes[0] = *x;
  return shapes;
}

ElementType BatchNormalizationType(const Application& a, std::size_t output) {
  return a.Input(output == 0 ? 0 : 3).type;
}

OpSchema BatchNormalizationRow() {
  return {.op_type = "BatchNormalization",
          .inputs = {{"x"}, {"gain"}, {"bias"}, {"mean"}, {"variance"}},
          .outputs = {{"y"},
                      {"running_mean", true},
                      {"running_variance", true},
                      {"saved_mean", true},
                      {"saved_variance", true}},
          .attributes = {kNormEpsilon,
                         {"momentum", AttributeType::kFloat, 0.9F},
                         {"training_mode", AttributeType::kInt, std::int64_t{0}, false, 14}},
          .checks = {{"batch_normalization.C1", RealOrOne({0, 1, 2, 3, 4}, {0}, {})},
                     {"batch_normalization.C2", NormPerChannel(4)},
                     {"batch_normalization.C3", IsFiniteNotNegative("epsilon")},
                     {"batch_normalization.C5", BatchNormalizationTrains}},
          .shape = ShapeOfBatchNormalization,
          .shape_clause = "batch_normalization.C4",
          .type = BatchNormalizationType};
}

OpSchema InstanceNormalizationRow() {
  return {.op_type = "InstanceNormalization",
          .inputs = {{"x"}, {"gain"}, {"bias"}},
          .outputs = {{"y"}},
          .attributes = {kNormEpsilon},
          .checks = {{"instance_normalization.C1", RealOrOne({0, 1, 2}, {0}, {})},
                     {"instance_normalization.C2", RankAtLeast(0, 3)},
                     {"instance_normalization.C3", NormPerChannel(2)},
                     {"instance_normalization.C4", IsFiniteNotNegative("epsilon")}},
          .shape = ShapeOfFirst,
          .shape_clause = "instance_normalization.C5"};
}

// group_normalization.C3.
Result<void> GroupsDivideChannels(const Application& a) {
  const std::int64_t groups = a.Int("num_groups");
  const Dims* x = DimsOf(a.Input(0));
  if (groups < 1) return BadAttribute("num_groups", std::to_string(groups), "at least 1");
  if (x == nullptr || !Known((*x)[1]) || (*x)[1] % groups == 0) return {};
  return BadAttribute("num_groups", std::to_string(groups),
                      "a divisor of " + std::to_string((*x)[1]) + " channels");
}

OpSchema GroupNormalizationRow() {
  return {.op_type = "GroupNormalization",
          .inputs = {{"x"}, {"gain"}, {"bias"}},
          .outputs = {{"y"}},
          .attributes = {kNormEpsilon,
                         {.name = "num_groups", .type = AttributeType::kInt, .required = true},
                         {"stash_type", AttributeType::kInt, std::int64_t{1}}},
          .checks = {{"group_normalization.C1", RealOrOne({0, 1, 2}, {0}, {})},
                     {"group_normalization.C2", RankAtLeast(0, 2)},
                     {"group_normalization.C3", GroupsDivideChannels},
                     {"group_normalization.C4", NormPerChannel(2)},
                     {"group_normalization.C5", IsFiniteNotNegative("epsilon")}},
          .shape = ShapeOfFirst,
          .shape_clause = "group_normalization.C6"};
}

// Groups from an axis on --------------------------------------------------------------------------

// layer_normalization.S4: the statistics have one element for each group.
Result<NormShapes> ShapeOfLayerNormalization(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return NormShapes(3);
  Dims groups = *x;
  const std::size_t axis = AxisOf(a.Int("axis"), groups.size());
  std::fill(groups.begin() + static_cast<std::ptrdiff_t>(axis), groups.end(), 1);
  return NormShapes{*x, groups, groups};
}

ElementType LayerNormalizationType(const Application& a, std::size_t output) {
  return output == 0 ? a.Input(0).type : ElementType::kFloat;
}

std::vector<AttributeRule> NormGroupAttributes() {
  return {{"axis", AttributeType::kInt, std::int64_t{-1}},
          kNormEpsilon,
          {"stash_type", AttributeType::kInt, std::int64_t{1}}};
}

OpSchema LayerNormalizationRow() {
  return {.op_type = "LayerNormalization",
          .inputs = {{"x"}, {"gain"}, {"bias", true}},
          .outputs = {{"y"}, {"Mean", true}, {"InvStdDev", true}},
          .attributes = NormGroupAttributes(),
          .checks = {{"layer_normalization.C1", RealOrOne({0, 1, 2}, {0, 1, 2}, {})},
                     {"layer_normalization.C2", AxisInRange("axis", 0)},
                     {"layer_normalization.C3", Both({BroadcastsTo(1, 0), BroadcastsTo(2, 0)})},
                     {"layer_normalization.C4", IsFiniteNotNegative("epsilon")}},
          .shape = ShapeOfLayerNormalization,
          .shape_clause = "layer_normalization.C5",
          .type = LayerNormalizationType};
}

OpSchema RMSNormalizationRow() {
  return {.op_type = "RMSNormalization",
          .inputs = {{"x"}, {"gain"}},
          .outputs = {{"y"}},
          .attributes = NormGroupAttributes(),
          .checks = {{"rms_normalization.C1", RealOrOne({0, 1}, {0}, {})},
                     {"rms_normalization.C2", AxisInRange("axis", 0)},
                     {"rms_normalization.C3", BroadcastsTo(1, 0)},
                     {"rms_normalization.C4", IsFiniteNotNegative("epsilon")}},
          .shape = ShapeOfFirst,
          .shape_clause = "rms_normalization.C5"};
}

OpSchema LpNormalizationRow() {
  return {.op_type = "LpNormalization",
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .attributes = {{"axis", AttributeType::kInt, std::int64_t{-1}},
                         {"p", AttributeType::kInt, std::int64_t{2}}},
          .checks = {{"lp_normalization.C1", RealOrOne({0}, {0}, {ElementType::kDouble})},
                     {"lp_normalization.C2", AxisInRange("axis", 0)},
                     {"lp_normalization.C3", IntWithin("p", 1, 2)}},
          .shape = ShapeOfFirst,
          .shape_clause = "lp_normalization.C4"};
}

OpSchema LrnRow() {
  return {.op_type = "LRN",
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .attributes = {{"alpha", AttributeType::kFloat, 1e-4F},
                         {"beta", AttributeType::kFloat, 0.75F},
                         {"bias", AttributeType::kFloat, 1.0F},
                         {.name = "size", .type = AttributeType::kInt, .required = true}},
          .checks = {{"lrn.C1", RealOrOne({0}, {0}, {ElementType::kDouble})},
                     {"lrn.C2", RankAtLeast(0, 2)},
                     {"lrn.C3", IntWithin("size", 1, INT64_MAX)},
                     {"lrn.C4", Both({IsFinite("alpha"), IsFinite("beta"), IsFinite("bias")})}},
          .shape = ShapeOfFirst,
          .shape_clause = "lrn.C5"};
}

// Softmax -----------------------------------------------------------------------------------------

OpSchema SoftmaxRow(std::string_view op_type, std::string_view types, std::string_view axis,
                    std::string_view shape, TypeSet one) {
  return {.op_type = op_type,
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          // softmax.S4, softmax.S2, hardmax.S2.
          .attributes = {{"axis", AttributeType::kInt, std::int64_t{1}, false, 0, 12},
                         {"axis", AttributeType::kInt, std::int64_t{-1}, false, 13}},
          .checks = {{types, RealOrOne({0}, {0}, one)}, {axis, AxisInRange("axis", 0)}},
          .shape = ShapeOfFirst,
          .shape_clause = shape};
}

}  // namespace

void AddNormalizations(std::vector<OpSchema>& rows) {
  rows.push_back(LpNormalizationRow());
  rows.push_back(LrnRow());
  rows.push_back(BatchNormalizationRow());
  rows.push_back(InstanceNormalizationRow());
  rows.push_back(GroupNormalizationRow());
  rows.push_back(LayerNormalizationRow());
  rows.push_back(RMSNormalizationRow());
  rows.push_back(
      SoftmaxRow("Softmax", "softmax.C1", "softmax.C2", "softmax.C3", {ElementType::kDouble}));
  rows.push_back(
      SoftmaxRow("Hardmax", "hardmax.C1", "hardmax.C2", "hardmax.C3", {ElementType::kDouble}));
  rows.push_back(SoftmaxRow("LogSoftmax", "log_softmax.C1", "log_softmax.C2", "log_softmax.C3",
                            {ElementType::kDouble}));
}

}  // namespace qtx::format::catalogue
