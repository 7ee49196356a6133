// qtx quantize: a float model with statistics to the extended form.
#include "qtx/quantize/quantize.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "commands.h"
#include "float_executor.h"
#include "ledger.h"
#include "qtx/calibrate/calibrate.h"
#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "qtx/format/print.h"
#include "quantize_report.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

using quantize::Quantized;

constexpr std::int64_t kMaxRulesBytes = std::int64_t{1} << 24;

template <typename T>
Result<T> Named(const char* option, Result<T> result) {
  if (!result.has_value()) return AsUsage(option, result.error());
  return result;
}

// Errors here are wrong usage.
Result<quantize::Settings> SettingsOf(const QuantizeOptions& options) {
  quantize::Settings settings;
  QTX_ASSIGN_OR_RETURN(settings.activations,
                       Named("--activations", quantize::ParseActivations(options.activations)));
  QTX_ASSIGN_OR_RETURN(settings.weights,
                       Named("--weights", quantize::ParseWeights(options.weights)));
  QTX_ASSIGN_OR_RETURN(settings.activation_range,
                       Named("--range", quantize::ParseRangeMethods(options.range)));
  QTX_ASSIGN_OR_RETURN(settings.weight_range,
                       Named("--weight-range", quantize::ParseRangeMethods(options.weight_range)));
  return settings;
}

Result<convert::Conversion> ReadModel(const QuantizeOptions& options) {
  QTX_ASSIGN_OR_RETURN(const convert::Source source, convert::Open(options.model, options.with));
  const convert::Kind* kind = convert::FindKind(options.from);
  if (kind == nullptr) {
    QTX_ASSIGN_OR_RETURN(kind, convert::KindOf(source));
  }
  return convert::Read(source, *kind);
}

// Statistics per axis 1, as equalization and bias correction need.
Result<format::Model> Measure(const format::Model& model, const calibrate::Samples& samples,
                              const std::string& name) {
  calibrate::Options options;
  options.model_name = name;
  options.statistics.axis = 1;
  options.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto execution = FloatExecution::Prepare(model, 1);
  if (!execution.has_value()) return At(name, execution.error());
  options.executor = execution->name();
  QTX_ASSIGN_OR_RETURN(auto done, calibrate::Calibrate(model, samples, execution->make(), options));
  return std::move(done.model);
}

bool HasStatistics(const format::Model& model) {
  const auto has = [](const auto& value) { return value.type && value.type->statistics; };
  return std::ranges::any_of(model.graph.inputs, has) ||
         std::ranges::any_of(model.graph.values, has) ||
         std::ranges::any_of(model.graph.outputs, has);
}

struct QuantizeOutcome {
  Quantized quantized;
  std::optional<quantize::QuantizationReport> report;
};

Result<QuantizeOutcome> Perform(const QuantizeOptions& options, quantize::Settings settings) {
  quantize::Options how{.settings = std::move(settings),
                        .quantized_io = options.io == "quantized",
                        .equalize = options.equalize,
                        .correct_bias = options.correct_bias};
  if (!options.rules.empty()) {
    QTX_ASSIGN_OR_RETURN(const std::string text, format::ReadFile(options.rules, kMaxRulesBytes));
    QTX_ASSIGN_OR_RETURN(how.rules, quantize::ParseRules(text, options.rules));
  }
  QTX_ASSIGN_OR_RETURN(convert::Conversion source, ReadModel(options));
  std::unique_ptr<calibrate::Samples> samples;
  if (!options.data.empty()) {
    QTX_ASSIGN_OR_RETURN(samples, calibrate::OpenFiles(source.model, options.data,
                                                       {.shapes = options.shapes,
                                                        .preprocess = options.preprocess}));
    how.measure = [&samples, &options](const format::Model& model) {
      return Measure(model, *samples, options.model);
    };
    if (!HasStatistics(source.model)) {
      QTX_ASSIGN_OR_RETURN(source.model, how.measure(source.model));
    }
  }
  auto quantized = quantize::Quantize(source.model, how);
  if (!quantized.has_value()) return At(options.model, quantized.error());
  QuantizeOutcome outcome{*std::move(quantized), std::nullopt};
  if (options.report.empty()) return outcome;
  QTX_ASSIGN_OR_RETURN(outcome.report, CompareOn(outcome.quantized, *samples, options.model));
  outcome.report->model = options.model;
  return outcome;
}

void PrintJson(const QuantizeOptions& options, const Quantized& quantized) {
  Json json("quantize");
  json.BeginObject();
  WriteLedger(quantized.ledger, json);
  json.EndObject();
  format::PrintJson(options.output == "-" ? stderr : stdout, json.Text());
}

// The model may be replaced by the quantized one, but not by the report.
Result<void> CheckFiles(const QuantizeOptions& options) {
  const OptionFile output{"--output", options.output}, report{"--report", options.report};
  std::vector<OptionFile> inputs = {{"--preprocess", options.preprocess},
                                    {"--rules", options.rules}};
  for (const std::string& data : options.data) inputs.push_back({"--data", data});
  for (const std::string& with : options.with) inputs.push_back({"--with", with});
  QTX_RETURN_IF_ERROR(CheckDistinct({output, report}, inputs));
  return CheckDistinct({report}, {{"the model", options.model}});
}

}  // namespace

int Quantize(const QuantizeOptions& options) {
  auto settings = SettingsOf(options);
  if (!settings.has_value()) return Fail(settings.error());
  if (const auto path = CheckReportPath(options.report); !path.has_value())
    return Fail(path.error());
  if (const auto files = CheckFiles(options); !files.has_value()) return Fail(files.error());
  const auto outcome = Perform(options, *std::move(settings));
  if (!outcome.has_value()) return Fail(outcome.error());
  const Quantized& quantized = outcome->quantized;
  for (const format::Finding& finding : format::Check(quantized.model, options.output)) {
    return Fail({ErrorCode::kInternal, finding.where, finding.message, finding.rule});
  }
  if (const auto saved = quantized.model.Save(options.output); !saved.has_value())
    return Fail(saved.error());
  if (options.json) {
    PrintJson(options, quantized);
  } else {
    PrintLedger(quantized.ledger, options.model, options.output,
                fmt::format("{} nodes", quantized.model.graph.nodes.size()));
  }
  if (!outcome->report) return kDone;
  if (!options.json) PrintErrors(*outcome->report, options.output == "-" ? stderr : stdout);
  const auto written = WriteReport(*outcome->report, quantized.model, options.report);
  return written.has_value() ? kDone : Fail(written.error());
}

}  // namespace qtx::cli
