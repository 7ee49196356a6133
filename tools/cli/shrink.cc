// qtx shrink: a failing case or network, reduced to a folder that reproduces it.
#include "qtx/conformance/shrink.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "backends.h"
#include "commands.h"
#include "data_folders.h"
#include "json.h"
#include "model_cache.h"
#include "progress.h"
#include "qtx/conformance/report.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/print.h"
#include "report_files.h"
#include "shrunk_json.h"
#include "tensor_files.h"

namespace qtx::cli {
namespace {

using conformance::Failure;

Result<Failure> FailureOfCase(const ShrinkOptions& options) {
  const std::string folder = options.suite.empty() ? SuiteFolder() : options.suite;
  ModelCache models;
  QTX_ASSIGN_OR_RETURN(const conformance::Suite suite,
                       conformance::LoadSuite(folder, models.Loader(), {&options.case_id, 1}));
  const auto found = std::ranges::find(suite.cases, options.case_id, &conformance::Case::id);
  if (found == suite.cases.end()) {
    return Error{ErrorCode::kUsage, "--case " + options.case_id, "no case of " + folder};
  }
  return conformance::ToFailure(*found);
}

Result<Failure> FailureOfModel(const ShrinkOptions& options) {
  Failure failure;
  QTX_ASSIGN_OR_RETURN(failure.model, LoadModel(options.model));
  QTX_ASSIGN_OR_RETURN(failure.inputs,
                       ReadInputs(failure.model, options.inputs,
                                  options.arithmetic.empty() ? "exact" : options.arithmetic));
  failure.name = options.model;
  failure.id = "shrunk/" + std::filesystem::path(options.model).stem().string();
  return failure;
}

// With progress, which is gone when this returns.
Result<conformance::Shrunk> Shrunk(const conformance::BackendSource& source, const Failure& failure,
                                   const ShrinkOptions& options) {
  WorkProgress progress(options.quiet, "shrinking");
  const auto at_most = static_cast<std::size_t>(options.max_runs);
  conformance::ShrinkOptions how{.arithmetic = options.arithmetic, .max_runs = options.max_runs};
  how.progress = [&](std::int64_t runs) {
    progress.Set(std::min(static_cast<std::size_t>(runs), at_most), at_most, "runs at most");
  };
  return conformance::Shrink(source, failure, how);
}

void Print(const conformance::Shrunk& shrunk, const ShrinkOptions& options) {
  constexpr std::size_t kMaxText = 600;  // characters
  format::Print(
      "{} on {} in {}, judged by the reference alone: {}\n{}\n{} elements, {} node{}, found with "
      "{} runs\n{}\n",
      shrunk.op, options.backend, shrunk.arithmetic, shrunk.how,
      format::Printable(shrunk.detail, kMaxText), shrunk.elements, shrunk.nodes,
      shrunk.nodes == 1 ? "" : "s", shrunk.runs, options.output);
  format::Print("{}", Explanation(shrunk, ""));
  format::Print("qtx validate --suite {} --backend '{}' --arithmetic {}\n", options.output,
                options.backend, shrunk.arithmetic);
}

std::string ToJson(const conformance::Shrunk& shrunk, const ShrinkOptions& options) {
  Json json("shrink");
  json.BeginObject();
  json.Field("backend", options.backend);
  json.Field("judge", kJudge);
  json.Field("arithmetic", shrunk.arithmetic);
  json.Field("op", shrunk.op);
  json.Field("kind", shrunk.how);
  json.Field("detail", shrunk.detail);
  WriteShrunk(json, shrunk, options.output);
  json.EndObject();
  return json.Text();
}

}  // namespace

int Shrink(const ShrinkOptions& options) {
  if (options.case_id.empty() == options.model.empty()) {
    return Fail({ErrorCode::kUsage, "qtx shrink", "expected one of --case and --model"});
  }
  std::vector<OptionFile> inputs = TensorFiles(options.inputs);
  inputs.insert(inputs.end(), {{"--suite", options.suite}, {"--model", options.model}});
  std::ranges::move(BackendFiles({options.backend}), std::back_inserter(inputs));
  const OptionFile output{"--output", options.output}, json{"--json", options.json};
  for (const auto& checked : {CheckDistinct({output, json}, inputs), CheckOutputs({json})}) {
    if (!checked.has_value()) return Fail(checked.error());
  }
  const auto replaceable = conformance::CheckReplaceable(options.output);
  if (!replaceable.has_value()) {
    return Fail(replaceable.error());
  }
  const auto source =
      FindBackend(options.backend, {.process = ProcessOptionsOf(options, options.timeout_seconds)});
  if (!source.has_value()) return Fail(source.error());
  const auto failure = options.model.empty() ? FailureOfCase(options) : FailureOfModel(options);
  if (!failure.has_value()) return Fail(failure.error());
  const auto shrunk = Shrunk(*source, *failure, options);
  if (!shrunk.has_value()) return Fail(OfRequest(options.backend, "", shrunk.error()));
  const auto written =
      conformance::WriteReproducer(*shrunk, NameFromAnywhere(options.backend), options.output);
  if (!written.has_value()) return Fail(written.error());
  if (options.SaysText()) Print(*shrunk, options);
  return Finish(options, kDone, [&] { return ToJson(*shrunk, options); });
}

}  // namespace qtx::cli
