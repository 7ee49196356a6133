#include "qtx/calibrate/calibrate.h"

#include <algorithm>

#include "coverage.h"
#include "fingerprint.h"
#include "observer.h"
#include "qtx/format/scopes.h"
#include "run.h"
#include "shapes.h"

namespace qtx::calibrate {
namespace {

Result<void> CheckOptions(const Options& options) {
  const auto invalid = [](const char* where, const std::string& expected) {
    return Error{ErrorCode::kInvalid, where, "expected " + expected};
  };
  const std::int64_t bins = options.statistics.bins;
  if (bins < 0 || bins == 1 || bins > format::kMaxHistogramBins) {
    return invalid("histogram", "0 or 2 to " + std::to_string(format::kMaxHistogramBins) + " bins");
  }
  if (options.threads < 1) return invalid("threads", "at least 1");
  if (options.shard_index < 1 || options.shard_index > options.shard_count) {
    return invalid("shard", "I/N with 1 <= I <= N");
  }
  if (options.gram && !options.journal.empty()) return invalid("journal", "none beside gram");
  return {};
}

// Each value of the graph has a histogram of its own.
Result<void> CheckHistograms(const format::Model& model, const Options& options) {
  constexpr std::int64_t kMaxBins = std::int64_t{1} << 29;  // of all values, 8 bytes each
  std::int64_t values = std::ssize(model.graph.inputs);
  for (const format::Node& node : model.graph.nodes) values += std::ssize(node.outputs);
  const std::int64_t bins = options.statistics.bins;
  if (bins <= kMaxBins / std::max<std::int64_t>(values, 1)) return {};
  return Error{ErrorCode::kTooLarge, options.model_name,
               "found " + std::to_string(values) + " values of " + std::to_string(bins) +
                   " bins each, expected at most " + std::to_string(kMaxBins) +
                   " bins; --histogram takes fewer"};
}

// Initializers are observed once.
Result<void> AddConstants(const format::Model& model, const Options& options,
                          Observations& observations, std::vector<LeftOut>& left_out) {
  for (const format::TensorData& initializer : model.graph.initializers) {
    if (initializer.data_type != format::ElementType::kFloat) continue;
    const auto tensor = format::Decode(initializer, model.folder);
    if (!tensor.has_value())
      return At(options.model_name + ": initializer '" + initializer.name + "'", tensor.error());
    Observer observer(options.statistics);
    QTX_RETURN_IF_ERROR(observer.Add(initializer.name, *tensor));
    Observations one = observer.Finish();
    one.begin()->second.statistics.source = kConstantSource;
    observations.merge(one);
  }
  for (const auto& initializer : model.graph.initializers) {
    const auto type = initializer.data_type;
    if (type == format::ElementType::kDouble || type == format::ElementType::kFloat16 ||
        type == format::ElementType::kBfloat16) {
      left_out.push_back({initializer.name, std::string(format::Name(type))});
    }
  }
  return {};
}

// Keeps declared shapes. If the size of the axis is open, statistics become per tensor.
Result<void> SettleShapes(const format::Model& model, const Options& options,
                          Observations& observations) {
  for (const auto* values : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (const format::ValueInfo& value : *values) {
      const auto at = observations.find(value.name);
      if (at == observations.end() || !value.type || !value.type->shape) continue;
      at->second.shape = value.type->shape;
    }
  }
  for (auto& [value, observation] : observations) {
    if (observation.statistics.axis.empty() || AxisIn(observation.shape, options.statistics.axis))
      continue;
    QTX_ASSIGN_OR_RETURN(observation.statistics, WithoutAxis(observation.statistics));
  }
  return {};
}

}  // namespace

std::string_view Name(Reason reason) {
  switch (reason) {
    case Reason::kUnreadable:
      return "unreadable";
    case Reason::kMalformed:
      return "malformed";
    case Reason::kShape:
      return "shape";
    case Reason::kType:
      return "type";
    case Reason::kNothingFinite:
      return "nothing finite";
    case Reason::kExecution:
      break;
  }
  return "execution";
}

Result<Calibration> Calibrate(const format::Model& model, const Samples& samples,
                              const MakeExecutor& make, const Options& options) {
  QTX_RETURN_IF_ERROR(CheckOptions(options));
  const format::FlatModel flat(model);
  QTX_RETURN_IF_ERROR(CheckHistograms(flat.model(), options));
  Coverage coverage{.executor = options.executor,
                    .bins = options.statistics.bins,
                    .axis = options.statistics.axis};
  QTX_ASSIGN_OR_RETURN(coverage.model, FingerprintOf(model));
  coverage.parts = {
      {.data = samples.Digest(), .index = options.shard_index, .count = options.shard_count}};
  Grams grams;
  if (options.gram) {
    auto planned = PlanGrams(flat.model());
    if (!planned.has_value()) return At(options.model_name, planned.error());
    grams = *std::move(planned);
  }
  QTX_ASSIGN_OR_RETURN(RunResult run, RunSamples(model, samples, make, options, coverage, grams));
  Part& part = coverage.parts[0];
  part.samples = run.progress.planned - run.progress.skipped;
  for (const SkippedSample& sample : run.skipped) {
    part.skipped.emplace_back(sample.name, sample.reason);
  }
  std::ranges::sort(part.skipped);
  if (part.samples == 0 && options.shard_count == 1) {
    const std::string all = std::to_string(run.progress.skipped) + " samples are bad";
    if (run.skipped.empty()) return Error{ErrorCode::kInvalid, "data", "no sample"};
    const SkippedSample& first = run.skipped[0];
    const bool of_model = first.reason == Name(Reason::kExecution);
    return Error{ErrorCode::kInvalid, of_model ? options.model_name : first.name,
                 first.message + "; all " + all};
  }
  Calibration result{.model = model, .progress = run.progress, .skipped = run.skipped};
  result.grams = std::move(run.grams);
  for (const auto& [value, why] : run.left_out) result.left_out.push_back({value, why});
  for (auto& [name, observation] : run.observations)
    observation.statistics.source = SourceOf(part.samples);
  OpenSizes(model, run.observations);
  QTX_RETURN_IF_ERROR(SettleShapes(flat.model(), options, run.observations));
  QTX_RETURN_IF_ERROR(AddConstants(flat.model(), options, run.observations, result.left_out));
  for (LeftOut& left_out : result.left_out) left_out.value = flat.Readable(left_out.value);
  QTX_RETURN_IF_ERROR(Annotate(std::move(run.observations), result.model));
  QTX_RETURN_IF_ERROR(SetCoverage(coverage, result.model));
  return result;
}

}  // namespace qtx::calibrate
