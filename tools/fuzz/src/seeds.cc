// Writes the seeds that need a build: the models of the suite's cases in the extended form, and
// what each kind's writer makes of them.
//   qtx_make_seeds SUITE FOLDER: FOLDER/model/*, FOLDER/KIND/*
//   qtx_make_seeds --commit: what the fuzz programs were built from
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>

#include "build_commit.h"
#include "qtx/conformance/suite.h"
#include "qtx/convert/convert.h"
#include "qtx/format/check.h"

namespace qtx::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSeed = 1 << 13;  // bytes; a fuzzer is slower the longer its inputs are
constexpr int kEach = 3;                   // cases of a document

void Put(const fs::path& folder, const std::string& bytes) {
  if (bytes.empty() || bytes.size() > kMaxSeed) return;
  fs::create_directories(folder);
  const auto name = std::to_string(std::hash<std::string>{}(bytes));
  std::ofstream(folder / name, std::ios::binary) << bytes;
}

void PutEach(const format::Model& model, const fs::path& folder) {
  convert::Options options;
  for (const convert::Loss& loss : convert::Losses()) options.allow.emplace_back(loss.name);
  for (const convert::Kind& kind : convert::Kinds()) {
    if (kind.write == nullptr || kind.name == "qtx") continue;
    const auto written = convert::Write(model, kind, options);
    if (!written.has_value()) continue;
    const auto* stock = std::get_if<format::Model>(&written->content);
    const auto bytes = stock != nullptr ? stock->Serialize() : convert::BytesOf(*written);
    if (bytes.has_value()) Put(folder / kind.name, *bytes);
  }
}

int Run(const std::string& suite_folder, const fs::path& folder) {
  const auto suite = conformance::LoadSuite(suite_folder);
  if (!suite.has_value()) {
    std::cerr << suite.error().Text() << '\n';
    return 3;
  }
  std::map<std::string, int> written;  // of each document, by its place
  for (const conformance::Case& c : suite->cases) {
    if (++written[c.where] > kEach) continue;
    const auto model = conformance::BuildModel(c);
    const auto bytes = model.has_value() ? model->Serialize() : Result<std::string>(model.error());
    if (!bytes.has_value() || bytes->size() > kMaxSeed) continue;
    Put(folder / "model", *bytes);
    if (format::Check(*model).empty()) PutEach(*model, folder);  // others must be refused
  }
  return 0;
}

}  // namespace
}  // namespace qtx::fuzz

int main(int count, char** words) {
  if (count == 2 && std::string_view(words[1]) == "--commit") {
    std::cout << qtx::cli::kBuildCommit << '\n';
    return 0;
  }
  if (count != 3) {
    std::cerr << "usage: qtx_make_seeds SUITE FOLDER | --commit\n";
    return 2;
  }
  return qtx::fuzz::Run(words[1], words[2]);
}
