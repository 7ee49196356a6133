// Normalizations, softmax and attention.
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

// Softmax -----------------------------------------------------------------------------------------

OpSchema SoftmaxRow(std::string_view op_type, std::string_view types, std::string_view axis,
                    std::string_view shape, TypeSet one) {
  return {.op_type = op_type,
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          // softmax.S4, softmax.S2.
          .attributes = {{"axis", AttributeType::kInt, std::int64_t{1}, false, 0, 12},
                         {"axis", AttributeType::kInt, std::int64_t{-1}, false, 13}},
          .checks = {{types, RealOrOne({0}, {0}, one)}, {axis, AxisInRange("axis", 0)}},
          .shape = ShapeOfFirst,
          .shape_clause = shape};
}

// Attention ---------------------------------------------------------------------------------------

// Inputs in ONNX's order.
enum AttentionInput : std::size_t {
  kAttentionQ,
  kAttentionK,
  kAttentionV,
  kAttentionMask,
  kAttentionPastK,
  kAttentionPastV,
  kAttentionKeys  // nonpad_kv_seqlen
};

// attention.C1: a mask that is BOOL is no operand.
Result<void> AttentionTypes(const Application& a) {
  Indices inputs = {kAttentionQ, kAttentionK, kAttentionV, kAttentionPastK, kAttentionPastV};
  if (a.Input(kAttentionMask).type != ElementType::kBool) inputs.push_back(kAttentionMask);
  return RealOrOne(std::move(inputs), {0, 1, 2, 3}, {ElementType::kDouble})(a);
}

// attention.C2.
Result<void> AttentionAttributes(const Application& a) {
  for (const char* name : {"scale", "softcap"}) QTX_RETURN_IF_ERROR(IsFiniteNotNegative(name)(a));
  QTX_RETURN_IF_ERROR(IntWithin("is_causal", 0, 1)(a));
  QTX_RETURN_IF_ERROR(IntWithin("qk_matmul_output_mode", 0, 3)(a));
  for (const char* name : {"q_num_heads", "kv_num_heads"}) {
    if (a.Find(name) != nullptr) QTX_RETURN_IF_ERROR(IntWithin(name, 1, INT64_MAX)(a));
  }
  const std::int64_t precision = a.Int("softmax_precision");
  if (precision == 1 || precision == 10 || precision == 11 || precision == 16) return {};
  return BadAttribute("softmax_precision", std::to_string(precision), "1, 10, 11 or 16");
}

// attention.C9.
Result<void> AttentionWindows(const Application& a) {
  for (const char* name : {"left_window_size", "right_window_size"}) {
    QTX_RETURN_IF_ERROR(IntWithin(name, -1, INT64_MAX)(a));
  }
  for (const char* name : {"left_window_size", "right_window_size"}) {
    if (a.Int(name) != -1) return UndefinedAttribute(name, std::to_string(a.Int(name)));
  }
  return {};
}

// The rank of Q, K and V, where one of theirs is known.
std::optional<std::size_t> AttentionRank(const Application& a) {
  for (const std::size_t i : {kAttentionQ, kAttentionK, kAttentionV}) {
    if (const Dims* dims = DimsOf(a.Input(i))) return dims->size();
  }
  return std::nullopt;
}

const char* AttentionHeadsAttribute(std::size_t input) {
  return input == kAttentionQ ? "q_num_heads" : "kv_num_heads";
}

// attention.C3 of Q, K or V.
Result<void> AttentionHeadsFit(const Application& a, std::size_t i) {
  const char* name = AttentionHeadsAttribute(i);
  const std::int64_t given = a.node.IntOr(name, kUnknownSize);
  const Dims* dims = DimsOf(a.Input(i));
  if (AttentionRank(a) == 3 && !Known(given)) {
    return Refuse("attribute '" + std::string(name) + "'", "is required: Q, K and V have rank 3");
  }
  if (dims == nullptr) return {};
  const std::string found = "shape " + ShapeText(*dims);
  if (dims->size() != AttentionRank(a) || dims->size() < 3 || dims->size() > 4) {
    return BadInput(a, i, found, "rank 3 or 4, the same for Q, K and V");
  }
  if (dims->back() == 0) return BadInput(a, i, found, "heads with elements");
  if (dims->size() == 3) {
    if (!Known(dims->back()) || dims->back() % given == 0) return {};
    return BadInput(a, i, found, "a last size that " + std::to_string(given) + " heads share");
  }
  if ((*dims)[1] == 0) return BadInput(a, i, found, "at least one head");
  if (!Differ((*dims)[1], given)) return {};
  return BadInput(a, i, found, std::to_string(given) + " heads, as '" + name + "' says");
}

Result<void> AttentionHeads(const Application& a) {
  for (const std::size_t i : {kAttentionQ, kAttentionK, kAttentionV}) {
    QTX_RETURN_IF_ERROR(AttentionHeadsFit(a, i));
  }
  return {};
}

