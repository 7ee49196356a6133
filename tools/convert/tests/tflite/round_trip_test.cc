// Every TFLite file that is at hand, in and out: what is written is what was read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "qtx/convert/convert.h"
#include "qtx/format/limits.h"
#include "tests/networks.h"
#include "tflite_generated.h"

namespace qtx::convert::round_trip_test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> Files() {
  std::vector<fs::path> files;
  for (const std::string& name : Networks())
    files.push_back(NetworkFolder() / name / "source.tflite");
  const fs::path corpus = fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus";
  if (!fs::exists(corpus)) return files;
  const std::size_t first = files.size();
  for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
    if (entry.path().extension() == ".tflite") files.push_back(entry.path());
  }
  std::sort(files.begin() + static_cast<std::ptrdiff_t>(first), files.end());
  return files;
}

// The tables of a file, written anew: two files are one where these are.
std::string Tables(const std::string& bytes) {
  const std::unique_ptr<schema::ModelT> tables(schema::GetModel(bytes.data())->UnPack());
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishModelBuffer(builder, schema::Model::Pack(builder, tables.get()));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

struct Tally {
  int files = 0, refused = 0, parts = 0, biased = 0, same = 0;
};

void RoundTrip(const fs::path& file, Tally& tally) {
  ++tally.files;
  const auto bytes = format::ReadFile(file, format::kMaxModelBytes);
  ASSERT_TRUE(bytes.has_value()) << file;
  const auto read = FromTflite(*bytes);
  if (!read.has_value()) {
    ++tally.refused;
    return;
  }
  // Of several subgraphs one is converted.
  if (std::ranges::any_of(read->ledger, [](const LedgerEntry& entry) {
        return entry.field.starts_with("subgraph ");
      })) {
    ++tally.parts;
    return;
  }
  const auto written = ToTflite(read->model);
  ASSERT_TRUE(written.has_value())
      << file << ": " << written.error().where << ": " << written.error().message;
  const auto& out = std::get<std::string>(written->content);
  // LiteRT takes no convolution without a bias.
  if (std::ranges::any_of(written->ledger,
                          [](const LedgerEntry& entry) { return entry.field == "bias"; })) {
    EXPECT_EQ(file.stem(), "single_conv_no_bias");
    ++tally.biased;
    return;
  }
  const bool same = Tables(*bytes) == Tables(out);
  EXPECT_TRUE(same) << file;
  tally.same += same ? 1 : 0;
  const auto again = FromTflite(out);
  ASSERT_TRUE(again.has_value()) << file;
  EXPECT_TRUE(again->model == read->model) << file;
  EXPECT_THAT(written->ledger, testing::IsEmpty()) << file;
}

TEST(TfliteRoundTrip, EveryFileGoesOutAsItCameIn) {
  Tally tally;
  for (const fs::path& file : Files()) RoundTrip(file, tally);
  std::cout << tally.files << " files, " << tally.refused << " refused by the reader, "
            << tally.parts << " of several subgraphs, " << tally.same << " written as they came\n";
  EXPECT_EQ(tally.same + tally.parts + tally.biased + tally.refused, tally.files);
}

}  // namespace
}  // namespace qtx::convert::round_trip_test
