// Weights of each scheme, whose words are written by hand after the packages' own packing (see
// schemes.h for the sources); packages_test.py holds them to the packages themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/format/levels.h"
#include "safetensors/reciprocal.h"
#include "tests/files.h"
#include "tests/safetensors/maker.h"

namespace qtx::convert::safetensors_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Real values of a weight: scale * (stored - offset), or scale * table[code], in binary64.
std::vector<double> RealsOf(const Conversion& conversion, const std::string& name) {
  const auto tensor = format::LoadInitializer(conversion.model, name);
  if (!tensor.has_value()) {
    ADD_FAILURE() << ErrorOf(tensor);
    return {};
  }
  const format::Quantization& q = *tensor->quantization;
  const format::ParameterMap map(q, tensor->dims);
  std::vector<double> reals = format::StoredValues(*tensor);
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const std::int64_t p = map(static_cast<std::int64_t>(i));
    const double value = q.code_book.empty()
                             ? reals[i] - format::OffsetAt(q, p)
                             : static_cast<double>(q.code_book[static_cast<std::size_t>(reals[i])]);
    reals[i] = value * static_cast<double>(format::ScaleAt(q, p));
  }
  return reals;
}

class Schemes : public testing::Test {
 protected:
  Result<Conversion> ReadAll(const std::string& config = "") {
    if (!config.empty())
      WriteBytes(folder_ / "config.json", R"({"quantization_config":{)" + config + "}}");
    auto read = ReadBytesAs(folder_ / "m.safetensors", maker_.File(), "safetensors");
    EXPECT_TRUE(read.has_value()) << ErrorOf(read);
    return read;
  }
  // Writes what was read, of which the bytes must be those of the file.
  void ExpectBack(const Conversion& conversion) {
    const auto back = Write(conversion.model, *FindKind("safetensors"));
    ASSERT_TRUE(back.has_value()) << ErrorOf(back);
    const std::string path = (folder_ / "back").string();
    ASSERT_TRUE(
        format::WriteFileAtomically(path, std::get<std::vector<format::Piece>>(back->content))
            .has_value());
    EXPECT_EQ(*format::ReadFile(path, 1 << 20), maker_.File());
  }
  SafetensorsMaker maker_;
  std::filesystem::path folder_ = TestFolder();
};

using Words = std::vector<std::uint32_t>;
using Halves = std::vector<std::uint16_t>;  // binary16: 3C00 is 1, 3800 a half

// Column 0 holds 0 to 7, column 1 15 to 8. The words of zero points hold 7 and 2, to which 1 is
// added.
TEST_F(Schemes, GptqPacksAlongRowsAndZeroPointsLessOne) {
  maker_.Add<std::uint32_t>("m.qweight", "I32", "1,2", {0x76543210, 0x89abcdef});
  maker_.Add<std::uint32_t>("m.qzeros", "I32", "1,1", {0x00000027});
  maker_.Add<std::uint16_t>("m.scales", "F16", "1,2", {0x3c00, 0x3800});
  maker_.Add<std::int32_t>("m.g_idx", "I32", "8", {0, 0, 0, 0, 0, 0, 0, 0});
  const auto read = ReadAll(R"("quant_method":"gptq","bits":4,"group_size":-1)");
  ASSERT_TRUE(read.has_value());
  EXPECT_THAT(RealsOf(*read, "m.weight"),
              ElementsAre(-8, 6, -7, 5.5, -6, 5, -5, 4.5, -4, 4, -3, 3.5, -2, 3, -1, 2.5));
  ExpectBack(*read);
}

