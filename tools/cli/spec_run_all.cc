// qtx spec run --all: what the text's own computation gives for the cases of the suite.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "backends.h"
#include "commands.h"
#include "data_folders.h"
#include "model_cache.h"
#include "progress.h"
#include "qtx/conformance/suite.h"
#include "qtx/conformance/text_update.h"
#include "qtx/format/file.h"
#include "qtx/format/print.h"

namespace qtx::cli {
namespace {

using conformance::TextUpdate;

Result<conformance::BackendSource> TextBackend() {
  QTX_ASSIGN_OR_RETURN(const auto found, FindInProcess("text"));
  if (found) return *found;
  return Error{ErrorCode::kUsage, "--all", "found no backend 'text' in this build, expected one"};
}

Result<TextUpdate> Update(const SpecRunOptions& options, const std::string& folder,
                          ModelCache& models) {
  QTX_ASSIGN_OR_RETURN(const conformance::BackendSource text, TextBackend());
  conformance::TextUpdateOptions update;
  if (!options.part.empty()) {
    QTX_ASSIGN_OR_RETURN(update.part, conformance::ParseShard("--part", options.part));
  }
  QTX_ASSIGN_OR_RETURN(const conformance::Suite suite,
                       conformance::LoadSuite(folder, models.Loader()));
  update.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  WorkProgress progress(options.quiet, "starting");
  update.progress = [&progress](std::size_t done, std::size_t all, const std::string& id) {
    progress.Set(done, all, id);
  };
  return conformance::UpdateTextAnswers(suite.text_answers, suite.cases, text, update);
}

void Print(const TextUpdate& update) {
  for (const auto* list : {&update.news, &update.faults}) {
    for (const std::string& one : *list)
      format::Print("{}\n", format::Printable(one, format::kMaxMessage));
  }
  format::Print("{} answers computed, {} kept, {} declined; {} differ, {} faults\n",
                update.computed, update.kept, update.declined, update.news.size(),
                update.faults.size());
}

}  // namespace

int SpecRunAll(const SpecRunOptions& options) {
  const std::string folder = options.suite.empty() ? SuiteFolder() : options.suite;
  ModelCache models;
  const auto update = Update(options, folder, models);
  if (!update.has_value()) return Fail(update.error());
  if (options.SaysText()) Print(*update);
  if (!update->faults.empty()) return kFailed;
  if (!options.write) return update->news.empty() ? kDone : kFailed;
  const std::string path = (std::filesystem::path(folder) / conformance::kTextAnswersFile).string();
  const auto written = format::WriteFileAtomically(path, update->answers.Text());
  return written.has_value() ? kDone : Fail(written.error());
}

}  // namespace qtx::cli
