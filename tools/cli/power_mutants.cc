// qtx power --mutants: the suite against small faults planted in the engine and the reference.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backends.h"
#include "commands.h"
#include "data_folders.h"
#include "model_cache.h"
#include "mutants/mutant_table.h"
#include "provenance.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/print.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

using conformance::Mutant;
using conformance::MutantReport;

// Those of files that the filter matches, in a part that takes something of every file.
Result<std::vector<Mutant>> ChooseMutants(const PowerOptions& options,
                                          std::span<const Mutant> compiled) {
  if (compiled.empty()) {
    return Error{ErrorCode::kUsage, "--mutants",
                 "this program has none; build the target qtx_mutants with -DQTX_MUTANTS=ON, and "
                 "run qtx-mutants power --mutants"};
  }
  conformance::Shard part;
  if (!options.part.empty()) {
    QTX_ASSIGN_OR_RETURN(part, conformance::ParseShard("--part", options.part));
  }
  std::vector<Mutant> chosen;
  std::int64_t position = 0;
  for (const Mutant& mutant : compiled) {
    const bool in_part = position++ % part.count == part.index - 1;
    if (in_part && conformance::GlobMatches(options.filter, mutant.file)) chosen.push_back(mutant);
  }
  if (chosen.empty()) {
    return Error{ErrorCode::kUsage, "--filter " + options.filter, "matches no file with mutants"};
  }
  return chosen;
}

// Whether the backend's sources hold one of the mutants.
bool RunsAny(std::string_view backend, std::span<const Mutant> mutants) {
  const bool is_reference = backend == "reference";
  return std::ranges::any_of(mutants, [is_reference](const Mutant& mutant) {
    return std::string_view(mutant.file).starts_with("reference/") == is_reference;
  });
}

Result<MutantReport> Measure(const PowerOptions& options) {
  const conformance::MutatedProgram program = mutants::Compiled();
  QTX_ASSIGN_OR_RETURN(const std::vector<Mutant> chosen, ChooseMutants(options, program.mutants));
  std::vector<conformance::BackendSource> backends;
  for (const char* name : {"reference", "x86", "x86:kernels=portable"}) {
    if (!RunsAny(name, chosen)) continue;
    QTX_ASSIGN_OR_RETURN(backends.emplace_back(), FindBackend(name));
  }
  const std::string folder = options.suite.empty() ? SuiteFolder() : options.suite;
  ModelCache models;
  QTX_ASSIGN_OR_RETURN(const conformance::Suite suite,
                       conformance::LoadSuite(folder, models.Loader()));
  const auto cases =
      conformance::Select(suite.cases, {.filters = {}, .level = options.level, .shard = {}});
  if (cases.empty()) return Error{ErrorCode::kUsage, "--level " + options.level, "has no case"};
  conformance::MutantOptions run;
  run.jobs = options.jobs > 0 ? options.jobs
                              : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  run.text_answers = &suite.text_answers;
  run.all_that_notice = options.all_that_notice;
  return conformance::MeasureMutants(folder, cases, backends, program, chosen, run);
}

}  // namespace

int PowerOfMutants(const PowerOptions& options) {
  const auto report = Measure(options);
  if (!report.has_value()) return Fail(report.error());
  if (options.SaysText())
    format::Print("{}\n{}", conformance::Summary(ThisProvenance()), conformance::ToText(*report));
  return Finish(options, conformance::HasPower(*report) ? kDone : kFailed,
                [&] { return MakeDocument("power_mutants", conformance::ToJson(*report)); });
}

}  // namespace qtx::cli
