// Attention a second time: plain loops over rationals, and MPFR at 600 bits.
#pragma once

#include "unary_textbook.h"

namespace qtx::reference::testing {

using Reals = std::vector<mpq_class>;

struct Shape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, past = 0, size = 1,
               v_size = 1;
  bool flat = false;

  Dims Of(std::int64_t count, std::int64_t length, std::int64_t width) const {
    return flat ? Dims{batch, length, count * width} : Dims{batch, count, length, width};
  }
  std::size_t At(std::int64_t b, std::int64_t h, std::int64_t count, std::int64_t i,
                 std::int64_t length, std::int64_t d, std::int64_t width, bool layout) const {
    const std::int64_t row = layout ? (b * length + i) * count + h : (b * count + h) * length + i;
    return static_cast<std::size_t>(row * width + d);
  }
};

// One call: the tensors, what they stand for, and the options.
struct Problem {
  Shape s;
  Tensor q, k, v;
  std::optional<Tensor> past_k, past_v, mask;
  std::optional<float> scale;
  float softcap = 0;
  bool causal = false;

  std::vector<Attribute> Attributes() const {
    std::vector<Attribute> all = {
        Attribute::Int("q_num_heads", s.heads), Attribute::Int("kv_num_heads", s.kv_heads),
        Attribute::Int("is_causal", causal ? 1 : 0), Attribute::Float("softcap", softcap)};
    if (scale) all.push_back(Attribute::Float("scale", *scale));
    return all;
  }
  std::vector<const Tensor*> Inputs() const {
    const auto pointer = [](const std::optional<Tensor>& t) { return t ? &*t : nullptr; };
    return {&q, &k, &v, pointer(mask), pointer(past_k), pointer(past_v)};
  }
};

// The element d of key or value j, past ones first.
inline mpq_class Element(const Problem& p, const Reals& past, const Reals& now, std::int64_t b,
                         std::int64_t g, std::int64_t j, std::int64_t d, std::int64_t width) {
  const Shape& s = p.s;
  if (j < s.past) return past[s.At(b, g, s.kv_heads, j, s.past, d, width, false)];
  return now[s.At(b, g, s.kv_heads, j - s.past, s.keys, d, width, s.flat)];
}

// scale * product, capped, plus bias.
inline void SetScore(mpfr_ptr score, const Problem& p, const mpq_class& product,
                     const mpq_class& bias) {
  mpfr_set_q(score, product.get_mpq_t(), MPFR_RNDN);
  if (p.scale) {
    mpfr_mul_d(score, score, static_cast<double>(*p.scale), MPFR_RNDN);
  } else {
    Wide root(600);
    mpfr_sqrt_ui(root, static_cast<unsigned long>(p.s.size), MPFR_RNDN);
    mpfr_div(score, score, root, MPFR_RNDN);
  }
  if (p.softcap > 0) {
    mpfr_div_d(score, score, static_cast<double>(p.softcap), MPFR_RNDN);
    mpfr_tanh(score, score, MPFR_RNDN);
    mpfr_mul_d(score, score, static_cast<double>(p.softcap), MPFR_RNDN);
  }
  mpfr_add_q(score, score, bias.get_mpq_t(), MPFR_RNDN);
}

// Whether query i sees key j, and the bias: masks here are [queries, keys].
inline bool Sees(const Problem& p, std::int64_t i, std::int64_t j) {
  if (p.causal && j > i + p.s.past) return false;
  const std::int64_t at = i * (p.s.past + p.s.keys) + j;
  return !p.mask || p.mask->elem_type != ElementType::kBool ||
         p.mask->bytes[static_cast<std::size_t>(at)] != std::byte{0};
}
inline mpq_class Bias(const Problem& p, std::int64_t i, std::int64_t j) {
  if (!p.mask || p.mask->elem_type == ElementType::kBool) return 0;
  return TextbookReals(*p.mask)[static_cast<std::size_t>(i * (p.s.past + p.s.keys) + j)];
}

struct Unpacked {
  Reals q, k, v, past_k, past_v;
  explicit Unpacked(const Problem& p)
      : q(TextbookReals(p.q)), k(TextbookReals(p.k)), v(TextbookReals(p.v)) {
    if (p.past_k) past_k = TextbookReals(*p.past_k);
    if (p.past_v) past_v = TextbookReals(*p.past_v);
  }
};

// The query i of head h in batch b.
struct Query {
  std::int64_t b, h, i;
};

inline void SetScoreOf(mpfr_ptr score, const Problem& p, const Unpacked& u, const Query& at,
                       std::int64_t j) {
  const Shape& s = p.s;
  mpq_class product = 0;
  for (std::int64_t c = 0; c < s.size; ++c) {
    product += u.q[s.At(at.b, at.h, s.heads, at.i, s.queries, c, s.size, s.flat)] *
               Element(p, u.past_k, u.k, at.b, at.h / (s.heads / s.kv_heads), j, c, s.size);
  }
  SetScore(score, p, product, Bias(p, at.i, j));
}

