// RotaryEmbedding.
// Source: spec/ops/rotary_embedding.md.
#include "rules.h"

namespace qtx::format::catalogue {
namespace {

constexpr TypeSet kRotaryPositions = {ElementType::kInt64};

// rotary_embedding.C2.
Result<void> RotaryHeads(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return {};
  if (x->size() == 4) return {};
  if (x->size() != 3) return BadInput(a, 0, "shape " + ShapeText(*x), "rank 3 or 4");
  const Attribute* heads = a.Find("num_heads");
  if (heads == nullptr) return Refuse("attribute 'num_heads'", "is required: x has rank 3");
  QTX_RETURN_IF_ERROR(IntWithin("num_heads", 1, INT64_MAX)(a));
  if (!Known(x->back()) || x->back() % heads->i == 0) return {};
  return BadInput(a, 0, "shape " + ShapeText(*x),
                  "a last size that " + std::to_string(heads->i) + " heads share");
}

// Of a head; kUnknownSize where it is not known.  REQUIRES: rotary_embedding.C2.
std::int64_t RotaryHeadSize(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr || !Known(x->back())) return kUnknownSize;
  return x->size() == 4 ? x->back() : x->back() / a.Int("num_heads");
}

// How many elements of a head are turned.
std::int64_t RotarySize(const Application& a) {
  const std::int64_t given = a.Int("rotary_embedding_dim");
  return given == 0 ? RotaryHeadSize(a) : given;
}

// rotary_embedding.C3.
Result<void> RotaryAttributes(const Application& a) {
  QTX_RETURN_IF_ERROR(IntWithin("interleaved", 0, 1)(a));
  const std::int64_t size = RotaryHeadSize(a);
  QTX_RETURN_IF_ERROR(IntWithin("rotary_embedding_dim", 0, Known(size) ? size : INT64_MAX)(a));
  const std::int64_t rotated = RotarySize(a);
  if (!Known(rotated) || rotated % 2 == 0) return {};
  if (a.Int("rotary_embedding_dim") == 0) {
    return BadInput(a, 0, "heads of size " + std::to_string(rotated), "an even size");
  }
  return BadAttribute("rotary_embedding_dim", std::to_string(rotated), "an even number");
}

// [batch, length] of x.
Dims RotaryTokens(const Dims& x) { return {x[0], x[x.size() - 2]}; }

// rotary_embedding.C4.
Result<void> RotaryCaches(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  Dims expected = {kUnknownSize};
  if (!a.Input(3).given) {
    expected = x != nullptr ? RotaryTokens(*x) : Dims{kUnknownSize, kUnknownSize};
  }
  const std::int64_t rotated = RotarySize(a);
  expected.push_back(Known(rotated) ? rotated / 2 : kUnknownSize);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const Dims* cache = DimsOf(a.Input(i));
    if (cache == nullptr) continue;
    if (cache->size() != expected.size() || Differ(*cache, expected)) {
      return BadInput(a, i, "shape " + ShapeText(*cache), ShapeText(expected));
    }
  }
  const Dims* cos = DimsOf(a.Input(1));
  const Dims* sin = DimsOf(a.Input(2));
  if (cos == nullptr || sin == nullptr || !Differ(*cos, *sin)) return {};
  return BadInput(a, 2, "shape " + ShapeText(*sin), "that of cos_cache, " + ShapeText(*cos));
}

// rotary_embedding.C5.
Result<void> RotaryPositions(const Application& a) {
  if (!a.Input(3).given) return {};
  QTX_RETURN_IF_ERROR(InputTypes(3, kRotaryPositions)(a));
  QTX_RETURN_IF_ERROR(RankIs(3, 2)(a));
  const Dims* x = DimsOf(a.Input(0));
  const Dims* positions = DimsOf(a.Input(3));
  if (x == nullptr || positions == nullptr || !Differ(*positions, RotaryTokens(*x))) return {};
  return BadInput(a, 3, "shape " + ShapeText(*positions), ShapeText(RotaryTokens(*x)));
}

// rotary_embedding.C6, of constants.
Result<void> RotaryRows(const Application& a) {
  if (!a.Input(3).given) return {};
  const Dims* cos = DimsOf(a.Input(1));
  const std::int64_t rows = cos != nullptr ? cos->front() : kUnknownSize;
  const auto position = FindInteger(a.Input(3), [rows](std::int64_t value) {
    return value < 0 || (Known(rows) && value >= rows);
  });
  if (!position) return {};
  return BadInput(a, 3, "position " + std::to_string(*position),
                  Known(rows) ? "0 to " + std::to_string(rows - 1) : "at least 0");
}

}  // namespace

void AddRotaryEmbedding(std::vector<OpSchema>& rows) {
  rows.push_back({.op_type = "RotaryEmbedding",
                  .inputs = {{"x"}, {"cos_cache"}, {"sin_cache"}, {"position_ids", true}},
                  .outputs = {{"y"}},
                  .attributes = {{"interleaved", AttributeType::kInt, std::int64_t{0}},
                                 {"num_heads", AttributeType::kInt},
                                 {"rotary_embedding_dim", AttributeType::kInt, std::int64_t{0}}},
                  .checks = {{"rotary_embedding.C1", RealOrOne({0, 1, 2}, {0}, {})},
                             {"rotary_embedding.C2", RotaryHeads},
                             {"rotary_embedding.C3", RotaryAttributes},
                             {"rotary_embedding.C4", RotaryCaches},
                             {"rotary_embedding.C5", RotaryPositions},
                             {"rotary_embedding.C6", RotaryRows}},
                  .shape = ShapeOfFirst,
                  .shape_clause = "rotary_embedding.C7"});
}

}  // namespace qtx::format::catalogue
