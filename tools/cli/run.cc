// qtx run: a model on a backend, inputs and outputs as files.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "backends.h"
#include "commands.h"
#include "feature_option.h"
#include "json.h"
#include "model_cache.h"
#include "node_times.h"
#include "progress.h"
#include "qtx/conformance/report.h"
#include "qtx/convert/convert.h"
#include "qtx/format/limits.h"
#include "qtx/format/npy.h"
#include "qtx/format/print.h"
#include "qtx/reference/interpreter.h"
#include "qtx/reference/profile.h"
#include "report_files.h"
#include "tensor_files.h"

namespace qtx::cli {
namespace {

using format::Tensor;
using format::ValueInfo;

struct RunOutcome {
  backend::Description backend;
  std::vector<Tensor> outputs;
  std::optional<reference::Counters> counters;  // of the reference, which alone has them
  std::vector<reference::Unmodelled> unmodelled;
  std::optional<NodeTimes> node_times;
};

// What the profile assigns; nothing without one.
Result<reference::Assignment> AssignmentOf(const format::Model& model, const RunOptions& options) {
  if (options.profile.empty()) return reference::Assignment{};
  const auto profile = reference::FindProfile(options.profile);
  if (!profile.has_value()) {
    return Error{ErrorCode::kUsage, "--profile " + options.profile, profile.error().message};
  }
  return reference::Assign(**profile, model);
}

// NODE=NAME; a node's name may itself hold '=', an arithmetic's does not.
Result<reference::Interpreter::NodeArithmetics> NodeArithmetics(const RunOptions& options) {
  reference::Interpreter::NodeArithmetics rows;
  for (const std::string& argument : options.node_arithmetics) {
    const std::string place = "--node-arithmetic " + argument;
    const std::size_t equals = argument.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorCode::kUsage, place, "expected NODE=NAME"};
    }
    const std::string name = argument.substr(equals + 1);
    const auto known = reference::FindArithmetic(name);
    if (!known.has_value()) return Error{ErrorCode::kUsage, place, known.error().message};
    if (!rows.emplace(argument.substr(0, equals), name).second) {
      return Error{ErrorCode::kUsage, place, "the node is repeated"};
    }
  }
  return rows;
}

// Only the reference has counters and arithmetics per node.
Result<RunOutcome> RunReference(const format::Model& model, const std::vector<Tensor>& inputs,
                                const reference::Interpreter::NodeArithmetics& by_node,
                                const RunOptions& options, WorkProgress& progress) {
  auto prepared = reference::Interpreter::Prepare(model, options.arithmetic, by_node,
                                                  FeaturesOf(options.features));
  if (!prepared.has_value()) {
    if (!prepared.error().where.starts_with("node '")) return At(options.model, prepared.error());
    return AsUsage("--node-arithmetic", prepared.error());
  }
  // Values that nodes make; bodies make theirs any number of times.
  std::set<std::string_view> left;
  for (const format::Node& node : model.graph.nodes)
    left.insert(node.outputs.begin(), node.outputs.end());
  left.erase("");  // an output that a node does not give
  const std::size_t all = left.size();
  prepared->set_observer([&](const std::string& name, const Tensor&) {
    if (left.erase(name) != 0) progress.Set(all - left.size(), all, name);
  });
  auto outputs = prepared->Run(inputs);
  if (!outputs.has_value()) return OfRequest(options.backend, options.model, outputs.error());
  return RunOutcome{{}, *std::move(outputs), prepared->counters(), {}, {}};
}

Result<RunOutcome> RunOn(const format::Model& model, const std::vector<Tensor>& inputs,
                         const RunOptions& options, WorkProgress& progress) {
  BackendOptions access = {.process = ProcessOptionsOf(options, options.timeout_seconds)};
  access.process.frame_limit = options.frame_limit_mib << 20;
  QTX_ASSIGN_OR_RETURN(const auto source, FindBackend(options.backend, access));
  const auto backend = source.make();
  if (!backend.has_value()) return OfRequest(options.backend, options.model, backend.error());
  const auto description = (*backend)->Describe();
  if (!description.has_value())
    return OfRequest(options.backend, options.model, description.error());
  if (std::ranges::find(description->arithmetics, options.arithmetic) ==
      description->arithmetics.end()) {
    return Error{ErrorCode::kUsage, "--arithmetic " + options.arithmetic,
                 fmt::format("backend '{}' has {}", options.backend,
                             fmt::join(description->arithmetics, ", "))};
  }
  if (source.is_reference) {
    if (options.node_times)
      return Error{ErrorCode::kUsage, "--node-times",
                   "the reference does not tell what its nodes take"};
    QTX_ASSIGN_OR_RETURN(auto by_node, NodeArithmetics(options));
    QTX_ASSIGN_OR_RETURN(auto assigned, AssignmentOf(model, options));
    by_node.merge(assigned.by_node);  // keeps what is asked for single nodes
    QTX_ASSIGN_OR_RETURN(RunOutcome outcome,
                         RunReference(model, inputs, by_node, options, progress));
    QTX_ASSIGN_OR_RETURN(outcome.unmodelled,
                         reference::FindUnmodelled(model, options.arithmetic, by_node,
                                                   FeaturesOf(options.features)));
    std::ranges::move(assigned.unknown, std::back_inserter(outcome.unmodelled));
    outcome.backend = *description;
    return outcome;
  }
  if (options.counters || !options.node_arithmetics.empty() || !options.features.empty() ||
      !options.profile.empty()) {
    return Error{ErrorCode::kUsage,
                 options.counters           ? "--counters"
                 : !options.profile.empty() ? "--profile"
                 : options.features.empty() ? "--node-arithmetic"
                                            : "--feature",
                 fmt::format("backend '{}' has none, expected 'reference'", options.backend)};
  }
  auto prepared = (*backend)->Prepare(model, options.arithmetic);
  if (!prepared.has_value()) return OfRequest(options.backend, options.model, prepared.error());
  auto outputs = (*prepared)->Run(inputs);
  if (!outputs.has_value()) return OfRequest(options.backend, options.model, outputs.error());
  std::optional<NodeTimes> node_times;
  if (options.node_times) {
    auto measured = MeasureNodes(**prepared, inputs);
    if (!measured.has_value()) return AsUsage("--node-times", measured.error());
    node_times = *std::move(measured);
  }
  if (outputs->size() != model.graph.outputs.size()) {
    return Error{ErrorCode::kProtocol, "--backend " + options.backend,
                 fmt::format("found {} outputs, expected the model's {}", outputs->size(),
                             model.graph.outputs.size())};
  }
  return RunOutcome{*description, *std::move(outputs), std::nullopt, {}, std::move(node_times)};
}