// [batch, count, length, size], as far as they are known.  Source: attention.S1.
struct AttentionSizes {
  std::int64_t batch = kUnknownSize, count = kUnknownSize;
  std::int64_t length = kUnknownSize, size = kUnknownSize;

  Dims dims() const { return {batch, count, length, size}; }
};

// REQUIRES: attention.C3.
AttentionSizes AttentionSizesOf(const Application& a, std::size_t i) {
  const std::int64_t given = a.node.IntOr(AttentionHeadsAttribute(i), kUnknownSize);
  const Dims* dims = DimsOf(a.Input(i));
  if (dims == nullptr) return {.count = given};
  if (dims->size() == 4) return {(*dims)[0], EitherOf((*dims)[1], given), (*dims)[2], (*dims)[3]};
  const std::int64_t last = (*dims)[2];
  return {(*dims)[0], given, (*dims)[1], Known(last) ? last / given : kUnknownSize};
}

// Everything that is said of the heads of Q, K, V and the past.  REQUIRES: attention.C4.
struct AttentionGeometry {
  AttentionSizes q, k, v;
  std::int64_t past = 0, total = kUnknownSize;  // lengths
};

AttentionSizes AttentionPast(const Application& a, std::size_t i) {
  const Dims* dims = DimsOf(a.Input(i));
  if (dims == nullptr || dims->size() != 4) return {};
  return {(*dims)[0], (*dims)[1], (*dims)[2], (*dims)[3]};
}

AttentionGeometry AttentionGeometryOf(const Application& a) {
  AttentionGeometry g{AttentionSizesOf(a, kAttentionQ), AttentionSizesOf(a, kAttentionK),
                      AttentionSizesOf(a, kAttentionV)};
  const AttentionSizes past_k = AttentionPast(a, kAttentionPastK);
  const AttentionSizes past_v = AttentionPast(a, kAttentionPastV);
  std::int64_t batch = EitherOf(EitherOf(g.q.batch, g.k.batch), g.v.batch);
  batch = EitherOf(batch, EitherOf(past_k.batch, past_v.batch));
  g.q.batch = g.k.batch = g.v.batch = batch;
  g.k.count = EitherOf(EitherOf(g.k.count, g.v.count), EitherOf(past_k.count, past_v.count));
  g.v.count = g.k.count;
  g.q.size = g.k.size = EitherOf(EitherOf(g.q.size, g.k.size), past_k.size);
  g.v.size = EitherOf(g.v.size, past_v.size);
  g.k.length = g.v.length = EitherOf(g.k.length, g.v.length);
  if (a.Input(kAttentionPastK).given) g.past = EitherOf(past_k.length, past_v.length);
  g.total = SumOf(g.past, g.k.length);
  return g;
}

// attention.C4.
Result<void> AttentionSizesAgree(const Application& a) {
  const AttentionSizes q = AttentionSizesOf(a, kAttentionQ);
  const AttentionSizes k = AttentionSizesOf(a, kAttentionK);
  const AttentionSizes v = AttentionSizesOf(a, kAttentionV);
  const std::int64_t batch = EitherOf(q.batch, k.batch);
  const std::string heads = "heads of sizes ";
  if (Differ(q.batch, k.batch) || Differ(q.size, k.size)) {
    return BadInput(a, kAttentionK, heads + ShapeText(k.dims()),
                    "batch and head_size of Q, " + ShapeText(q.dims()));
  }
  if (Differ(v.batch, batch) || Differ(v.count, k.count) || Differ(v.length, k.length)) {
    return BadInput(a, kAttentionV, heads + ShapeText(v.dims()),
                    "batch, heads and length of K, " + ShapeText(k.dims()));
  }
  const std::int64_t count = EitherOf(k.count, v.count);
  if (!Known(q.count) || !Known(count) || q.count % count == 0) return {};
  return BadInput(a, kAttentionQ, std::to_string(q.count) + " heads",
                  "a multiple of those of K, " + std::to_string(count));
}

// attention.C5.
Result<void> AttentionPastFits(const Application& a) {
  if (a.Input(kAttentionPastK).given != a.Input(kAttentionPastV).given) {
    const std::size_t lone = a.Input(kAttentionPastK).given ? kAttentionPastK : kAttentionPastV;
    return BadInput(a, lone, "one alone", "past_key and past_value together");
  }
  const AttentionGeometry g = AttentionGeometryOf(a);
  for (const std::size_t i : {kAttentionPastK, kAttentionPastV}) {
    const Dims* dims = DimsOf(a.Input(i));
    Dims expected = (i == kAttentionPastK ? g.k : g.v).dims();
    expected[2] = g.past;
    if (dims == nullptr || !Differ(*dims, expected)) continue;
    return BadInput(a, i, "shape " + ShapeText(*dims), ShapeText(expected));
  }
  return {};
}

Dims AttentionScores(const AttentionGeometry& g) {
  return {g.q.batch, g.q.count, g.q.length, g.total};
}

