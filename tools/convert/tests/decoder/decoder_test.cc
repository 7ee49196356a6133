// Graphs of small decoders against llama.cpp: logits that golden.py printed.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <span>

#include "decoder/build.h"
#include "decoder/metadata.h"
#include "decoder_models.h"
#include "qtx/reference/interpreter.h"

namespace qtx::convert::decoder {
namespace {

using format::ElementType;
using format::Tensor;

// The first eight logits after the prompt, and after two further tokens with the cache.
struct Golden {
  const char* name;
  std::array<float, 8> prompt, step;
};

// Of llama.cpp (llama-cpp-python 0.3.36), binary32 throughout; golden.py printed it, those of gemma
// by a build whose GELU is binary32, too, instead of a table of binary16 (GGML_GELU_FP16).
const Golden kGolden[] = {
    {"llama",
     {-1.309254F, -0.521814F, -0.388965F, 0.5319819F, -0.8922367F, 1.119108F, 0.3255069F,
      0.4791748F},
     {-1.828406F, -0.04274485F, -0.9150186F, 0.6560349F, -0.538726F, 0.9103436F, 0.4454208F,
      -0.06843117F}},
    {"llama_tied_divisors",
     {0.8209271F, 1.811322F, -0.4714078F, -1.163689F, 0.6966343F, -0.6469871F, -1.328774F,
      -0.1464224F},
     {0.5233467F, 0.4751117F, -1.462824F, -0.5797411F, -1.018031F, -0.7556496F, -1.152598F,
      0.07285902F}},
    {"llama_linear_biases",
     {-1.252104F, -0.4154048F, -0.6020991F, 0.6851666F, -0.1141591F, 0.8139813F, 0.2389981F,
      0.4922247F},
     {-1.656225F, -0.2935833F, -1.007547F, 1.129578F, -0.6977934F, 0.8270114F, 0.7420517F,
      0.2301459F}},
    {"llama_yarn",
     {-1.454592F, -0.410941F, -0.3473012F, 0.4987914F, -0.9407884F, 1.135167F, 0.4204854F,
      0.5981498F},
     {-1.874977F, 0.1326727F, -0.9220409F, 0.5800558F, -0.5175782F, 0.8431823F, 0.4473203F,
      -0.1912542F}},
    {"qwen2",
     {1.139122F, 1.447226F, 0.3505133F, -1.202132F, 0.5777931F, -0.8116614F, -0.571853F,
      0.0159786F},
     {0.8662437F, 0.3010859F, -1.194203F, -0.8137059F, -0.9365196F, -0.9461363F, -1.001046F,
      0.3730852F}},
    {"qwen3",
     {-1.390013F, 0.02421558F, 0.2531343F, 0.983511F, 0.4180605F, 0.04425466F, 0.2273634F,
      0.09303287F},
     {-1.800352F, 0.2595327F, -1.180422F, 0.3046341F, -0.5099304F, 1.187643F, 0.4561684F,
      -0.4850219F}},
    {"gemma",
     {-1.722928F, 2.897237F, 0.6463767F, -0.3650864F, 0.1739944F, 0.2043429F, -0.351452F,
      -1.936302F},
     {-1.288814F, 1.111623F, 0.5699015F, 0.6294272F, -1.008776F, 0.0291217F, -0.4558544F,
      -1.050871F}},
    {"gemma2",
     {-1.843174F, 1.882882F, 0.1162988F, -0.9911783F, -0.02122964F, 0.4561053F, -0.08299988F,
      -1.494585F},
     {-1.78424F, 0.3405027F, -0.4618943F, 0.5673279F, 0.4592487F, 0.5559393F, -0.2254674F,
      -1.50964F}},
    {"gemma3",
     {-2.320901F, 2.056767F, 0.5261534F, -1.170664F, -0.2997803F, 0.6989274F, -0.501964F,
      -1.310191F},
     {-1.96376F, 0.2476717F, -0.1973536F, 0.4151692F, 0.5406111F, 0.8767413F, -0.18549F,
      -0.9817815F}},
    {"phi3",
     {0.891503F, 0.5151535F, -0.3673558F, 0.04900326F, -0.4252227F, 0.0482716F, 0.7721083F,
      -0.6688559F},
     {1.817519F, 0.9088812F, -0.5640649F, 0.2372451F, -0.7670757F, -0.4692314F, 1.932127F,
      -0.457543F}},
};

Tensor Ids(const std::vector<std::int64_t>& ids) {
  Tensor tensor = graph::IntsTensor(ids);
  tensor.dims = {1, std::ssize(ids)};
  return tensor;
}

// Runs a decoder token by token or many at once, handing its cache on.
class Session {
 public:
  Session(const Case& model, const char* arithmetic)
      : interpreter_(reference::Interpreter::Prepare(ModelOf(model), arithmetic).value()),
        cache_(EmptyCache(model)) {}

  /// The first eight logits of the last token.
  std::vector<float> operator()(const std::vector<std::int64_t>& tokens) {
    std::vector<std::int64_t> positions(tokens.size());
    for (std::int64_t& position : positions) position = seen_++;
    std::vector<Tensor> inputs = {Ids(tokens), Ids(positions)};
    inputs.insert(inputs.end(), cache_.begin(), cache_.end());
    std::vector<Tensor> outputs = interpreter_.Run(inputs).value();
    const std::vector<double> logits = format::StoredValues(outputs[0]);
    cache_.assign(outputs.begin() + 1, outputs.end());
    const auto last = logits.end() - outputs[0].dims[2];
    return {last, last + 8};
  }