// The key of the greatest score, -1 when none is seen.
inline std::int64_t Greatest(const Problem& p, const Unpacked& u, const Query& at,
                             mpfr_ptr greatest) {
  std::int64_t key = -1;
  Wide score(600);
  for (std::int64_t j = 0; j < p.s.past + p.s.keys; ++j) {
    if (!Sees(p, at.i, j)) continue;
    SetScoreOf(score, p, u, at, j);
    if (key >= 0 && mpfr_lessequal_p(score, greatest) != 0) continue;
    mpfr_set(greatest, score, MPFR_RNDN);
    key = j;
  }
  return key;
}

// One query's result: with w the weights relative to the greatest and v the value of its key,
// v + (sum of w_j (v_j - v)) / (sum of w_j), which is exact where all scores or all values are
// equal.
inline mpq_class Result600(const Problem& p, const Unpacked& u, const Query& at, std::int64_t d) {
  const std::int64_t g = at.h / (p.s.heads / p.s.kv_heads);
  Wide greatest(600), weight(600), sum(600), excess(600), term(600);
  const std::int64_t key = Greatest(p, u, at, greatest);
  if (key < 0) return 0;
  const mpq_class base = Element(p, u.past_v, u.v, at.b, g, key, d, p.s.v_size);
  mpfr_set_zero(sum, 1);
  mpfr_set_zero(excess, 1);
  for (std::int64_t j = 0; j < p.s.past + p.s.keys; ++j) {
    if (!Sees(p, at.i, j)) continue;
    SetScoreOf(weight, p, u, at, j);
    mpfr_sub(weight, weight, greatest, MPFR_RNDN);
    mpfr_exp(weight, weight, MPFR_RNDN);
    mpfr_add(sum, sum, weight, MPFR_RNDN);
    const mpq_class difference = Element(p, u.past_v, u.v, at.b, g, j, d, p.s.v_size) - base;
    mpfr_mul_q(term, weight, difference.get_mpq_t(), MPFR_RNDN);
    mpfr_add(excess, excess, term, MPFR_RNDN);
  }
  mpfr_div(excess, excess, sum, MPFR_RNDN);
  const mpfr_ptr value = excess;
  if (mpfr_zero_p(value) != 0) return base;
  mpq_class exact;
  if (mpfr_get_exp(value) < -3000) return base + mpq_class(mpfr_sgn(value), mpz_class(1) << 3000);
  mpfr_get_q(exact.get_mpq_t(), value);
  return base + exact;
}

inline Reals Textbook600(const Problem& p) {
  const Shape& s = p.s;
  const Unpacked u(p);
  Reals y(static_cast<std::size_t>(s.batch * s.heads * s.queries * s.v_size));
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      for (std::int64_t i = 0; i < s.queries; ++i) {
        for (std::int64_t d = 0; d < s.v_size; ++d) {
          y[s.At(b, h, s.heads, i, s.queries, d, s.v_size, s.flat)] = Result600(p, u, {b, h, i}, d);
        }
      }
    }
  }
  return y;
}

inline Problem RandomProblem(Random& random, std::uint32_t round) {
  Problem p;
  Shape& s = p.s;
  s.kv_heads = random.In(1, 2);
  s = {random.In(1, 2), s.kv_heads * random.In(1, 2), s.kv_heads,      random.In(1, 3),
       random.In(1, 5), round % 3 == 0 ? 2 : 0,       random.In(1, 5), random.In(1, 3),
       round % 2 == 0};
  const Dims k = s.Of(s.kv_heads, s.keys, s.size);
  const Dims v = s.Of(s.kv_heads, s.keys, s.v_size);
  p.q = random.Tensor8(s.Of(s.heads, s.queries, s.size), random.PerTensor());
  p.k = random.Tensor8(k, round % 4 == 1 ? random.PerAxis(1, k[1]) : random.PerTensor());
  Quantization blocked = random.PerAxis(1, (v[1] + 1) / 2);
  blocked.block_shape = {2};
  p.v = random.Tensor8(v, round % 4 == 2 ? blocked : random.PerTensor());
  if (s.past > 0) {
    p.past_k = random.Tensor8({s.batch, s.kv_heads, s.past, s.size}, random.PerTensor());
    p.past_v = random.Tensor8({s.batch, s.kv_heads, s.past, s.v_size}, random.PerTensor());
  }
  const Dims pairs = {s.queries, s.past + s.keys};
  if (round % 5 == 1) p.mask = random.Tensor8(pairs, random.PerTensor());
  if (round % 5 == 2) {
    Values bits;
    for (std::int64_t n = 0; n < pairs[0] * pairs[1]; ++n) bits.push_back(random.In(0, 1));
    p.mask = Stored(ElementType::kBool, pairs, bits);
  }
  if (round % 2 == 1) p.scale = static_cast<float>(random.In(0, 8)) / 8;
  if (round % 3 == 1) p.softcap = static_cast<float>(random.In(1, 9)) / 4;
  p.causal = round % 7 < 3;
  return p;
}

}  // namespace qtx::reference::testing
