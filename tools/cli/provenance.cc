#include "provenance.h"

#include <gmp.h>
#include <google/protobuf/stubs/common.h>
#include <mpfi.h>
#include <mpfr.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "build_commit.h"
#include "feature_option.h"

namespace qtx::cli {
namespace {

// Source: https://reproducible-builds.org/specs/source-date-epoch/
std::time_t Now() {
  const char* const text = std::getenv("SOURCE_DATE_EPOCH");
  const std::string_view given = text == nullptr ? "" : text;
  std::int64_t seconds = 0;
  const auto [end, status] = std::from_chars(given.data(), given.data() + given.size(), seconds);
  constexpr std::int64_t kLast = 253402300799;  // of year 9999
  const bool valid = status == std::errc() && end == given.data() + given.size();
  if (valid && seconds >= 0 && seconds <= kLast) return static_cast<std::time_t>(seconds);
  return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
}

std::string UtcText(std::time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, size};
}

// The words after the program's name, with "--name=value" as two of them.
std::vector<std::string> Command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  std::string word;
  std::getline(file, word, '\0');
  while (std::getline(file, word, '\0')) {
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    words.push_back(word.substr(0, equals));
    if (equals != std::string::npos) words.push_back(word.substr(equals + 1));
  }
  return words;
}

}  // namespace

conformance::Provenance ThisProvenance() {
  conformance::Processor processor = conformance::ThisProcessor();
  return {.date = UtcText(Now()),
          .version = QTX_VERSION,
          .commit = kBuildCommit,
          .compiler = QTX_COMPILER,
          .build_type = QTX_BUILD_TYPE,
          .libraries = {{"gmp", gmp_version},
                        {"mpfi", mpfi_get_version()},
                        {"mpfr", mpfr_get_version()},
                        {"protobuf",
                         google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)}},
          .processor = std::move(processor.name),
          .threads = std::max(1U, std::thread::hardware_concurrency()),
          .instruction_sets = std::move(processor.instruction_sets),
          .command = Command()};
}

std::string MakeDocument(std::string_view schema, std::string_view object) {
  return conformance::Document(schema, ThisProvenance(), object);
}

std::string VersionText() {
  std::string text = std::string(QTX_VERSION " (commit ") + kBuildCommit + ")\nfeatures:";
  for (const std::string& name : FeatureNames()) text += " " + name;
  return text;
}

}  // namespace qtx::cli