 private:
  reference::Interpreter interpreter_;
  std::vector<Tensor> cache_;
  std::int64_t seen_ = 0;
};

const std::vector<std::int64_t> kPrompt = {3, 17, 5, 9, 22, 1};

// llama.cpp rounds sums of up to 48 products in other orders.
constexpr float kBound = 1e-5F;

void ExpectNear(std::span<const float> expected, const std::vector<float>& found) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], kBound) << "logit " << i;
  }
}

class Decoders : public testing::TestWithParam<Golden> {};

TEST_P(Decoders, GivesTheLogitsOfLlamaCpp) {
  const Golden& golden = GetParam();
  for (const char* arithmetic : {"exact", "float32"}) {
    SCOPED_TRACE(arithmetic);
    Session session(CaseOf(golden.name), arithmetic);
    ExpectNear(golden.prompt, session(kPrompt));
    session({8});
    ExpectNear(golden.step, session({14}));
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Decoders, testing::ValuesIn(kGolden),
                         [](const auto& test) { return std::string(test.param.name); });

// The cache holds what the tokens before gave: exactly the same numbers go into each sum.
TEST(Decoder, GivesBitForBitTheSameWithTheCacheAsWithout) {
  Session cached(CaseOf("gemma3"), "exact");
  Session whole(CaseOf("gemma3"), "exact");
  cached({3, 17, 5});
  cached({9, 22});
  EXPECT_EQ(cached({1}), whole(kPrompt));
}

std::string MessageOf(const Case& model) {
  const auto config = ConfigOf(model.metadata, model.weights());
  if (!config) return config.error().where + ": " + config.error().message;
  const auto graph = BuildDecoder(*config, model.weights());
  return graph ? "" : graph.error().where + ": " + graph.error().message;
}

TEST(Decoder, RefusesWhatItWouldComputeWrongly) {
  Case model = CaseOf("llama");
  EXPECT_EQ(MessageOf(model), "");
  model.metadata["llama.expert_count"] = 8.0;
  EXPECT_EQ(MessageOf(model), ": a mixture of experts");
  model = CaseOf("llama");
  model.metadata["llama.residual_scale"] = 0.5;
  EXPECT_EQ(MessageOf(model),
            "metadata 'llama.residual_scale': is a key that this graph does not take into account");
  model = CaseOf("llama");
  model.shapes["blk.1.attn_sinks.weight"] = {4};
  EXPECT_EQ(
      MessageOf(model),
      "tensor 'blk.1.attn_sinks.weight': is none that the graph of architecture 'llama' reads");
  model = CaseOf("llama");
  model.metadata["general.architecture"] = std::string("mamba");
  EXPECT_EQ(
      MessageOf(model),
      "architecture 'mamba': has no known graph; those of llama, qwen2, qwen3, gemma, gemma2, "
      "gemma3, phi3 are known");
  model = CaseOf("llama");
  model.metadata["llama.rope.scaling.type"] = std::string("longrope");
  EXPECT_EQ(MessageOf(model), "metadata 'rope.scaling.type': 'longrope' scaling");
}

TEST(Decoder, NamesWeightsThatAreMissingOrOfAnotherShape) {
  Case model = CaseOf("qwen2");
  model.shapes.erase("blk.0.ffn_down.weight");
  EXPECT_EQ(MessageOf(model), "tensor 'blk.0.ffn_down.weight': is missing; the graph needs it");
  model = CaseOf("qwen2");
  model.shapes["blk.1.attn_k.weight"] = {32, 16};
  EXPECT_EQ(MessageOf(model), "tensor 'blk.1.attn_k.weight': has shape [32,16], expected [16,32]");
  model = CaseOf("qwen2");
  model.metadata["qwen2.block_count"] = 16777216.0;
  EXPECT_EQ(MessageOf(model), "tensor 'blk.2.attn_norm.weight': is missing; the graph needs it");
}

TEST(Decoder, NamesMetadataThatIsMissingOrOutOfRange) {
  Case model = CaseOf("llama");
  model.metadata.erase("llama.block_count");
  EXPECT_EQ(MessageOf(model), "metadata 'llama.block_count': is missing");
  model = CaseOf("llama");
  model.metadata["llama.attention.head_count_kv"] = 3.0;
  EXPECT_EQ(MessageOf(model),
            "metadata 'llama.attention.head_count_kv': is 3, which does not divide 4 heads");
  model = CaseOf("llama");
  model.metadata["llama.rope.dimension_count"] = 7.0;
  EXPECT_EQ(MessageOf(model),
            "metadata 'llama.rope.dimension_count': is 7, expected an even number of at most 8");
  model = CaseOf("llama");
  model.metadata["llama.attention.head_count_kv"] = std::vector<double>{2, 1};
  EXPECT_EQ(MessageOf(model),
            "metadata 'llama.attention.head_count_kv': differs from layer to layer");
}

// Factor 4 over 16 tokens, base 100, 8 elements. Pair i makes t turns within the context where i =
// 8 ln(16 / (2 pi t)) / (2 ln 100): -2.2, to 0, for 32 turns, 0.812, to 1, for one. So pair 0 is
// kept and the others divided by 4.
TEST(Rope, KeepsFastPairsInYarnAndStretchesTheRest) {
  const Rope rope = {
      .base = 100, .size = 8, .stretch = 4, .has_yarn = true, .yarn = {.original_context = 16}};
  const std::vector<float> found = Frequencies(rope);
  const std::vector<float> expected = {1.0F, 0.25F * 0.31622777F, 0.025F, 0.25F * 0.03162278F};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(found[i], expected[i]);
}

}  // namespace
}  // namespace qtx::convert::decoder