// The files of the model's outputs, none of which is a file of an input.
Result<std::vector<std::string>> OutputFiles(const format::Model& model,
                                             const RunOptions& options) {
  std::vector<OptionFile> inputs = TensorFiles(options.inputs);
  std::ranges::move(BackendFiles({options.backend}), std::back_inserter(inputs));
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < model.graph.outputs.size(); ++i) {
    const std::string file = format::FileName(model.graph.outputs[i].name, i) + ".npy";
    paths.push_back((std::filesystem::path(options.output_dir) / file).string());
    QTX_RETURN_IF_ERROR(CheckDistinct({{"--output-dir", paths.back()}}, inputs));
  }
  return paths;
}

Result<void> WriteOutputs(const std::vector<Tensor>& outputs, const std::vector<std::string>& paths,
                          const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(const auto made, format::OutputFolder::Make(folder));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const std::string bytes, format::ToNpy(outputs[i]));
    QTX_RETURN_IF_ERROR(format::WriteFileAtomically(paths[i], bytes));
  }
  return {};
}

std::string ToJson(const format::Model& model, const RunOutcome& outcome,
                   const std::vector<std::string>& paths, const std::string& arithmetic) {
  const std::vector<Tensor>& outputs = outcome.outputs;
  Json json("run");
  json.BeginObject();
  json.Field("backend", outcome.backend.name);
  json.Field("version", outcome.backend.version);
  json.Field("device", outcome.backend.device);
  json.Field("arithmetic", arithmetic);
  json.Key("outputs");
  json.BeginArray();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    json.BeginObject();
    json.Field("name", model.graph.outputs[i].name);
    json.Field("elem_type", format::Name(outputs[i].elem_type));
    json.Array("shape", outputs[i].dims);
    json.Field("file", paths[i]);
    json.EndObject();
  }
  json.EndArray();
  json.Array("unmodelled", outcome.unmodelled, [&json](const reference::Unmodelled& node) {
    json.BeginObject();
    json.Field("where", node.where);
    json.Field("says", node.says);
    json.EndObject();
  });
  if (outcome.counters) {
    json.Key("counters");
    json.BeginObject();
    json.Field("rounded", outcome.counters->rounded);
    json.Field("exact_fallbacks", outcome.counters->exact_fallbacks);
    json.EndObject();
  }
  json.EndObject();
  return json.Text();
}

void PrintOutcome(const format::Model& model, const RunOutcome& outcome,
                  const std::vector<std::string>& paths, const RunOptions& options) {
  for (std::size_t i = 0; options.SaysText() && i < paths.size(); ++i) {
    const Tensor& output = outcome.outputs[i];
    format::Print("{} {}{} -> {}\n", model.graph.outputs[i].name, format::Name(output.elem_type),
                  format::ToString(output.dims), paths[i]);
  }
  for (const reference::Unmodelled& node : outcome.unmodelled) {
    format::Print(stderr, "{}: {}\n", node.where, node.says);
  }
  if (outcome.node_times && options.SaysText()) {
    const std::string lines = format::PrintableLines(ToText(model, *outcome.node_times));
    format::Print("{}", format::Printable::Written(lines));
  }
  if (options.counters) {
    format::Print(stderr, "rounded {} results, {} by the exact fallback\n",
                  outcome.counters->rounded, outcome.counters->exact_fallbacks);
  }
}

}  // namespace

int Run(const RunOptions& options) {
  std::vector<OptionFile> files = TensorFiles(options.inputs);
  files.push_back({"the model", options.model});
  const auto writable = CheckOutputs({{"--json", options.json}}, files);
  if (!writable.has_value()) return Fail(writable.error());
  auto model = LoadModel(options.model);
  if (!model.has_value()) return Fail(model.error());
  if (auto moved = convert::InDefinedForms(*model)) *model = std::move(moved->model);
  const auto paths = OutputFiles(*model, options);
  if (!paths.has_value()) return Fail(paths.error());
  const auto inputs =
      ReadInputs(*model, options.inputs, options.arithmetic, FeaturesOf(options.features));
  if (!inputs.has_value()) return Fail(inputs.error());
  const auto outcome = [&] {
    WorkProgress progress(options.quiet, "running");
    return RunOn(*model, *inputs, options, progress);
  }();
  if (!outcome.has_value()) return Fail(outcome.error());
  const auto written = WriteOutputs(outcome->outputs, *paths, options.output_dir);
  if (!written.has_value()) return Fail(written.error());
  PrintOutcome(*model, *outcome, *paths, options);
  return Finish(options, kDone,
                [&] { return ToJson(*model, *outcome, *paths, options.arithmetic); });
}

}  // namespace qtx::cli
