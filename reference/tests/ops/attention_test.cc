// attention.S1 to attention.S11 against plain loops of 600 bits, and of binary32.
#include "unary_textbook.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using Reals = std::vector<mpq_class>;

const float kInfinity = std::numeric_limits<float>::infinity();

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
mpq_class Element(const Problem& p, const Reals& past, const Reals& now, std::int64_t b,
                  std::int64_t g, std::int64_t j, std::int64_t d, std::int64_t width) {
  const Shape& s = p.s;
  if (j < s.past) return past[s.At(b, g, s.kv_heads, j, s.past, d, width, false)];
  return now[s.At(b, g, s.kv_heads, j - s.past, s.keys, d, width, s.flat)];
}

// scale * product, capped, plus bias.
void SetScore(mpfr_ptr score, const Problem& p, const mpq_class& product, const mpq_class& bias) {
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
bool Sees(const Problem& p, std::int64_t i, std::int64_t j) {
  if (p.causal && j > i + p.s.past) return false;
  const std::int64_t at = i * (p.s.past + p.s.keys) + j;
  return !p.mask || p.mask->elem_type != ElementType::kBool ||
         p.mask->bytes[static_cast<std::size_t>(at)] != std::byte{0};
}
mpq_class Bias(const Problem& p, std::int64_t i, std::int64_t j) {
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

void SetScoreOf(mpfr_ptr score, const Problem& p, const Unpacked& u, const Query& at,
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
std::int64_t Greatest(const Problem& p, const Unpacked& u, const Query& at, mpfr_ptr greatest) {
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
mpq_class Result600(const Problem& p, const Unpacked& u, const Query& at, std::int64_t d) {
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

Reals Textbook600(const Problem& p) {
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

void ExpectTextbook600(const Problem& p, const OutputType& type) {
  const Dims dims = p.s.Of(p.s.heads, p.s.queries, p.s.v_size);
  ASSERT_EQ(Integers({"Attention", p.Attributes(), p.Inputs(), type}),
            TextbookStored(Textbook600(p), type, dims));
}

Problem RandomProblem(Random& random, std::uint32_t round) {
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

TEST(Attention, EqualsSixHundredBitsOnRandomCalls) {
  Random random(81);
  for (std::uint32_t round = 0; round < 210; ++round) {
    const Problem p = RandomProblem(random, round);
    const OutputType wide = Type(ElementType::kInt16Q, Q({0x1.3p-9F}, {-5}));
    ExpectTextbook600(p, round % 2 == 0 ? Int8Type(random.PerTensor()) : wide);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

// Small values on a coarse grid: ties in most rows.
TEST(Attention, DecidesTies) {
  Random random(82);
  for (std::uint32_t round = 0; round < 150; ++round) {
    Problem p = RandomProblem(random, round);
    Values values(p.v.bytes.size());
    for (std::int64_t& value : values) value = round % 2 == 0 ? 3 : random.In(1, 2);
    p.v = Int8(p.v.dims, values, Q({0.5F}));
    if (p.past_v) p.past_v = Int8(p.past_v->dims, Values(p.past_v->bytes.size(), 3), Q({0.5F}));
    if (round % 3 != 0) p.q = Int8(p.q.dims, Values(p.q.bytes.size(), 4), Q({1.0F}, {4}));
    ExpectTextbook600(p, Int8Type(Q({1.0F}, {3})));
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(Attention, HoldsAtExtremeScales) {
  Random random(83);
  for (std::uint32_t round = 0; round < 80; ++round) {
    Problem p = RandomProblem(random, round);
    const float tiny = round % 2 == 0 ? 0x1p-140F : 0x1p-126F;
    p.q.quantization->scale = {round % 4 < 2 ? tiny : 0x1p120F};
    if (round % 3 == 0) p.k = Int8(p.k.dims, format::UnpackIntegers(p.k), Q({0x1p-122F}));
    p.v = Int8(p.v.dims, format::UnpackIntegers(p.v), Q({round % 2 == 0 ? tiny : 0x1p120F}));
    p.past_k = p.past_v = std::nullopt;
    p.s.past = 0;
    p.mask = std::nullopt;
    ExpectTextbook600(p, Int8Type(Q({round % 2 == 0 ? tiny * 2 : 0x1.8p120F}, {1})));
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

// Every result lies within e^-5000 of a tie: the side decides, not 7000 bits.
TEST(Attention, DecidesNextToTiesByTheSign) {
  const std::int64_t n = 64;
  Values scores(static_cast<std::size_t>(n), -100);
  Values values(static_cast<std::size_t>(n * n), 7);
  scores[0] = 0;
  for (std::int64_t d = 0; d < n; ++d) values[static_cast<std::size_t>(d)] = 5;
  const Tensor q = Int8({1, 1, n, 1}, Values(static_cast<std::size_t>(n), 1), Q({50.0F}));
  const Tensor k = Int8({1, 1, n, 1}, scores, Q({1.0F}));
  const Tensor v = Int8({1, 1, n, n}, values, Q({0.5F}));
  EXPECT_EQ(Integers({"Attention", {}, {&q, &k, &v}, Int8Type(Q({1.0F}))}),
            Values(static_cast<std::size_t>(n * n), 3));
}

TEST(Attention, RoundsToBinary32Once) {
  Random random(84);
  for (std::uint32_t round = 0; round < 60; ++round) {
    const Problem p = RandomProblem(random, round);
    const Reals exact = Textbook600(p);
    std::vector<float> expected;
    for (const mpq_class& y : exact) expected.push_back(TextbookFloat(y));
    ASSERT_EQ(Floats({"Attention", p.Attributes(), p.Inputs(), FloatType()}), expected) << round;
  }
}

// attention.S10, on [1, 1, length, size].
TEST(Attention, IsOneOperationOfBinary32AtATime) {
  Random random(85);
  const auto numbers = [&random](std::size_t count) {
    std::vector<float> all(count);
    for (float& x : all) x = static_cast<float>(random.In(-4000, 4000)) / 1009.0F;
    return all;
  };
  for (int round = 0; round < 100; ++round) {
    const std::vector<float> qs = numbers(3), ks = numbers(15), vs = numbers(5), bs = numbers(5);
    const Tensor q = Float({1, 1, 1, 3}, qs), k = Float({1, 1, 5, 3}, ks);
    const Tensor v = Float({1, 1, 5, 1}, vs), mask = Float({1, 5}, bs);
    const float root = std::sqrt(1.0F / std::sqrt(3.0F));
    std::vector<float> scores(5);
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t d = 0; d < 3; ++d) scores[j] += (qs[d] * root) * (ks[3 * j + d] * root);
      const MpfrFunction tanh = [](mpfr_ptr x) { mpfr_tanh(x, x, MPFR_RNDN); };
      scores[j] = TextbookFloat(tanh, scores[j] / 3.0F) * 3.0F + bs[j];
    }
    const float maximum = *std::max_element(scores.begin(), scores.end());
    float total = 0, y = 0;
    const MpfrFunction exp = [](mpfr_ptr x) { mpfr_exp(x, x, MPFR_RNDN); };
    for (float& score : scores) total += (score = TextbookFloat(exp, score - maximum));
    for (std::size_t j = 0; j < 5; ++j) y += scores[j] / total * vs[j];
    OpRun run{"Attention", {Attribute::Float("softcap", 3)}, {&q, &k, &v, &mask}, FloatType()};
    run.arithmetic = "float32";
    ASSERT_THAT(Floats(run), ElementsAre(y)) << round;
  }
}

// A cap brings an infinite product back; without one the row is NaN, hidden or not.
TEST(Attention, FollowsIeeeAtInfinity) {
  const Tensor q = Float({1, 1, 1, 1}, {1});
  const Tensor k = Float({1, 1, 2, 1}, {0, kInfinity});
  const Tensor v = Float({1, 1, 2, 1}, {0, 100});
  const Tensor both = Float({1, 2}, {-kInfinity, -kInfinity});
  for (const char* arithmetic : {"exact", "float32"}) {
    OpRun run{"Attention", {Attribute::Float("softcap", 1)}, {&q, &k, &v}, FloatType()};
    run.arithmetic = arithmetic;
    EXPECT_NEAR(Floats(run)[0], 73.10586F, 1e-4F);
    run.attributes.clear();
    EXPECT_TRUE(std::isnan(Floats(run)[0]));
    run.inputs.push_back(&both);
    EXPECT_THAT(Floats(run), ElementsAre(0.0F));
  }
}

TEST(Attention, GivesNothingForNoQueriesAndZeroForNoKeys) {
  const Tensor none = Int8({1, 1, 0, 2}, {}, Q({1.0F}));
  const Tensor two = Int8({1, 1, 1, 2}, {1, 2}, Q({1.0F}));
  EXPECT_EQ(Integers({"Attention", {}, {&none, &two, &two}, Int8Type(Q({1.0F}))}), Values{});
  EXPECT_EQ(Integers({"Attention", {}, {&two, &none, &none}, Int8Type(Q({1.0F}, {7}))}),
            (Values{7, 7}));
}

}  // namespace
}  // namespace qtx::reference::testing
