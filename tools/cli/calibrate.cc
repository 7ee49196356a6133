// qtx calibrate: statistics of every float value, from samples or from shards.
#include "qtx/calibrate/calibrate.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <span>
#include <thread>

#include "commands.h"
#include "float_executor.h"
#include "json.h"
#include "model_cache.h"
#include "output_kind.h"
#include "progress.h"
#include "qtx/calibrate/samples.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/print.h"
#include "report_files.h"
#include "shard.h"
#include "widen_halves.h"

namespace qtx::cli {
namespace {

std::map<std::string, std::int64_t> ByReason(const calibrate::Calibration& done) {
  std::map<std::string, std::int64_t> counts;
  for (const auto& sample : done.skipped) ++counts[sample.reason];
  return counts;
}

std::int64_t CountStatistics(const format::Model& model) {
  std::int64_t count = 0;
  for (const auto* values : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    count += std::ranges::count_if(
        *values, [](const auto& value) { return value.type && value.type->statistics; });
  }
  return count;
}

void ReportSkipped(const calibrate::Calibration& done) {
  for (const auto& sample : done.skipped) {
    format::Print(stderr, "{}: skipped, {}: {}\n", sample.name, sample.reason,
                  format::Printable(sample.message, format::kMaxMessage));
  }
}

void ReportText(const calibrate::Calibration& done, const std::string& output) {
  std::FILE* out = TextStream(output);
  format::Print(out, "{}: {} values, {} samples, {} skipped", output, CountStatistics(done.model),
                done.progress.planned - done.progress.skipped, done.skipped.size());
  const auto reasons = ByReason(done);
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons) parts.push_back(fmt::format("{} {}", count, reason));
  if (!parts.empty()) format::Print(out, " ({})", format::Joined(parts));
  format::Print(out, "\n");
  std::map<std::string, std::int64_t> types;
  for (const auto& value : done.left_out) ++types[value.why];
  for (const auto& [type, count] : types) {
    format::Print(out, "  {} values of type {} have no statistics\n", count, type);
  }
}

std::string ToJson(const calibrate::Calibration& done, const std::string& output) {
  Json json("calibrate");
  json.BeginObject();
  json.Field("output", output);
  json.Field("values", CountStatistics(done.model));
  json.Field("samples", done.progress.planned - done.progress.skipped);
  json.Field("resumed", done.progress.resumed);
  json.Array("skipped", done.skipped, [&json](const calibrate::SkippedSample& sample) {
    json.BeginObject();
    json.Field("sample", sample.name);
    json.Field("reason", sample.reason);
    json.Field("message", sample.message);
    json.EndObject();
  });
  json.Key("skipped_by_reason");
  json.BeginObject();
  for (const auto& [reason, count] : ByReason(done)) json.Field(reason, count);
  json.EndObject();
  json.Array("left_out", done.left_out, [&json](const calibrate::LeftOut& value) {
    json.BeginObject();
    json.Field("value", value.value);
    json.Field("elem_type", value.why);
    json.EndObject();
  });
  json.EndObject();
  return json.Text();
}

Result<calibrate::Options> LibraryOptions(const CalibrateOptions& options) {
  calibrate::Options library;
  if (options.per_axis) library.statistics.axis = options.axis;
  if (options.bins == 1) {
    return Error{ErrorCode::kUsage, "--histogram 1",
                 "expected 0 or at least 2: no bin of width 2^k holds numbers of both signs"};
  }
  library.statistics.bins = options.bins;
  library.threads = options.threads > 0
                        ? options.threads
                        : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  library.skip_bad_samples = options.on_error == "skip";
  library.model_name = options.inputs[0];
  library.journal = options.resume;
  library.gram = !options.gram.empty();
  library.journal_interval =
      std::chrono::milliseconds(static_cast<std::int64_t>(options.journal_seconds * 1000));
  auto shard = ChooseShard(options.shard);
  if (!shard.has_value()) return std::move(shard).error();
  library.shard_index = shard->index;
  library.shard_count = shard->count;
  return library;
}

// The calibrated model may replace the model. ReadJournal refuses a journal that is another file.
Result<void> CheckFiles(const CalibrateOptions& options) {
  std::vector<OptionFile> inputs = {{"--preprocess", options.preprocess}};
  for (const std::string& data : options.data) inputs.push_back({"--data", data});
  QTX_RETURN_IF_ERROR(KindToWrite(options.output, "qtx"));
  const OptionFile json{"--json", options.json};
  QTX_RETURN_IF_ERROR(
      CheckDistinct({{"--output", options.output}, {"--resume", options.resume}, json}, inputs));
  for (const std::string& model : options.inputs) inputs.push_back({"the model", model});
  if (!options.gram.empty()) {
    QTX_RETURN_IF_ERROR(
        CheckDistinct({{"--gram", options.gram}, {"--output", options.output}, json}, inputs));
  }
  return CheckOutputs({json}, inputs);
}

// An error at "models[i]", at the file that it is.
Error AtFile(Error error, const CalibrateOptions& options) {
  for (std::size_t i = options.inputs.size(); i-- > 0;) {
    const std::string place = fmt::format("models[{}]", i);
    if (!error.where.starts_with(place)) continue;
    error.where = options.inputs[i] + error.where.substr(place.size());
    break;
  }
  return error;
}

int FinishMerge(const CalibrateOptions& options, const format::Model& model,
                const std::vector<std::string>& missing, std::int64_t values) {
  if (!missing.empty())
    format::Print(stderr, "{}: shards missing: {}\n", options.output, format::Joined(missing));
  if (const auto saved = model.Save(options.output); !saved.has_value()) return Fail(saved.error());
  if (options.SaysText()) {
    format::Print(TextStream(options.output), "{}: {} values from {} files\n", options.output,
                  values, options.inputs.size());
  }
  return Finish(options, kDone, [&] {
    Json json("calibrate_merge");
    json.BeginObject();
    json.Field("output", options.output);
    json.Field("values", values);
    json.Array("missing", missing);
    json.EndObject();
    return json.Text();
  });
}

int MergeSums(const CalibrateOptions& options, std::span<const format::Model> models) {
  const auto merged = calibrate::MergeGrams(models);
  if (!merged.has_value()) return Fail(AtFile(merged.error(), options));
  return FinishMerge(options, merged->model, merged->missing,
                     std::ssize(merged->model.graph.initializers));
}

int Merge(const CalibrateOptions& options) {
  if (const auto files = CheckFiles(options); !files.has_value()) return Fail(files.error());
  std::vector<format::Model> models;
  for (const std::string& path : options.inputs) {
    auto model = LoadModel(path);
    if (!model.has_value()) return Fail(model.error());
    models.push_back(*std::move(model));
  }
  if (calibrate::HasGrams(models[0])) return MergeSums(options, models);
  const auto merged = calibrate::MergeModels(models);
  if (!merged.has_value()) return Fail(AtFile(merged.error(), options));
  return FinishMerge(options, merged->model, merged->missing, CountStatistics(merged->model));
}

int Measure(const CalibrateOptions& options) {
  if (const auto files = CheckFiles(options); !files.has_value()) return Fail(files.error());
  auto library = LibraryOptions(options);
  if (!library.has_value()) return Fail(library.error());
  auto model = LoadAnyModel(options.inputs[0]);
  if (!model.has_value()) return Fail(model.error());
  if (const auto done = WidenHalves(*model, options.inputs[0]); !done.has_value())
    return Fail(done.error());
  const auto samples = calibrate::OpenFiles(
      *model, options.data, {.shapes = options.shapes, .preprocess = options.preprocess});
  if (!samples.has_value()) return Fail(samples.error());
  // Samples in parallel; with few samples, threads within each.
  const auto planned =
      std::max<std::int64_t>(1, ((*samples)->size() - 1) / library->shard_count + 1);
  const auto inside = std::max<std::int64_t>(1, library->threads / planned);
  auto execution = FloatExecution::Prepare(*model, static_cast<int>(inside));
  if (!execution.has_value()) return Fail(At(options.inputs[0], execution.error()));
  library->executor = execution->name();
  Result<calibrate::Calibration> done = calibrate::Calibration();
  {
    WorkProgress progress(options.quiet, "opening the model");
    library->progress = [&progress](const calibrate::Progress& now) {
      progress.Set(static_cast<std::size_t>(now.done), static_cast<std::size_t>(now.planned),
                   fmt::format("{} skipped", now.skipped));
    };
    done = calibrate::Calibrate(*model, **samples, execution->make(), *library);
  }
  execution = Error{};  // its memory is needed to save the model
  if (!done.has_value()) return Fail(done.error());
  if (!options.gram.empty()) {
    const auto sums = calibrate::ToModel(done->grams, done->model);
    const auto saved = sums.has_value() ? sums->Save(options.gram) : Result<void>(sums.error());
    if (!saved.has_value()) return Fail(saved.error());
  }
  if (const auto saved = done->model.Save(options.output); !saved.has_value()) {
    return Fail(saved.error());
  }
  if (options.json != "-") ReportSkipped(*done);
  if (options.SaysText()) ReportText(*done, options.output);
  return Finish(options, kDone, [&] { return ToJson(*done, options.output); });
}

}  // namespace

int Calibrate(const CalibrateOptions& options) {
  if (options.merge) return Merge(options);
  if (options.inputs.size() != 1) {
    return Fail({ErrorCode::kUsage, "--merge", "only allowed with several models"});
  }
  if (options.data.empty()) return Fail({ErrorCode::kUsage, "--data", "missing"});
  return Measure(options);
}

}  // namespace qtx::cli
