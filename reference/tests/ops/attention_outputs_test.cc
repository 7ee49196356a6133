// attention.S8 and attention.S9: the outputs beside the result.
#include "attention_textbook.h"

namespace qtx::reference::testing {
namespace {

// All four outputs of a call, in arithmetic exact.
std::vector<Tensor> RunAll(const Problem& p, std::int64_t mode, const OutputType& scores) {
  format::Node node;
  node.op_type = "Attention";
  node.attributes = p.Attributes();
  node.attributes.push_back(Attribute::Int("qk_matmul_output_mode", mode));
  node.inputs = {"q", "k", "v", "mask", "past_key", "past_value"};
  node.outputs = {"y", "present_key", "present_value", "scores"};
  const std::vector<const Tensor*> inputs = p.Inputs();
  const OutputType key = Type(p.k.elem_type, *p.k.quantization);
  const OutputType real = FloatType();
  const std::vector<OutputType> outputs = {real, key, real, scores};
  Counters counters;
  const Call call{.node = node,
                  .arithmetic = **FindArithmetic("exact"),
                  .opset = 24,
                  .inputs = inputs,
                  .outputs = outputs,
                  .counters = &counters};
  auto results = RunOperator(*FindOperator("", "Attention"), call);
  EXPECT_TRUE(results.has_value());
  return results.has_value() ? *std::move(results) : std::vector<Tensor>(4);
}

// The stages of attention.S9: scores by their formula, shares as the result for values of 0 and 1.
TEST(Attention, ShowsItsScores) {
  Random random(86);
  for (std::uint32_t round = 0; round < 80; ++round) {
    Problem p = RandomProblem(random, round);
    p.k.quantization->axis = {};
    p.k.quantization->scale.resize(1);
    const auto mode = static_cast<std::int64_t>(round % 4);
    const OutputType type = Type(ElementType::kInt16Q, Q({mode == 3 ? 0x1.1p-15F : 0x1.1p-6F}));
    const Tensor scores = RunAll(p, mode, type)[3];
    Problem shown = p;  // mode by mode without what comes later
    if (mode == 0) shown.softcap = 0;
    if (mode < 2) shown.mask = std::nullopt;
    const Unpacked u(shown);
    Reals expected;
    const std::int64_t total = p.s.past + p.s.keys;
    for (std::int64_t n = 0; n < format::ElementCount(scores); ++n) {
      const std::int64_t j = n % total, row = n / total, i = row % p.s.queries;
      const Query at = {row / p.s.queries / p.s.heads, row / p.s.queries % p.s.heads, i};
      Wide score(600), greatest(600), sum(600);
      SetScoreOf(score, shown, u, at, j);
      if (mode == 2 && !Sees(p, i, j)) mpfr_set_si(score, -1000000, MPFR_RNDN);
      if (mode == 3) {
        mpfr_set_zero(sum, 1);
        const bool any = Greatest(p, u, at, greatest) >= 0;
        for (std::int64_t other = 0; any && other < total; ++other) {
          Wide weight(600);
          SetScoreOf(weight, p, u, at, other);
          mpfr_sub(weight, weight, greatest, MPFR_RNDN);
          mpfr_exp(weight, weight, MPFR_RNDN);
          if (Sees(p, i, other)) mpfr_add(sum, sum, weight, MPFR_RNDN);
          if (other == j) mpfr_set(score, weight, MPFR_RNDN);
        }
        mpfr_div(score, score, sum, MPFR_RNDN);
        if (!any || !Sees(p, i, j)) mpfr_set_zero(score, 1);
      }
      expected.emplace_back();
      mpfr_get_q(expected.back().get_mpq_t(), score);
    }
    ASSERT_EQ(format::UnpackIntegers(scores), TextbookStored(expected, type, scores.dims)) << round;
  }
}

// Past keys are moved in front, keys after them, to [batch, heads, length, size].
TEST(Attention, KeepsWhatIsPresent) {
  Random random(87);
  for (std::uint32_t round = 0; round < 60; round += 3) {  // those with a past
    Problem p = RandomProblem(random, round);
    p.k = random.Tensor8(p.k.dims, Q({0.5F}));
    p.past_k->quantization = Q({0.25F});
    const std::vector<Tensor> results = RunAll(p, 0, FloatType());
    const Unpacked u(p);
    Reals keys, values;
    const Shape& s = p.s;
    for (std::int64_t row = 0; row < s.batch * s.kv_heads * (s.past + s.keys); ++row) {
      const std::int64_t j = row % (s.past + s.keys), head = row / (s.past + s.keys);
      const std::int64_t b = head / s.kv_heads, g = head % s.kv_heads;
      for (std::int64_t d = 0; d < s.size; ++d) {
        keys.push_back(Element(p, u.past_k, u.k, b, g, j, d, s.size));
      }
      for (std::int64_t d = 0; d < s.v_size; ++d) {
        values.push_back(Element(p, u.past_v, u.v, b, g, j, d, s.v_size));
      }
    }
    const OutputType type = Int8Type(Q({0.5F}));
    EXPECT_EQ(results[1].dims, (Dims{s.batch, s.kv_heads, s.past + s.keys, s.size}));
    EXPECT_EQ(format::UnpackIntegers(results[1]), TextbookStored(keys, type, results[1].dims));
    EXPECT_EQ(TextbookReals(results[2]), values);
  }
}

}  // namespace
}  // namespace qtx::reference::testing
