// qtx compare: how far backends are from `exact`, layer by layer of a model.
#include <fmt/core.h>

#include <cmath>
#include <string>
#include <vector>

#include "backends.h"
#include "commands.h"
#include "json.h"
#include "model_cache.h"
#include "progress.h"
#include "qtx/conformance/layers.h"
#include "qtx/convert/convert.h"
#include "qtx/format/print.h"
#include "report_files.h"
#include "tensor_files.h"

namespace qtx::cli {
namespace {

using conformance::BackendDistances;
using conformance::LayerDistance;
using conformance::Measured;

std::string NodeName(const format::Node& node) {
  return node.name.empty() ? node.outputs.front() : node.name;
}

// "12.5 %      3 LSB  41.2": elements of other bits, the largest error, the SQNR.
std::string Cells(const Measured& measured) {
  if (!measured.has_value()) return fmt::format("{:>9} {:>10} {:>7}", "-", "-", "-");
  const auto& errors = measured->errors;
  if (measured->differing == 0) return fmt::format("{:>9} {:>10} {:>7}", "0", "0", "equal");
  if (!errors) return fmt::format("{:>9} {:>10} {:>7}", measured->differing, "-", "-");
  const std::string worst =
      errors->max_error_lsb > 0
          ? fmt::format("{:.4g} LSB", errors->max_error_lsb)
          : fmt::format("{:.2g}", errors->greatest > 0 ? errors->max_error / errors->greatest
                                                       : errors->max_error);
  return fmt::format("{:>9} {:>10} {:>7}", measured->differing, worst,
                     std::isinf(errors->sqnr_db) ? "inf" : fmt::format("{:.1f}", errors->sqnr_db));
}

std::string LayerLine(const format::Model& model, const LayerDistance& layer) {
  const format::Node& node = model.graph.nodes[layer.node];
  std::string text =
      fmt::format("{}  {}  {} {}{} '{}'\n", Cells(layer.alone), Cells(layer.in_model), node.op_type,
                  format::Name(layer.elem_type), format::ToString(layer.dims), NodeName(node));
  if (!layer.alone.has_value()) text += fmt::format("  alone: {}\n", layer.alone.error().Text());
  return text;
}

// What no value of the whole model has an answer for is said once.
std::string WholeError(const BackendDistances& distances) {
  for (const LayerDistance& layer : distances.layers) {
    if (layer.in_model.has_value()) return "";
  }
  return distances.layers.empty() ? "" : distances.layers.front().in_model.error().Text();
}

bool IsEqual(const Measured& measured) { return measured.has_value() && measured->differing == 0; }

std::string ToText(const format::Model& model, const BackendDistances& distances, bool all) {
  const auto& backend = distances.backend;
  std::string text = fmt::format("{} {} ({}), {}\n", backend.name, backend.version, backend.device,
                                 distances.arithmetic);
  text += fmt::format("{:^28}  {:^28}\n", "alone, on exact values", "in the whole model");
  const std::string titles = fmt::format("{:>9} {:>10} {:>7}", "differ", "worst", "dB");
  text += fmt::format("{}  {}  node\n", titles, titles);
  std::size_t alone = 0, in_model = 0;
  for (const LayerDistance& layer : distances.layers) {
    alone += IsEqual(layer.alone) ? 1 : 0;
    in_model += IsEqual(layer.in_model) ? 1 : 0;
    if (all || !IsEqual(layer.alone) || !IsEqual(layer.in_model)) text += LayerLine(model, layer);
  }
  const std::string whole = WholeError(distances);
  if (!whole.empty()) text += "  whole model: " + whole + "\n";
  return text + fmt::format("of {} values equal to exact: {} alone, {} in the whole model\n",
                            distances.layers.size(), alone, in_model);
}

void AddMeasured(Json& json, std::string_view key, const Measured& measured) {
  json.Key(key);
  json.BeginObject();
  if (!measured.has_value()) {
    json.Field("declined", measured.error().Text());
  } else {
    json.Field("differing", measured->differing);
    if (const auto& errors = measured->errors) {
      json.Field("sqnr_db", errors->sqnr_db);
      json.Field("max_error", errors->max_error);
      json.Field("max_error_lsb", errors->max_error_lsb);
      json.Field("greatest", errors->greatest);
      json.Field("cosine", errors->cosine);
    }
  }
  json.EndObject();
}

std::string ToJson(const format::Model& model, const std::vector<BackendDistances>& all) {
  Json json("compare");
  json.BeginObject();
  json.Array("backends", all, [&](const BackendDistances& distances) {
    json.BeginObject();
    json.Field("backend", distances.backend.name);
    json.Field("version", distances.backend.version);
    json.Field("device", distances.backend.device);
    json.Field("arithmetic", distances.arithmetic);
    json.Array("layers", distances.layers, [&](const LayerDistance& layer) {
      const format::Node& node = model.graph.nodes[layer.node];
      json.BeginObject();
      json.Field("node", NodeName(node));
      json.Field("op_type", node.op_type);
      json.Field("value", layer.value);
      json.Field("elem_type", format::Name(layer.elem_type));
      json.Array("shape", layer.dims);
      AddMeasured(json, "alone", layer.alone);
      AddMeasured(json, "in_model", layer.in_model);
      json.EndObject();
    });
    json.EndObject();
  });
  json.EndObject();
  return json.Text();
}

// Each backend in each arithmetic; with none in its first.
Result<std::vector<BackendDistances>> MeasureAll(const conformance::ExactLayers& exact,
                                                 const CompareOptions& options,
                                                 WorkProgress& progress) {
  BackendOptions access = {.process = ProcessOptionsOf(options, options.timeout_seconds)};
  access.process.frame_limit = options.frame_limit_mib << 20;
  std::vector<std::string> arithmetics = options.arithmetics;
  if (arithmetics.empty()) arithmetics.emplace_back();
  std::vector<BackendDistances> all;
  for (const std::string& name : options.backends) {
    QTX_ASSIGN_OR_RETURN(const auto source, FindBackend(name, access));
    for (const std::string& arithmetic : arithmetics) {
      auto distances = exact.Measure(
          source, arithmetic, [&](std::size_t done, std::size_t of, const std::string& node) {
            progress.Set(done, of, fmt::format("{} {}", name, node));
          });
      if (!distances.has_value()) return OfRequest(name, options.model, distances.error());
      all.push_back(*std::move(distances));
    }
  }
  return all;
}

Result<conformance::ExactLayers> ComputeExactly(const CompareOptions& options) {
  QTX_ASSIGN_OR_RETURN(format::Model model, LoadModel(options.model));
  if (auto moved = convert::InDefinedForms(model)) model = std::move(moved->model);
  QTX_ASSIGN_OR_RETURN(const auto inputs, ReadInputs(model, options.inputs, "exact"));
  auto exact = conformance::ExactLayers::Compute(std::move(model), inputs);
  if (!exact.has_value()) return At(options.model, exact.error());
  return exact;
}

}  // namespace

int Compare(const CompareOptions& options) {
  std::vector<OptionFile> files = TensorFiles(options.inputs);
  files.push_back({"the model", options.model});
  const auto writable = CheckOutputs({{"--json", options.json}}, files);
  if (!writable.has_value()) return Fail(writable.error());
  WorkProgress progress(options.quiet, "computing exactly");
  const auto exact = ComputeExactly(options);
  if (!exact.has_value()) return Fail(exact.error());
  const auto all = MeasureAll(*exact, options, progress);
  if (!all.has_value()) return Fail(all.error());
  for (const BackendDistances& distances : *all) {
    if (!options.SaysText()) break;
    const std::string lines =
        format::PrintableLines(ToText(exact->model(), distances, options.all));
    format::Print("{}", format::Printable::Written(lines));
  }
  return Finish(options, kDone, [&] { return ToJson(exact->model(), *all); });
}

}  // namespace qtx::cli
