// The shapes of inputs of operators whose node would seldom be accepted if its row alone drew it.
#include <algorithm>
#include <array>

#include "fuzz_maker.h"

namespace qtx::conformance {
namespace {

using format::Dims;

void Gemm(Maker& m) {
  const Dims a = m.Value(2, 2);
  const bool a_transposed = m.Chance(25);
  const bool b_transposed = m.Chance(50);
  m.Int("transA", a_transposed ? 1 : 0);
  m.Int("transB", b_transposed ? 1 : 0);
  const std::int64_t k = a[a_transposed ? 0 : 1];
  const std::int64_t n = m.Size(33);
  const std::int64_t channels = b_transposed ? 0 : 1;
  m.New(b_transposed ? Dims{n, k} : Dims{k, n}, channels, true);
  m.Bias(0, 1, channels, n);
}

void MatMul(Maker& m) {
  const Dims a = m.Value(2, 4);
  Dims b = {a.back(), m.Size(33)};
  if (a.size() > 2 && m.Chance(40)) {
    const Dims batch = m.BroadcastTo(Dims(a.begin(), a.end() - 2));
    b.insert(b.begin(), batch.begin(), batch.end());
  }
  const auto rank = std::ssize(b);
  m.New(b, m.Between(rank - 2, rank - 1), m.Chance(75));
}

struct ConvShape {
  Dims kernel;
  std::int64_t groups = 1;
  std::int64_t filters = 1;  // of each group
};

ConvShape ConvShapeFor(Maker& m, const Dims& x) {
  ConvShape shape;
  for (std::size_t i = 2; i < x.size(); ++i) {
    shape.kernel.push_back(m.Between(1, std::min<std::int64_t>(x[i], 4)));
  }
  if (m.Chance(30)) shape.groups = std::max<std::int64_t>(x[1], 1);  // depthwise
  if (m.Chance(15) && x[1] > 0 && x[1] % 2 == 0) shape.groups = 2;
  shape.filters = m.Chance(30) ? 1 : m.Size(shape.groups > 4 ? 2 : 17);
  m.Int("group", shape.groups);
  return shape;
}

Dims Joined(Dims first, const Dims& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void Conv(Maker& m) {
  const Dims x = m.Value(3, 4);
  const ConvShape shape = ConvShapeFor(m, x);
  const std::int64_t channels = shape.groups * shape.filters;
  m.New(Joined({channels, x[1] / shape.groups}, shape.kernel), 0, m.Chance(90));
  m.Bias(0, 1, 0, channels);
}

void ConvTranspose(Maker& m) {
  const Dims x = m.Value(3, 4);
  const ConvShape shape = ConvShapeFor(m, x);
  m.New(Joined({x[1], shape.filters}, shape.kernel), 1, true);
  m.Bias(0, 1, 1, shape.groups * shape.filters);
}

void ConvInteger(Maker& m) {
  const Dims x = m.Value(3, 4);
  const ConvShape shape = ConvShapeFor(m, x);
  m.New(Joined({shape.groups * shape.filters, x[1] / shape.groups}, shape.kernel), {}, true);
}

void QLinearConv(Maker& m) {
  const Dims x = m.Value(3, 4);
  m.Scales({}, 1);
  m.New({}, {}, true);
  const ConvShape shape = ConvShapeFor(m, x);
  const std::int64_t channels = shape.groups * shape.filters;
  m.New(Joined({channels, x[1] / shape.groups}, shape.kernel), {}, true);
  const Dims of_w = m.Chance(40) ? Dims{channels} : Dims{};
  m.Scales(of_w, 1);
  m.New(of_w, {}, true);
  m.Scales({}, 32);
}

void QLinearMatMul(Maker& m) {
  const Dims a = m.Value(2, 3);
  m.Scales({}, 1);
  m.New({}, {}, true);
  const std::int64_t n = m.Size(33);
  m.New({a.back(), n}, {}, m.Chance(80));
  const Dims of_b = m.Chance(40) ? Dims{n} : Dims{};
  m.Scales(of_b, 1);
  m.New(of_b, {}, true);
  m.Scales({}, 64);
}

// Scalar parameters, per axis, or in blocks where the opset has them.
void Linear(Maker& m) {
  const Dims x = m.Value(0, 4);
  if (x.empty() || m.Chance(55)) return m.Scales({}, 1);
  const std::int64_t rank = std::ssize(x);
  const std::int64_t axis = m.Between(0, rank - 1);
  const std::int64_t size = x[static_cast<std::size_t>(axis)];
  m.Int("axis", m.Chance(70) ? axis : axis - rank);
  if (!m.Has("block_size") || size < 2 || m.Chance(60)) return m.Scales({size}, 1);
  const std::int64_t block = m.Between(2, std::min<std::int64_t>(size, 16));
  m.Int("block_size", block);
  Dims blocks = x;
  blocks[static_cast<std::size_t>(axis)] = (size + block - 1) / block;
  m.Scales(blocks, 1);
}

void Slice(Maker& m) {
  const Dims x = m.Value(1, 4);
  std::vector<std::int64_t> axes, starts, ends, steps;
  const std::int64_t rank = std::ssize(x);
  for (std::int64_t i = 0; i < rank; ++i) {
    if (rank > 1 && m.Chance(50)) continue;
    const std::int64_t size = x[static_cast<std::size_t>(i)];
    const bool backwards = m.Chance(25);
    axes.push_back(m.Chance(30) ? i - rank : i);
    starts.push_back(backwards ? size - 1 : m.Between(0, (size - 1) / 2));
    ends.push_back(backwards ? -size - 1 : (m.Chance(50) ? size : size + 100));
    steps.push_back(m.Between(1, 3) * (backwards ? -1 : 1));
  }
  for (const auto& list : {starts, ends, axes, steps}) m.Int64s(list);
}

void Split(Maker& m) {
  const Dims x = m.Value(1, 4);
  const std::int64_t axis = m.Between(0, std::ssize(x) - 1);
  const std::int64_t size = x[static_cast<std::size_t>(axis)];
  const std::int64_t first = m.Between(0, size);
  m.Int("axis", axis);
  m.Outputs(2);
  if (m.Has("num_outputs") && m.Chance(40)) {
    m.Int("num_outputs", 2);
    m.Absent();
  } else {
    m.Int64s({first, size - first});
  }
}

void Resize(Maker& m) {
  const Dims x = m.Value(1, 4);
  m.Absent();  // roi
  Dims sizes;
  for (const std::int64_t size : x) sizes.push_back(m.Chance(50) ? size : m.Size(9));
  if (m.Chance(50)) {
    m.Absent();
    m.Int64s(sizes);
  } else {
    m.Scales({std::ssize(x)}, 8);
  }
}

// Two spatial axes, which every opset has.
void GridSample(Maker& m) {
  const Dims x = {m.Between(1, 2), m.Between(1, 3), m.Size(5), m.Size(5)};
  m.New(x, 1, false);
  m.New({x[0], m.Between(1, 4), m.Between(1, 4), 2}, {}, m.Chance(50));
  if (m.Chance(50)) m.String("padding_mode", m.Chance(50) ? "border" : "reflection");
  if (m.Chance(50)) m.String("mode", "nearest");
}

// Boxes of classes, and how many to select.
void NonMaxSuppression(Maker& m) {
  const std::int64_t images = m.Between(1, 2), boxes = m.Between(1, 9);
  m.New({images, boxes, 4}, {}, m.Chance(30));
  m.New({images, m.Between(1, 3), boxes}, {}, m.Chance(30));
  m.Int64s({m.Between(0, 9)});
  if (m.Chance(50)) m.Scales({1}, 0.5F);
}

// Both forms: [batch, heads, length, size], and [batch, length, heads * size].
void Attention(Maker& m) {
  const std::int64_t batch = m.Between(1, 2), groups = m.Between(1, 3), heads = m.Between(1, 2);
  const std::int64_t size = m.Size(9), queries = m.Size(7), keys = m.Size(9);
  const bool flat = m.Chance(30);
  const auto shape = [&](std::int64_t count, std::int64_t length, std::int64_t each) {
    return flat ? Dims{batch, length, count * each} : Dims{batch, count, length, each};
  };
  if (flat) {
    m.Int("q_num_heads", groups * heads);
    m.Int("kv_num_heads", heads);
  }
  m.New(shape(groups * heads, queries, size), {}, false);
  m.New(shape(heads, keys, size), {}, m.Chance(30));
  m.New(shape(heads, keys, m.Chance(70) ? size : m.Size(9)), {}, m.Chance(30));
  if (m.Chance(40)) m.New(m.BroadcastTo({batch, groups * heads, queries, keys}), {}, m.Chance(50));
}

void Recurrent(Maker& m, std::int64_t gates) {
  // Few steps: the exact reals of each are those of the one before, which takes time.
  const Dims x = m.New({m.Between(1, 3), m.Between(1, 3), m.Size(9)}, {}, false);
  const std::int64_t hidden = m.Size(3);
  const std::int64_t directions = m.Chance(30) ? 2 : 1;
  m.Int("hidden_size", hidden);
  if (directions == 2) m.String("direction", "bidirectional");
  m.New({directions, gates * hidden, x[2]}, 0, true);
  m.New({directions, gates * hidden, hidden}, 0, true);
  if (m.Chance(50)) return;
  m.New({directions, 2 * gates * hidden}, {}, true);
  m.Absent();  // sequence_lens
  if (m.Chance(50)) m.New({directions, x[1], hidden}, {}, m.Chance(50));
}
void Gru(Maker& m) { Recurrent(m, 3); }
void Lstm(Maker& m) { Recurrent(m, 4); }

// The result's scale and zero point, then each tensor with its own.
void QLinearConcat(Maker& m) {
  const std::int64_t tensors = m.Between(1, 3);
  m.Inputs(static_cast<std::size_t>(2 + 3 * tensors));
  m.Scales({}, 4);
  m.New({}, {}, true);
  Dims x = m.Value(1, 4);
  const std::int64_t axis = m.Between(0, std::ssize(x) - 1);
  m.Int("axis", axis);
  for (std::int64_t i = 1;; ++i) {
    m.Scales({}, 1);
    m.New({}, {}, true);
    if (i == tensors) return;
    x[static_cast<std::size_t>(axis)] = m.Size(9);
    m.New(x, {}, m.Chance(30));
  }
}

void ConstantOfShape(Maker& m) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t rank = m.Between(0, 3); rank > 0; --rank) sizes.push_back(m.Between(0, 9));
  m.Int64s(sizes);
}

// Of rank 4, by angles of each position.
void RotaryEmbedding(Maker& m) {
  const Dims x = {m.Between(1, 2), m.Between(1, 3), m.Between(1, 5), 2 * m.Between(1, 5)};
  m.New(x, {}, false);
  for (int cache = 0; cache < 2; ++cache) m.New({x[0], x[2], x[3] / 2}, {}, m.Chance(50));
}

struct RecipeEntry {
  std::string_view op_type;
  FuzzRecipe recipe;
};
constexpr RecipeEntry kRecipes[] = {{"Attention", Attention},
                                    {"ConstantOfShape", ConstantOfShape},
                                    {"Conv", Conv},
                                    {"ConvInteger", ConvInteger},
                                    {"ConvTranspose", ConvTranspose},
                                    {"DequantizeLinear", Linear},
                                    {"GRU", Gru},
                                    {"Gemm", Gemm},
                                    {"GridSample", GridSample},
                                    {"LSTM", Lstm},
                                    {"MatMul", MatMul},
                                    {"MatMulInteger", MatMul},
                                    {"NonMaxSuppression", NonMaxSuppression},
                                    {"QLinearConcat", QLinearConcat},
                                    {"QLinearConv", QLinearConv},
                                    {"QLinearMatMul", QLinearMatMul},
                                    {"QuantizeLinear", Linear},
                                    {"Resize", Resize},
                                    {"RotaryEmbedding", RotaryEmbedding},
                                    {"Slice", Slice},
                                    {"Split", Split}};

}  // namespace

FuzzRecipe FindFuzzRecipe(std::string_view op_type) {
  const auto* found = std::ranges::find(kRecipes, op_type, &RecipeEntry::op_type);
  return found == std::end(kRecipes) ? nullptr : found->recipe;
}

}  // namespace qtx::conformance
