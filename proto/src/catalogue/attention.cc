// Attention.
// Source: spec/ops/attention.md.
#include <algorithm>
#include <utility>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

using AttentionShapes = std::vector<std::optional<Dims>>;

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
Result<AttentionShapes> ShapeOfAttention(const Application& a) {
  const AttentionGeometry g = AttentionGeometryOf(a);
  const auto rank = AttentionRank(a);
  std::optional<Dims> y;
  if (rank == 3) y = {g.q.batch, g.q.length, ProductOf(g.q.count, g.v.size)};
  if (rank == 4) y = {g.q.batch, g.q.count, g.q.length, g.v.size};
  return AttentionShapes{std::move(y), Dims{g.k.batch, g.k.count, g.total, g.k.size},
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

void AddAttention(std::vector<OpSchema>& rows) { rows.push_back(AttentionRow()); }

}  // namespace qtx::format::catalogue
