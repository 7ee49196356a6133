// A GGUF file of a known architecture becomes a graph that runs, and the same file again.
#include <gtest/gtest.h>

#include <cmath>

#include "gguf/gguf.h"
#include "maker.h"
#include "qtx/convert/convert.h"
#include "qtx/reference/interpreter.h"
#include "tests/decoder/decoder_models.h"

namespace qtx::convert::gguf_test {
namespace {

constexpr std::uint32_t kFloat32 = 6;
constexpr std::uint32_t kText = 8;

std::string EntryOf(const std::string& key, const decoder::MetadataValue& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return Text(key) + Raw(kText) + Text(*text);
  return Text(key) + Raw(kFloat32) + Raw(static_cast<float>(std::get<double>(value)));
}

// A case as a file of F32 tensors.
std::string FileOf(const decoder::Case& made) {
  FileMaker file = {.entries = "", .entry_count = made.metadata.size(), .tensors = {}, .data = ""};
  for (const auto& [key, value] : made.metadata) file.entries += EntryOf(key, value);
  for (const auto& [name, dims] : made.shapes) {
    const std::vector<float> values =
        decoder::WeightValues(name, format::ElementCount(dims).value());
    file.tensors.push_back({name, {dims.rbegin(), dims.rend()}, 0, file.data.size()});
    file.data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    file.data.resize((file.data.size() + 31) / 32 * 32, '\0');
  }
  return file.Bytes();
}

Conversion Converted(const decoder::Case& made, bool weights_only = false) {
  const Source source = FromBytes(FileOf(made), "f.gguf");
  auto conversion = Read(source, *FindKind("gguf"), {.repack = true, .weights_only = weights_only});
  EXPECT_TRUE(conversion.has_value()) << (conversion ? "" : conversion.error().Text());
  return *std::move(conversion);
}

std::string WhyNoGraph(const Conversion& conversion) {
  for (const LedgerEntry& entry : conversion.ledger) {
    if (entry.value == "model" && entry.field == "graph") return entry.why;
  }
  return "";
}

TEST(GgufDecoder, GivesAGraphThatComputesWhatTheOneOfItsWeightsDoes) {
  const decoder::Case made = decoder::CaseOf("gemma3");
  std::vector<format::Tensor> inputs = {graph::IntsTensor(std::vector<std::int64_t>{3, 1, 4}),
                                        graph::IntsTensor(std::vector<std::int64_t>{0, 1, 2})};
  for (format::Tensor& tensor : inputs) tensor.dims = {1, 3};
  for (format::Tensor& tensor : decoder::EmptyCache(made)) inputs.push_back(std::move(tensor));
  auto from_file = reference::Interpreter::Prepare(Converted(made).model, "float32");
  ASSERT_TRUE(from_file.has_value()) << from_file.error().Text();
  auto built = reference::Interpreter::Prepare(decoder::ModelOf(made), "float32");
  EXPECT_EQ(from_file->Run(inputs).value(), built->Run(inputs).value());
}

TEST(GgufDecoder, IsWrittenAsTheFileThatItWas) {
  const decoder::Case made = decoder::CaseOf("llama");
  const Conversion conversion = Converted(made);
  EXPECT_FALSE(conversion.model.graph.nodes.empty());
  const auto written = Write(conversion.model, *FindKind("gguf"));
  ASSERT_TRUE(written.has_value()) << written.error().Text();
  std::string bytes;
  for (const auto& piece : std::get<std::vector<format::Piece>>(written->content)) {
    bytes += std::get<std::string>(piece);
  }
  EXPECT_TRUE(bytes == FileOf(made));
  EXPECT_EQ(written->ledger.size(), 1U);  // the nodes
}

TEST(GgufDecoder, SaysWhyThereIsNoGraph) {
  decoder::Case made = decoder::CaseOf("llama");
  EXPECT_TRUE(Converted(made, true).model.graph.nodes.empty());
  made.metadata["general.architecture"] = std::string("mamba");
  const Conversion conversion = Converted(made);
  EXPECT_TRUE(conversion.model.graph.nodes.empty());
  EXPECT_TRUE(WhyNoGraph(conversion).starts_with("only tensors: architecture 'mamba'"))
      << WhyNoGraph(conversion);
}

}  // namespace
}  // namespace qtx::convert::gguf_test
