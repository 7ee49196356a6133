// Every .tflite file of the corpus is converted to a model that keeps the rules of the format, or
// refused with one clear error. The list of refusals only shrinks.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "qtx/convert/convert.h"

namespace qtx::convert::golden {
namespace {

namespace fs = std::filesystem;

struct Refusal {
  std::string_view file;  // its folder in the corpus
  std::string_view why;   // part of `where: message`
};

constexpr Refusal kRefusals[] = {
    {"tflite-calibrated/lstm_calibrated2", "dimension 0 is -1, expected 1 or more"},
    {"tflite-calibrated/lstm_quantized", "operator 1 (LSTM): projection"},
    {"tflite-calibrated/resource_vars_calibrated", "(CALL_ONCE): control flow and resources"},
    {"tflite-calibrated/svdf_calibrated", "operator 0 (SVDF): no such operator"},
    {"tflite-calibrated/transpose", "version 2 of the file format; only 3 is"},
    {"tflite-calibrated/unidirectional_sequence_lstm_calibrated",
     "operator 0 (UNIDIRECTIONAL_SEQUENCE_LSTM): projection"},
    {"tflite-calibrated/where", "operator 0 (WHERE): no such operator"},
    {"tflite-hostile/0_subgraphs", "no subgraph"},
    {"tflite-hostile/2_subgraphs", "the subgraph has no operator"},
    {"tflite-hostile/conv3d_huge_im2col", "operator 0 (CONV_3D): no such operator"},
    {"tflite-hostile/invalid_model", "not a TFLite file (no identifier 'TFL3')"},
    {"tflite-hostile/sparse_tensor", "a graph input that is a constant"},
    {"tflite-hostile/test_model_broken", "not a TFLite file (no identifier 'TFL3')"},
    {"tflite-op/blockwise_quantized", "'quantized_tensor': used before an operator produces it"},
};

fs::path Corpus() { return fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus"; }

std::vector<fs::path> Files() {
  std::vector<fs::path> files;
  if (!fs::exists(Corpus())) return files;
  for (const auto& entry : fs::recursive_directory_iterator(Corpus())) {
    if (entry.path().extension() == ".tflite") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

TEST(TfliteCorpus, EveryFileIsConvertedOrRefusedAsListed) {
  const std::vector<fs::path> files = Files();
  if (files.empty()) GTEST_SKIP() << "no corpus beside the source tree";
  std::size_t refused = 0;
  for (const fs::path& file : files) {
    const std::string folder = fs::relative(file.parent_path(), Corpus());
    const auto* known = std::ranges::find(kRefusals, folder, &Refusal::file);
    const auto source = Open(file);
    ASSERT_TRUE(source.has_value()) << file;
    const auto conversion = Read(*source, *FindKind("tflite"), {.allow = {"cell_clip"}});
    if (conversion.has_value()) {
      EXPECT_EQ(known, std::end(kRefusals)) << folder << " is converted; listed: " << known->why;
      continue;
    }
    ++refused;
    const std::string text = conversion.error().where + ": " + conversion.error().message;
    ASSERT_NE(known, std::end(kRefusals)) << folder << ": " << text;
    EXPECT_NE(text.find(known->why), std::string::npos) << folder << ": " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << folder;
  }
  EXPECT_EQ(refused, std::size(kRefusals));
  RecordProperty("files", static_cast<int>(files.size()));
}

TEST(TfliteCorpus, TheClipOfAFloatCellIsGivenUpOnlyByLeave) {
  const fs::path file = Corpus() / "tflite-net/trained_lstm_float/trained_lstm.tflite";
  if (!fs::exists(file)) GTEST_SKIP() << "no corpus beside the source tree";
  const auto conversion = Read(*Open(file), *FindKind("tflite"));
  ASSERT_FALSE(conversion.has_value());
  EXPECT_EQ(conversion.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(conversion.error().message.find("--allow cell_clip"), std::string::npos);
}

}  // namespace
}  // namespace qtx::convert::golden