// All zero points are 8: signed codes without offsets.
TEST_F(Schemes, GptqOfOneZeroPointIsSigned) {
  maker_.Add<std::uint32_t>("m.qweight", "I32", "1,1", {0x76543210});
  maker_.Add<std::uint32_t>("m.qzeros", "I32", "1,1", {8});
  maker_.Add<std::uint16_t>("m.scales", "F16", "1,1", {0x3c00});
  maker_.Add<std::int32_t>("m.g_idx", "I32", "8", {0, 0, 0, 0, 0, 0, 0, 0});
  const auto read = ReadAll(R"("quant_method":"gptq","bits":4,"checkpoint_format":"gptq_v2")");
  ASSERT_TRUE(read.has_value());
  const format::ValueInfo* weight = read->model.graph.FindValue("m.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->type->elem_type, format::ElementType::kInt4Q);
  EXPECT_THAT(RealsOf(*read, "m.weight"), ElementsAre(-8, -7, -6, -5, -4, -3, -2, -1));
  ExpectBack(*read);
}

// 32 codes of 3 bits in three words: code i is i % 8, so that a byte triple repeats.
TEST_F(Schemes, GptqOfThreeBitsCrossesWords) {
  maker_.Add<std::uint32_t>("m.qweight", "I32", "3,1", {0x88fac688, 0xc688fac6, 0xfac688fa});
  maker_.Add<std::uint32_t>("m.qzeros", "I32", "1,1", {4});
  maker_.Add<std::uint16_t>("m.scales", "F16", "1,1", {0x3c00});
  maker_.Add<std::int32_t>("m.g_idx", "I32", "32", std::vector<std::int32_t>(32, 0));
  const auto read = ReadAll(R"("quant_method":"gptq","bits":3,"checkpoint_format":"gptq_v2")");
  ASSERT_TRUE(read.has_value());
  const std::vector<double> reals = RealsOf(*read, "m.weight");
  ASSERT_EQ(reals.size(), 32);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(reals[i], static_cast<double>(i % 8) - 4) << i;
  ExpectBack(*read);
}

// A place in a word holds column 0, 2, 4, 6, 1, 3, 5, 7 of eight.
TEST_F(Schemes, AwqInterleavesColumns) {
  maker_.Add<std::uint32_t>("m.qweight", "I32", "1,1", {0x76543210});
  maker_.Add<std::uint32_t>("m.qzeros", "I32", "1,1", {0x00000001});
  maker_.Add<std::uint16_t>("m.scales", "F16", "1,8", Halves(8, 0x3c00));
  const auto read = ReadAll(R"("quant_method":"awq","bits":4)");
  ASSERT_TRUE(read.has_value());
  EXPECT_THAT(RealsOf(*read, "m.weight"), ElementsAre(-1, 4, 1, 5, 2, 6, 3, 7));
  ExpectBack(*read);
}

TEST_F(Schemes, CompressedTensorsPacksRowsOfAnyWidth) {
  maker_.Add<std::uint32_t>("m.weight_packed", "I32", "2,1", {0x00000fed, 0x00000210});
  maker_.Add<std::uint16_t>("m.weight_scale", "F16", "2,1", {0x3c00, 0x3800});
  maker_.Add<std::int64_t>("m.weight_shape", "I64", "2", {2, 3});
  const auto read = ReadAll(R"("quant_method":"compressed-tensors",)"
                            R"("config_groups":{"g":{"weights":{"num_bits":4}}})");
  ASSERT_TRUE(read.has_value());
  EXPECT_THAT(RealsOf(*read, "m.weight"), ElementsAre(5, 6, 7, -4, -3.5, -3));
  ExpectBack(*read);
}

// Codes 2 (1.0) and 7 (6.0), of which the scale is 1.5 / 7 in binary32.
TEST_F(Schemes, NvFp4ScalesAreQuotients) {
  maker_.Add("m.weight_packed", "U8", "1,8", std::string(8, '\x72'));
  maker_.Add("m.weight_scale", "F8_E4M3", "1,1", std::string("\x3c"));  // 1.5
  maker_.Add<float>("m.weight_global_scale", "F32", "1", {7.0F});
  const auto read = ReadAll();
  ASSERT_TRUE(read.has_value());
  const std::vector<double> reals = RealsOf(*read, "m.weight");
  ASSERT_EQ(reals.size(), 16);
  EXPECT_EQ(reals[0], static_cast<double>(1.5F / 7.0F));
  EXPECT_EQ(reals[1], 6 * static_cast<double>(1.5F / 7.0F));
  ExpectBack(*read);
}

// The bytes of exponents are FLOAT8E8M0: 128 is 2, 126 a half.
TEST_F(Schemes, MxFp4HasExponents) {
  maker_.Add("m.w_blocks", "U8", "1,2,16", std::string(32, '\x24'));  // 2.0, 1.0
  maker_.Add("m.w_scales", "U8", "1,2", std::string("\x80\x7e"));
  const auto read = ReadAll();
  ASSERT_TRUE(read.has_value());
  const std::vector<double> reals = RealsOf(*read, "m.w");
  ASSERT_EQ(reals.size(), 64);
  EXPECT_EQ(reals[0], 4);
  EXPECT_EQ(reals[1], 2);
  EXPECT_EQ(reals[32], 1);
  ExpectBack(*read);
}

TEST_F(Schemes, Fp8HasBlocksOf128) {
  maker_.Add("m.weight", "F8_E4M3", "1,130", std::string(130, '\x38'));  // 1.0
  maker_.Add<float>("m.weight_scale_inv", "F32", "1,2", {0.25F, 3.0F});
  const auto read = ReadAll();
  ASSERT_TRUE(read.has_value());
  const std::vector<double> reals = RealsOf(*read, "m.weight");
  EXPECT_EQ(reals[127], 0.25);
  EXPECT_EQ(reals[128], 3);
  ExpectBack(*read);
}

// The first code is in the high bits: table[1], table[2], ... Nested scales are 0.5 * 4 + 1 = 3.
TEST_F(Schemes, BitsAndBytesLooksUpTables) {
  std::vector<float> table(16), nested(256);
  for (std::size_t i = 0; i < 16; ++i) table[i] = static_cast<float>(i * i);
  nested[9] = 0.5F;
  const std::string state =
      R"({"quant_type":"nf4","blocksize":4,"shape":[2,2],"nested_blocksize":256,"nested_offset":1.0})";
  maker_.Add("m.weight", "U8", "2,1", std::string("\x12\x3f"));
  maker_.Add("m.weight.absmax", "U8", "1", std::string("\x09"));
  maker_.Add("m.weight.nested_absmax", "F32", "1", std::vector<float>{4});
  maker_.Add("m.weight.nested_quant_map", "F32", "256", nested);
  maker_.Add("m.weight.quant_map", "F32", "16", table);
  maker_.Add("m.weight.quant_state.bitsandbytes__nf4", "U8", std::to_string(state.size()), state);
  const auto read = ReadAll();
  ASSERT_TRUE(read.has_value());
  EXPECT_THAT(RealsOf(*read, "m.weight"), ElementsAre(3, 12, 27, 675));
  ExpectBack(*read);
}

// Row k has code k; those of group 0, whose scale is 1, are 0, 2, 4, 6, those of group 1 the
// others.
TEST_F(Schemes, ActOrderIsAnOrderOfRows) {
  maker_.Add<std::uint32_t>("m.qweight", "I32", "1,1", {0x76543210});
  maker_.Add<std::uint32_t>("m.qzeros", "I32", "2,1", {7, 7});
  maker_.Add<std::uint16_t>("m.scales", "F16", "2,1", {0x3c00, 0x3800});
  maker_.Add<std::int32_t>("m.g_idx", "I32", "8", {0, 1, 0, 1, 0, 1, 0, 1});
  const auto read = ReadAll(R"("quant_method":"gptq","bits":4,"group_size":4)");
  ASSERT_TRUE(read.has_value());
  EXPECT_THAT(RealsOf(*read, "m.weight_by_group"),
              ElementsAre(-8, -6, -4, -2, -3.5, -2.5, -1.5, -0.5));
  const auto places = format::LoadInitializer(read->model, "m.weight_rows");
  ASSERT_TRUE(places.has_value()) << ErrorOf(places);
  EXPECT_THAT(format::UnpackIntegers(*places), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  const format::Graph& graph = read->model.graph;
  ASSERT_EQ(graph.nodes.size(), 1);
  EXPECT_THAT(graph.nodes[0].inputs, ElementsAre("m.weight_by_group", "m.weight_rows"));
  ASSERT_EQ(graph.outputs.size(), 1);
  EXPECT_EQ(graph.outputs[0].name, "m.weight");
  ExpectBack(*read);
}

// Five rows of group 0 and three of group 1 have no blocks of four: all stay as their tensors.
TEST_F(Schemes, ActOrderOfUnequalGroupsStaysAsItsTensors) {
  maker_.Add<std::uint32_t>("m.qweight", "I32", "1,1", {0x76543210});
  maker_.Add<std::uint32_t>("m.qzeros", "I32", "2,1", {7, 7});
  maker_.Add<std::uint16_t>("m.scales", "F16", "2,1", {0x3c00, 0x3800});
  maker_.Add<std::int32_t>("m.g_idx", "I32", "8", {0, 1, 0, 1, 0, 1, 0, 0});
  const auto read = ReadAll(R"("quant_method":"gptq","bits":4,"group_size":4)");
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->model.graph.nodes.empty());
  ASSERT_EQ(read->ledger.size(), 1);
  EXPECT_THAT(read->ledger[0].why,
              HasSubstr("m.g_idx: found group 0 of row 7, expected 2 groups of 4 rows"));
  ExpectBack(*read);
}

TEST_F(Schemes, AChangedOffsetIsNotWritten) {
  maker_.Add("m.weight", "I8", "1,2", std::string("\x01\x02"));
  maker_.Add<float>("m.weight_scale", "F32", "1", {0.5F});
  auto read = ReadAll();
  ASSERT_TRUE(read.has_value());
  read->model.graph.values[0].type->quantization->offset = {1};
  EXPECT_THAT(ErrorOf(Write(read->model, *FindKind("safetensors"))),
              HasSubstr("m.weight: has another type than the tensors of its file say"));
}

// Every float8 by every divisor of a sample: the quotient in binary32 itself, computed by division.
TEST(FactorsOfQuotient, GiveEachQuotient) {
  std::uint32_t state = 1;
  for (int i = 0; i < 200; ++i) {
    state = state * 1664525U + 1013904223U;
    const float divisor = 1.0F + static_cast<float>(state >> 8U) * 0x1p-12F;
    const auto factors = safetensors::FactorsOfQuotient(divisor);
    ASSERT_TRUE(factors.has_value()) << divisor;
    for (std::uint32_t code = 1; code < 127; ++code) {
      const double value = format::DecodeSmallFloat(format::ElementType::kFloat8E4M3FN, code);
      // 4 bits times 24 bits times 24 bits are 52: exact.
      double product = value;
      for (const float factor : *factors) product *= static_cast<double>(factor);
      ASSERT_EQ(static_cast<float>(product), static_cast<float>(value) / divisor) << divisor;
    }
  }
}

}  // namespace
}  // namespace qtx::convert::safetensors_test