// attention.C6. From opset 24 on the mask's last axis may be shorter than the keys.
Result<void> AttentionMaskFits(const Application& a) {
  const Dims* mask = DimsOf(a.Input(kAttentionMask));
  if (mask == nullptr) return {};
  const Dims scores = AttentionScores(AttentionGeometryOf(a));
  Dims covered = scores;
  if (a.opset >= 24 && !mask->empty() && (!Known(covered[3]) || mask->back() < covered[3])) {
    covered[3] = mask->back();
  }
  const auto both = BroadcastOf(*mask, covered);
  if (both.has_value() && !Differ(*both, covered)) return {};
  return BadInput(a, kAttentionMask, "shape " + ShapeText(*mask),
                  "one that broadcasts to " + ShapeText(scores) + " without enlarging it");
}

// attention.C7.
Result<void> AttentionKeysFit(const Application& a) {
  const ValueFacts& keys = a.Input(kAttentionKeys);
  if (!keys.given) return {};
  if (a.Input(kAttentionPastK).given)
    return Refuse(InputPlace(a, kAttentionKeys),
                  "is given beside past_key, expected one of the two");
  QTX_RETURN_IF_ERROR(InputTypes(kAttentionKeys, {ElementType::kInt64})(a));
  const AttentionGeometry g = AttentionGeometryOf(a);
  const Dims* dims = DimsOf(keys);
  if (dims != nullptr && Differ(*dims, {g.q.batch})) {
    return BadInput(a, kAttentionKeys, "shape " + ShapeText(*dims), ShapeText({g.q.batch}));
  }
  for (const std::int64_t count : IntegersOf(keys).value_or(std::vector<std::int64_t>())) {
    if (count >= 0 && (!Known(g.k.length) || count <= g.k.length)) continue;
    return BadInput(a, kAttentionKeys, std::to_string(count),
                    Known(g.k.length) ? "0 to " + std::to_string(g.k.length) + ", the length of K"
                                      : "at least 0");
  }
  return {};
}

// Y, present_key, present_value and the scores.
Result<NormShapes> ShapeOfAttention(const Application& a) {
  const AttentionGeometry g = AttentionGeometryOf(a);
  const auto rank = AttentionRank(a);
  std::optional<Dims> y;
  if (rank == 3) y = {g.q.batch, g.q.length, ProductOf(g.q.count, g.v.size)};
  if (rank == 4) y = {g.q.batch, g.q.count, g.q.length, g.v.size};
  return NormShapes{std::move(y), Dims{g.k.batch, g.k.count, g.total, g.k.size},
                    Dims{g.v.batch, g.v.count, g.total, g.v.size}, AttentionScores(g)};
}

// Keys and values pass on their types.
ElementType AttentionType(const Application& a, std::size_t output) {
  return a.Input(output == 1 || output == 2 ? output : 0).type;
}

OpSchema AttentionRow() {
  return {.op_type = "Attention",
          .inputs = {{"Q"},
                     {"K"},
                     {"V"},
                     {"attn_mask", true},
                     {"past_key", true},
                     {"past_value", true},
                     {"nonpad_kv_seqlen", true}},
          .outputs = {{"Y"},
                      {"present_key", true},
                      {"present_value", true},
                      {"qk_matmul_output", true}},
          .attributes = {{"is_causal", AttributeType::kInt, std::int64_t{0}},
                         {"kv_num_heads", AttributeType::kInt},
                         {"left_window_size", AttributeType::kInt, std::int64_t{-1}, false, 25},
                         {"q_num_heads", AttributeType::kInt},
                         {"qk_matmul_output_mode", AttributeType::kInt, std::int64_t{0}},
                         {"right_window_size", AttributeType::kInt, std::int64_t{-1}, false, 25},
                         {"scale", AttributeType::kFloat},
                         {"softcap", AttributeType::kFloat, 0.0F},
                         {"softmax_precision", AttributeType::kInt, std::int64_t{1}}},
          .checks = {{"attention.C1", AttentionTypes},
                     {"attention.C2", AttentionAttributes},
                     {"attention.C3", AttentionHeads},
                     {"attention.C4", AttentionSizesAgree},
                     {"attention.C5", AttentionPastFits},
                     {"attention.C6", AttentionMaskFits},
                     {"attention.C7", AttentionKeysFit},
                     {"attention.C9", AttentionWindows}},
          .shape = ShapeOfAttention,
          .shape_clause = "attention.C8",
          .type = AttentionType};
}

}  // namespace

void AddNormalizations(std::vector<OpSchema>& rows) {
  rows.push_back(BatchNormalizationRow());
  rows.push_back(InstanceNormalizationRow());
  rows.push_back(LayerNormalizationRow());
  rows.push_back(RMSNormalizationRow());
  rows.push_back(
      SoftmaxRow("Softmax", "softmax.C1", "softmax.C2", "softmax.C3", {ElementType::kDouble}));
  rows.push_back(SoftmaxRow("LogSoftmax", "log_softmax.C1", "log_softmax.C2", "log_softmax.C3",
                            {ElementType::kDouble}));
  rows.push_back(AttentionRow());
}

}  // namespace qtx::format::catalogue
