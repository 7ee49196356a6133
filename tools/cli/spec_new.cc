// qtx spec new: proposals, overlays, operators, cases and backends from the templates of the text.

#include <array>
#include <ctime>
#include <string>

#include "commands.h"
#include "data_folders.h"
#include "qtx/format/print.h"
#include "qtx/spec/create.h"

namespace qtx::cli {
namespace {

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &utc);
  return text.data();
}

Result<spec::Created> Create(const SpecNewOptions& options) {
  const std::string folder = options.folder.empty() ? SpecFolder() : options.folder;
  // The cases of another spec are beside it, as in the source tree.
  std::string suite = options.suite;
  if (suite.empty()) {
    suite = options.folder.empty() ? SuiteFolder() : folder + "/../conformance/cases";
  }
  if (options.kind == "proposal") return spec::NewProposal(options.name, folder, Today());
  if (options.kind == "overlay") return spec::NewOverlay(options.name, folder, Today());
  if (options.kind == "op") return spec::NewOperator(options.name, folder, suite);
  if (options.kind == "backend") return spec::NewBackend(options.name, folder, ".");
  return spec::NewCase(options.name, folder, suite);
}

}  // namespace

int SpecNew(const SpecNewOptions& options) {
  const auto created = Create(options);
  if (!created.has_value()) return Fail(created.error());
  for (const std::string& file : created->files) format::Print("{}\n", file);
  for (const std::string& step : created->next) format::Print("next: {}\n", step);
  return kDone;
}

}  // namespace qtx::cli
