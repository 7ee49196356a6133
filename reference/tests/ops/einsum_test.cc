// Einsum and RotaryEmbedding against GMP rationals: einsum.S1 to einsum.S5, rotary_embedding.S1.
#include <map>

#include "moving.h"

namespace qtx::reference::testing::einsum_test {
namespace {

using ::testing::ElementsAre;

// Every assignment of places to the letters of the terms, each adding its product to its element.
std::vector<mpq_class> Textbook(const std::vector<std::string>& terms, const std::string& result,
                                const std::vector<std::vector<mpq_class>>& reals,
                                const std::map<char, std::int64_t>& sizes) {
  const auto flat = [&sizes](const std::string& term, const std::map<char, std::int64_t>& at) {
    std::int64_t element = 0;
    for (const char letter : term) element = element * sizes.at(letter) + at.at(letter);
    return static_cast<std::size_t>(element);
  };
  std::int64_t elements = 1, all = 1;
  for (const char letter : result) elements *= sizes.at(letter);
  for (const auto& [letter, size] : sizes) all *= size;
  std::vector<mpq_class> sums(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < all; ++i) {
    std::map<char, std::int64_t> at;
    std::int64_t left = i;
    for (const auto& [letter, size] : sizes) {
      at[letter] = left % size;
      left /= size;
    }
    mpq_class product = 1;
    for (std::size_t k = 0; k < terms.size(); ++k) product *= reals[k][flat(terms[k], at)];
    sums[flat(result, at)] += product;
  }
  return sums;
}

TEST(Einsum, EqualsRationalSumsRoundedOnce) {
  Random random(1);
  const std::vector<std::pair<std::vector<std::string>, std::string>> equations = {
      {{"ij", "jk"}, "ik"}, {{"ij", "kj"}, "ki"},    {{"ii", "i"}, ""},
      {{"ij"}, "j"},        {{"bij", "bjk"}, "b"},   {{"i", "j", "ik"}, "kij"},
      {{"iji"}, "ij"},      {{"ab", "b", "ba"}, "a"}};
  for (int round = 0; round < 240; ++round) {
    const auto& [terms, result] = equations[static_cast<std::size_t>(round) % equations.size()];
    std::map<char, std::int64_t> sizes;
    std::string equation;
    for (const std::string& term : terms) {
      for (const char letter : term) sizes.emplace(letter, random.In(1, 3));
      equation += (equation.empty() ? "" : ",") + term;
    }
    const auto dims_of = [&sizes](const std::string& term) {
      Dims dims;
      for (const char letter : term) dims.push_back(sizes.at(letter));
      return dims;
    };
    std::vector<Tensor> tensors;
    std::vector<std::vector<mpq_class>> reals;
    for (const std::string& term : terms) {
      const Dims dims = dims_of(term);
      tensors.push_back(random.Tensor8(dims, AnyGranularity(random, dims)));
      reals.push_back(TextbookReals(tensors.back()));
    }
    const Dims dims = dims_of(result);
    const OutputType type = Int8Type(AnyGranularity(random, dims));
    const std::string whole = std::string(equation).append("->").append(result);
    AllRun run{"Einsum", {Attribute::String("equation", whole)}, {}, {type}};
    for (const Tensor& tensor : tensors) run.inputs.push_back(&tensor);
    const auto got = run.Run();
    ASSERT_TRUE(got.has_value()) << run.Error();
    EXPECT_EQ(format::UnpackIntegers((*got)[0]),
              TextbookStored(Textbook(terms, result, reals, sizes), type, dims))
        << equation;
  }
}

// 2^127 * 2^-126 * 2^-126 is a normal number on the way to a subnormal one.
TEST(Einsum, MultipliesFactorsBeyondAnyFloat) {
  const Tensor a = Float({1}, {0x1p127F}), b = Float({1}, {0x1p127F}), c = Float({1}, {0x1p-126F});
  const auto run = [&](const char* arithmetic) {
    return AllRun{"Einsum",
                  {Attribute::String("equation", "i,i,i,i->i")},
                  {&a, &b, &c, &c},
                  {OutputType{ElementType::kFloat}},
                  arithmetic}
        .Run();
  };
  EXPECT_THAT((*run("exact"))[0].As<float>(), ElementsAre(4.0F));
  EXPECT_THAT((*run("float32"))[0].As<float>(),
              ElementsAre(std::numeric_limits<float>::infinity()));
}

// Ten axes of 64 elements make 2^60 products of small inputs.
TEST(Einsum, RefusesMoreProductsThanItCanAdd) {
  const Tensor x = Float({64}, std::vector<float>(64, 1.0F));
  AllRun run{"Einsum",
             {Attribute::String("equation", "a,b,c,d,e,f,g,h,i,j->a")},
             std::vector<const Tensor*>(10, &x),
             {OutputType{ElementType::kFloat}}};
  const auto result = run.Run();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kTooLarge);
}

// One head of one token, its caches quantized: pairs of halves, or of neighbours.
TEST(RotaryEmbedding, TurnsPairsRoundedOnce) {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t size = 2 * random.In(1, 3), turned = 2 * random.In(1, size / 2);
    const bool interleaved = random.In(0, 1) == 1;
    const Dims dims = {1, 1, 1, size}, cache = {1, 1, turned / 2};
    const Tensor x = random.Tensor8(dims, AnyGranularity(random, dims));
    const Tensor cos = random.Tensor8(cache, AnyGranularity(random, cache));
    const Tensor sin = random.Tensor8(cache, AnyGranularity(random, cache));
    const OutputType type = Int8Type(AnyGranularity(random, dims));
    const AllRun run{"RotaryEmbedding",
                     {Attribute::Int("interleaved", interleaved ? 1 : 0),
                      Attribute::Int("rotary_embedding_dim", turned)},
                     {&x, &cos, &sin},
                     {type}};
    const auto result = run.Run();
    ASSERT_TRUE(result.has_value()) << run.Error();
    std::vector<mpq_class> reals = TextbookReals(x);
    const std::vector<mpq_class> c = TextbookReals(cos), s = TextbookReals(sin);
    for (std::size_t k = 0; k < c.size(); ++k) {
      mpq_class& a = reals[interleaved ? 2 * k : k];
      mpq_class& b = reals[interleaved ? 2 * k + 1 : k + c.size()];
      const mpq_class real = c[k] * a - s[k] * b, imaginary = s[k] * a + c[k] * b;
      a = real;
      b = imaginary;
    }
    EXPECT_EQ(format::UnpackIntegers((*result)[0]), TextbookStored(reals, type, dims));
  }
}

}  // namespace
}  // namespace qtx::reference::testing::einsum_test
