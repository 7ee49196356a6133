// qtx quantize: a float model with statistics to the extended form.
#include "qtx/quantize/quantize.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <thread>

#include "commands.h"
#include "float_executor.h"
#include "ledger.h"
#include "model_cache.h"
#include "output_kind.h"
#include "progress.h"
#include "qtx/calibrate/calibrate.h"
#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "qtx/format/print.h"
#include "qtx/quantize/search.h"
#include "quantize_report.h"
#include "quantize_sums.h"
#include "report_files.h"
#include "widen_halves.h"

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
                              const std::string& name, WorkProgress& progress) {
  calibrate::Options options;
  options.progress = [&progress](const calibrate::Progress& now) {
    progress.Set(static_cast<std::size_t>(now.done), static_cast<std::size_t>(now.planned),
                 "measuring");
  };
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

// What to say of values that are quantized already, and stay as they are; empty if there are none.
// Errors: kInvalid where nothing else was left to quantize.
Result<std::string> NoteOnQuantized(const format::Model& model, const Quantized& quantized,
                                    const std::string& name) {
  const auto is_quantized = [](const format::ValueInfo& value) {
    return value.type && format::IsQuantized(value.type->elem_type);
  };
  std::int64_t count = 0;
  for (const auto* values : {&model.graph.inputs, &model.graph.values, &model.graph.outputs})
    count += std::ranges::count_if(*values, is_quantized);
  if (count == 0) return std::string();
  const std::string found = fmt::format("found {} values that are quantized already", count);
  const bool changed = std::ranges::any_of(quantized.ledger, [](const auto& entry) {
    return entry.fate == quantize::LedgerEntry::Fate::kChanged;
  });
  if (changed) return found + ", which stay as they are";
  return Error{ErrorCode::kInvalid, name,
               found +
                   " and none to quantize, expected a float model: quantize the one that this "
                   "was made of; 'qtx convert --eight-bits TYPE' changes INT8Q and UINT8Q"};
}

Result<std::optional<quantize::Target>> TargetOf(const QuantizeOptions& options) {
  if (options.target.empty()) return std::optional<quantize::Target>();
  QTX_ASSIGN_OR_RETURN(const quantize::Target target,
                       Named("--target", quantize::ParseTarget(options.target)));
  if (target.sqnr_db && options.data.empty())
    return Error{ErrorCode::kUsage, "--target " + options.target, "needs --data"};
  return std::optional(target);
}

Result<quantize::Found> WithoutSearch(Result<Quantized> quantized) {
  if (!quantized.has_value()) return std::move(quantized).error();
  quantize::Found found;
  found.quantized = *std::move(quantized);
  return found;
}

// What a search found, in a line.
std::string NoteOn(const quantize::Found& found, const quantize::Target& target) {
  std::string note = fmt::format("--target: {} bytes", found.bytes);
  if (target.sqnr_db) {
    double worst = std::numeric_limits<double>::infinity();
    for (const auto& output : found.report.outputs) worst = std::min(worst, output.errors.sqnr_db);
    note += fmt::format(", outputs of {:.2f} dB and more", worst);
  }
  return note + fmt::format("; {} nodes of 16 bits, {} FLOAT, {} of INT4 weights; {} models tried",
                            found.wide, found.real, found.narrow, found.tried);
}

// Sums for --method and --awq; none where neither is asked for.
Result<std::map<std::string, quantize::Gram>> ReadGrams(const QuantizeOptions& options) {
  std::map<std::string, quantize::Gram> grams;
  const bool rounds = options.method != "nearest", scales = options.awq != "none";
  const std::string who = rounds ? "--method " + options.method : "--awq " + options.awq;
  if (!rounds && !scales && !options.gram.empty())
    return Error{ErrorCode::kUsage, "--gram " + options.gram,
                 "needs --method gptq or coordinate-descent, or --awq"};
  if (!rounds && options.act_order)
    return Error{ErrorCode::kUsage, "--act-order", "needs --method gptq or coordinate-descent"};
  if (!rounds && !scales) return grams;
  if (rounds && options.gram.empty() && !options.data.empty() && options.correct_bias)
    return Error{ErrorCode::kUsage, "--bias-correction",
                 "takes the mean error of weights that --method " + options.method +
                     " with --data does not leave"};
  if (options.gram.empty() && !options.data.empty()) return grams;
  if (options.gram.empty())
    return Error{ErrorCode::kUsage, who, "needs --gram, which qtx calibrate writes, or --data"};
  if (options.equalize)
    return Error{ErrorCode::kUsage, "--equalize", "changes the inputs that --gram has sums of"};
  QTX_ASSIGN_OR_RETURN(const format::Model file, LoadModel(options.gram));
  auto sums = calibrate::GramsOf(file);
  if (!sums.has_value()) return At(options.gram, sums.error());
  for (const auto& [value, gram] : *sums) grams[value] = {gram.size, gram.Reals()};
  if (grams.empty()) return Error{ErrorCode::kInvalid, options.gram, "found no sums"};
  return grams;
}

struct QuantizeOutcome {
  Quantized quantized;
  std::optional<quantize::QuantizationReport> report;
  std::string note;
};

Result<QuantizeOutcome> Perform(const QuantizeOptions& options, quantize::Settings settings) {
  quantize::Options how{.settings = std::move(settings),
                        .quantized_io = options.io == "quantized",
                        .equalize = options.equalize,
                        .correct_bias = options.correct_bias};
  WorkProgress progress(options.quiet, "quantizing");
  if (!options.rules.empty()) {
    QTX_ASSIGN_OR_RETURN(const std::string text, format::ReadFile(options.rules, kMaxRulesBytes));
    QTX_ASSIGN_OR_RETURN(how.rules, quantize::ParseRules(text, options.rules));
  }
  QTX_ASSIGN_OR_RETURN(how.grams, ReadGrams(options));
  how.rounding = options.method == "nearest" ? quantize::Rounding::kNearest
                 : options.method == "gptq"  ? quantize::Rounding::kGptq
                                             : quantize::Rounding::kDescent;
  how.awq = options.awq == "none"   ? quantize::Awq::kNone
            : options.awq == "fold" ? quantize::Awq::kFold
                                    : quantize::Awq::kMultiply;
  how.act_order = options.act_order;
  QTX_ASSIGN_OR_RETURN(convert::Conversion source, ReadModel(options));
  QTX_RETURN_IF_ERROR(WidenHalves(source.model, options.model));
  std::unique_ptr<calibrate::Samples> samples;
  if (!options.data.empty()) {
    QTX_ASSIGN_OR_RETURN(samples, calibrate::OpenFiles(source.model, options.data,
                                                       {.shapes = options.shapes,
                                                        .preprocess = options.preprocess}));
    how.measure = [&samples, &options, &progress](const format::Model& model) {
      return Measure(model, *samples, options.model, progress);
    };
    if ((options.method != "nearest" || options.awq != "none") && options.gram.empty())
      how.measure_sums = SumsOver(*samples, options.model, progress);
    if (!HasStatistics(source.model)) {
      QTX_ASSIGN_OR_RETURN(source.model, how.measure(source.model));
    }
  }
  QTX_ASSIGN_OR_RETURN(const auto target, TargetOf(options));
  const auto judge = [&](const Quantized& tried) {
    return CompareOn(tried, *samples, options.model, progress);
  };
  auto found = target ? quantize::QuantizeTo(*target, source.model, how, judge)
                      : WithoutSearch(quantize::Quantize(source.model, how));
  if (!found.has_value()) return At(options.model, found.error());
  QTX_ASSIGN_OR_RETURN(std::string note,
                       NoteOnQuantized(source.model, found->quantized, options.model));
  if (target) note += (note.empty() ? "" : "; ") + NoteOn(*found, *target);
  QuantizeOutcome outcome{std::move(found->quantized), std::nullopt, note};
  if (options.report.empty()) return outcome;
  QTX_ASSIGN_OR_RETURN(outcome.report,
                       CompareOn(outcome.quantized, *samples, options.model, progress));
  outcome.report->model = options.model;
  return outcome;
}

std::string ToJson(const Quantized& quantized) {
  Json json("quantize");
  json.BeginObject();
  WriteLedger(quantized.ledger, json);
  json.EndObject();
  return json.Text();
}

// The model may be replaced by the quantized one, but not by the report.
Result<void> CheckFiles(const QuantizeOptions& options) {
  const OptionFile output{"--output", options.output}, report{"--report", options.report};
  std::vector<OptionFile> inputs = {
      {"--preprocess", options.preprocess}, {"--rules", options.rules}, {"--gram", options.gram}};
  for (const std::string& data : options.data) inputs.push_back({"--data", data});
  for (const std::string& with : options.with) inputs.push_back({"--with", with});
  const OptionFile json{"--json", options.json};
  QTX_RETURN_IF_ERROR(KindToWrite(options.output, "qtx"));
  QTX_RETURN_IF_ERROR(CheckDistinct({output, report, json}, inputs));
  return CheckOutputs({report, json}, {{"the model", options.model}});
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
  if (!outcome->note.empty()) format::Print(stderr, "{}: {}\n", options.model, outcome->note);
  for (const format::Finding& finding : format::Check(quantized.model, options.output)) {
    return Fail({ErrorCode::kInternal, finding.where, finding.message, finding.rule});
  }
  if (const auto saved = quantized.model.Save(options.output); !saved.has_value())
    return Fail(saved.error());
  if (options.SaysText()) {
    PrintLedger(quantized.ledger, options.ledger, options.model, options.output,
                fmt::format("{} nodes", quantized.model.graph.nodes.size()));
  }
  const auto document = [&quantized] { return ToJson(quantized); };
  if (!outcome->report) return Finish(options, kDone, document);
  if (options.SaysText()) PrintErrors(*outcome->report, TextStream(options.output));
  const auto written = WriteReport(*outcome->report, quantized.model, options.report);
  return written.has_value() ? Finish(options, kDone, document) : Fail(written.error());
}

}  // namespace qtx::cli
