// Every model of the corpus, cut off and with bytes changed: an error, or a model that keeps the
// rules; never a crash or a hang. QTX_HOSTILE=N makes N truncations and 5 N changes of each model
// instead of a few.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <vector>

#include "qtx/convert/convert.h"
#include "qtx/format/limits.h"

namespace qtx::convert {
namespace {

namespace fs = std::filesystem;

constexpr int kFew = 2;
constexpr std::uintmax_t kLargest = 1 << 20;  // bytes of a model that is damaged in a usual run
constexpr std::chrono::seconds kHang(20);

bool IsModel(const fs::path& file) {
  static const std::vector<std::string> kExtensions = {".onnx",  ".tflite",  ".pb",
                                                       ".pbtxt", ".pdmodel", ".onnxtxt"};
  if (std::ranges::find(kExtensions, file.extension().string()) == kExtensions.end()) return false;
  const std::string name = file.filename().string();
  return !name.starts_with("input_") && !name.starts_with("output_");
}

std::vector<fs::path> Models() {
  std::vector<fs::path> files;
  const fs::path corpus = fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus";
  if (!fs::exists(corpus)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
    if (entry.is_regular_file() && IsModel(entry.path())) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

int Wanted() {
  const char* text = std::getenv("QTX_HOSTILE");
  return text == nullptr ? kFew : std::max(1, std::atoi(text));
}

// Reads `bytes` as whatever kind they are.
bool ReadsAs(const std::string& bytes, const fs::path& file, bool& converted) {
  const auto start = std::chrono::steady_clock::now();
  const Source source = FromBytes(bytes, file.string());
  const auto kind = KindOf(source);
  if (!kind.has_value()) return !kind.error().message.empty();
  const auto conversion = Read(source, **kind);
  converted = conversion.has_value();
  const bool quick = std::chrono::steady_clock::now() - start < kHang;
  return quick && (converted || !conversion.error().message.empty());
}

TEST(HostileCorpus, DamagedModelsAreRefusedOrSound) {
  const std::vector<fs::path> models = Models();
  if (models.empty()) GTEST_SKIP() << "no corpus beside the source tree";
  const int wanted = Wanted();
  std::int64_t tried = 0, sound = 0;
  for (const fs::path& file : models) {
    if (wanted == kFew && fs::file_size(file) > kLargest) continue;
    const auto bytes = format::ReadFile(file.string(), format::kMaxModelBytes);
    ASSERT_TRUE(bytes.has_value()) << file;
    if (bytes->empty()) continue;
    std::mt19937_64 random(bytes->size());
    const auto attempt = [&](const std::string& damaged, const std::string& how) {
      bool converted = false;
      SCOPED_TRACE(file.string() + " " + how);
      EXPECT_TRUE(ReadsAs(damaged, file, converted));
      ++tried;
      sound += converted ? 1 : 0;
    };
    for (int i = 0; i < wanted; ++i) {
      const std::size_t size =
          bytes->size() * static_cast<std::size_t>(i) / static_cast<std::size_t>(wanted);
      attempt(bytes->substr(0, size), "cut to " + std::to_string(size) + " bytes");
    }
    for (int i = 0; i < 5 * wanted; ++i) {
      std::string damaged = *bytes;
      const std::size_t at = random() % damaged.size();
      damaged[at] = static_cast<char>(random());
      attempt(damaged, "changed at " + std::to_string(at));
    }
  }
  std::cout << models.size() << " models, " << tried << " damaged ones: " << sound
            << " still models, " << tried - sound << " refused\n";
}

}  // namespace
}  // namespace qtx::convert
