// qtx spec run: the examples of the text, on the reference.
#include <fmt/core.h>

#include <filesystem>

#include "commands.h"
#include "data.h"
#include "qtx/conformance/report.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/suite.h"

namespace qtx::cli {
namespace {

Result<std::vector<conformance::Case>> LoadPath(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    QTX_ASSIGN_OR_RETURN(conformance::Suite suite, conformance::LoadExamples(path));
    return std::move(suite.cases);
  }
  QTX_ASSIGN_OR_RETURN(const std::string text,
                       format::ReadFile(path, conformance::kMaxCaseFileBytes));
  return conformance::ParseExamples(text, path);
}

}  // namespace

int SpecRun(const SpecOptions& options) {
  const std::string path = options.path.empty() ? SpecFolder() : options.path;
  const auto cases = LoadPath(path);
  if (!cases.has_value()) return Fail(cases.error(), kBadInput);
  const std::vector<conformance::BackendSource> sources = {conformance::ReferenceSource()};
  const auto report = conformance::RunSuite(path, *cases, sources, {});
  for (const auto& backend : report.backends) {
    for (const auto& result : backend.cases) {
      fmt::print("{} {} @{} ({})\n", conformance::Name(result.outcome), result.id,
                 result.arithmetic, result.spec);
    }
  }
  fmt::print("\n{}", conformance::ToText(report));
  return conformance::Conforms(report) ? kDone : kFailed;
}

}  // namespace qtx::cli
