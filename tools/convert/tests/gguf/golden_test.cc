// A tensor of each type of ggml. golden/all_types.gguf and the reals of its tensors, all_types.f32,
// are of the gguf package 0.19.0 (golden.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "qtx/convert/convert.h"
#include "qtx/convert/diff.h"
#include "qtx/format/levels.h"
#include "tests/files.h"

namespace qtx::convert::gguf_golden_test {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(QTX_SOURCE_DIR) / "tools/convert/tests/gguf/golden";

std::string Golden(const char* name) {
  return *format::ReadFile((kGolden / name).string(), 1 << 20);
}

// What the code or the element of a tensor stands for before scale and base.
double ValueOf(const format::Tensor& tensor, const std::vector<double>& stored, std::size_t i) {
  const auto& book = tensor.quantization->code_book;
  return book.empty() ? stored[i] : static_cast<double>(book[static_cast<std::size_t>(stored[i])]);
}

// The reals of a tensor, each rounded once: a product of at most 48 bits and a base whose sum with
// it is a binary64 (quantization.C18).
std::vector<float> Reals(const format::Model& model, const std::string& name) {
  const auto tensor = format::LoadInitializer(model, name);
  if (!tensor.has_value()) {
    ADD_FAILURE() << name << ": " << tensor.error().Text();
    return {};
  }
  const format::Quantization& q = *tensor->quantization;
  const format::ParameterMap parameter(q, tensor->dims);
  const std::vector<double> stored = format::StoredValues(*tensor);
  std::vector<float> reals;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::int64_t p = parameter(static_cast<std::int64_t>(i));
    reals.push_back(static_cast<float>(static_cast<double>(format::ScaleAt(q, p)) *
                                           ValueOf(*tensor, stored, i) +
                                       static_cast<double>(format::BaseAt(q, p))));
  }
  return reals;
}

Result<Conversion> ReadGolden(bool repack) {
  QTX_ASSIGN_OR_RETURN(const Source source, Open((kGolden / "all_types.gguf").string()));
  return Read(source, *FindKind("gguf"), {.repack = repack});
}

class GgufGolden : public testing::TestWithParam<bool> {};

TEST_P(GgufGolden, HasTheRealsOfTheGgufPackage) {
  const auto read = ReadGolden(GetParam());
  ASSERT_TRUE(read.has_value()) << read.error().Text();
  const std::string expected = Golden("all_types.f32");
  std::size_t at = 0;
  int types = 0;
  for (const format::TensorData& data : read->model.graph.initializers) {
    const format::ValueInfo* value = read->model.graph.FindValue(data.name);
    if (value == nullptr) continue;
    ++types;
    for (const float real : Reals(read->model, data.name)) {
      float other = 0;
      ASSERT_LE(at + sizeof other, expected.size());
      std::memcpy(&other, expected.data() + at, sizeof other);
      at += sizeof other;
      // Exact reals have one zero.
      if (real == 0 && other == 0) continue;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(real), std::bit_cast<std::uint32_t>(other))
          << data.name << " at byte " << at;
    }
  }
  EXPECT_EQ(types, 23);
  EXPECT_EQ(at, expected.size());
}

TEST_P(GgufGolden, ComesBackByteForByte) {
  const auto read = ReadGolden(GetParam());
  ASSERT_TRUE(read.has_value()) << read.error().Text();
  const auto written = Write(read->model, *FindKind("gguf"));
  ASSERT_TRUE(written.has_value()) << written.error().Text();
  EXPECT_EQ(*BytesOf(*written), Golden("all_types.gguf"));
}

INSTANTIATE_TEST_SUITE_P(Forms, GgufGolden, testing::Values(false, true),
                         [](const auto& form) { return form.param ? "Repacked" : "InPlace"; });

}  // namespace
}  // namespace qtx::convert::gguf_golden_test
