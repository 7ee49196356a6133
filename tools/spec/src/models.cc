// Compares a folder of models under both specs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "flips.h"
#include "parallel.h"
#include "qtx/format/check.h"

namespace qtx::spec {
namespace {

namespace fs = std::filesystem;
using Outputs = std::vector<format::Tensor>;

constexpr std::size_t kMaxModels = 100'000;
constexpr std::uint64_t kSeed = 1;

Result<std::vector<std::string>> FindModels(const std::string& folder) {
  std::error_code status;
  if (!fs::is_directory(folder, status)) {
    return Error{ErrorCode::kUnreadable, folder, "found no folder of that name"};
  }
  std::vector<std::string> paths;
  fs::recursive_directory_iterator entry(folder, status);
  for (; !status && entry != fs::recursive_directory_iterator(); entry.increment(status)) {
    const fs::path extension = entry->path().extension();
    if (!entry->is_regular_file(status) || (extension != ".onnx" && extension != ".tflite"))
      continue;
    paths.push_back(entry->path().lexically_relative(folder).generic_string());
    if (paths.size() > kMaxModels) {
      return Error{ErrorCode::kTooLarge, folder, "found more than 100000 models"};
    }
  }
  if (status) return Error{ErrorCode::kUnreadable, folder, status.message()};
  std::ranges::sort(paths);
  return paths;
}

// The broken rules, in order, without repeats: "quantization.C2 shape.C1".
std::string Rules(const std::vector<format::Finding>& findings) {
  std::vector<std::string> rules;
  for (const format::Finding& finding : findings) {
    if (std::ranges::find(rules, finding.rule) == rules.end()) rules.push_back(finding.rule);
  }
  std::string text;
  for (const std::string& rule : rules) text += (text.empty() ? "" : " ") + rule;
  return text.empty() ? "conforms" : text;
}

// Reals and stored integers are drawn uniformly. A plain integer is 0, since it is an index more
// often than not, and a single real 1, since it is a scale.
conformance::GeneratorKind KindFor(const format::TensorType& type) {
  if (format::IsQuantized(type.elem_type)) return conformance::GeneratorKind::kUniform;
  if (type.elem_type != format::ElementType::kFloat) return conformance::GeneratorKind::kZero;
  const bool single = std::ranges::all_of(
      *type.shape, [](const format::Dimension& dimension) { return dimension.value == 1; });
  return single ? conformance::GeneratorKind::kOneHot : conformance::GeneratorKind::kUniform;
}

// A case of the model with inputs of its own types. An open dimension is 1.
conformance::Case CaseOf(const format::Model& model) {
  conformance::Case c;
  for (const format::ValueInfo& info : model.graph.inputs) {
    if (model.graph.FindInitializer(info.name) != nullptr || !info.type) continue;
    conformance::CaseValue input;
    input.name = info.name;
    input.type = *info.type;
    for (format::Dimension& dimension :
         input.type.shape.emplace(info.type->shape.value_or(format::Shape()))) {
      if (!dimension.value) dimension = {.value = 1};
    }
    input.generator = {KindFor(input.type), kSeed};
    c.inputs.push_back(std::move(input));
  }
  return c;
}

ModelDifference Measure(const std::string& name, const format::Tensor& before,
                        const format::Tensor& after) {
  ModelDifference difference{.output = name, .elements = format::ElementCount(before)};
  const bool integer = format::IsIntegerStorage(format::StorageOf(before.elem_type));
  difference.unit = integer ? "LSB" : "real";
  if (before.elem_type != after.elem_type || before.dims != after.dims) {
    difference.differing = difference.elements;
    difference.largest = HUGE_VAL;
    return difference;
  }
  const auto note = [&difference](double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return;
    ++difference.differing;
    const double distance = std::abs(a - b);
    difference.largest = std::max(difference.largest, std::isnan(distance) ? HUGE_VAL : distance);
  };
  if (integer) {
    const auto a = format::UnpackIntegers(before);
    const auto b = format::UnpackIntegers(after);
    for (std::size_t i = 0; i < a.size(); ++i) {
      note(static_cast<double>(a[i]), static_cast<double>(b[i]));
    }
  } else {
    const auto a = format::StoredValues(before);
    const auto b = format::StoredValues(after);
    for (std::size_t i = 0; i < a.size(); ++i) note(a[i], b[i]);
  }
  return difference;
}

Result<Outputs> RunOn(const Result<conformance::BackendSource>& source, const format::Model& model,
                      const Outputs& inputs) {
  if (!source.has_value()) return source.error();
  QTX_ASSIGN_OR_RETURN(const auto backend, source->make());
  if (auto* isolated = dynamic_cast<conformance::IsolatedBackend*>(backend.get())) {
    isolated->BeginCase();
  }
  QTX_ASSIGN_OR_RETURN(const auto prepared, backend->Prepare(model, "exact"));
  return prepared->Run(inputs);
}

class ModelComparison {
 public:
  ModelComparison(const Proposal& proposal, const ReviewOptions& options)
      : proposal_(proposal),
        options_(options),
        before_(options.isolated(proposal.Before().features)),
        after_(options.isolated(proposal.After().features)) {}

  ModelEffect Compare(const std::string& path) const {
    const auto start = std::chrono::steady_clock::now();
    ModelEffect effect;
    effect.path = path;
    const auto model = options_.load(options_.models + "/" + path);
    if (model.has_value()) {
      Judge(*model, effect);
    } else {
      effect.outcome = ModelOutcome::kUnread;
      effect.why = model.error().Text();
    }
    effect.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return effect;
  }

 private:
  void Judge(const format::Model& model, ModelEffect& effect) const {
    const std::string before = Rules(format::Check(model, "", proposal_.Before().features));
    const std::string after = Rules(format::Check(model, "", proposal_.After().features));
    if (before != after) {
      effect.outcome = ModelOutcome::kChecksDiffer;
      effect.why = "check: " + before + " before, " + after + " with the feature";
      return;
    }
    if (before != "conforms") {
      effect.outcome = ModelOutcome::kNotRun;
      effect.why = "refused before and after: " + before;
      return;
    }
    const auto inputs = conformance::BuildInputs(CaseOf(model), model);
    if (!inputs.has_value()) return NotRun(inputs.error(), effect);
    const auto old_outputs = RunOn(before_, model, *inputs);
    // A model that the current spec refuses may run with the feature; one that timed out is not run
    // again.
    if (!old_outputs.has_value() && old_outputs.error().code == ErrorCode::kTimeout) {
      return NotRun(old_outputs.error(), effect);
    }
    const auto new_outputs = RunOn(after_, model, *inputs);
    if (!old_outputs.has_value() && !new_outputs.has_value()) {
      return NotRun(old_outputs.error(), effect);
    }
    if (!old_outputs.has_value() || !new_outputs.has_value()) {
      effect.outcome = ModelOutcome::kOutputsDiffer;
      effect.why = old_outputs.has_value()
                       ? "refused with the feature: " + new_outputs.error().Text()
                       : "refused before: " + old_outputs.error().Text();
      return;
    }
    Compare(model, *old_outputs, *new_outputs, effect);
  }

  static void NotRun(const Error& error, ModelEffect& effect) {
    effect.outcome = ModelOutcome::kNotRun;
    effect.why = error.Text();
  }

  static void Compare(const format::Model& model, const Outputs& before, const Outputs& after,
                      ModelEffect& effect) {
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
      ModelDifference difference = Measure(model.graph.outputs[i].name, before[i], after[i]);
      if (difference.differing == 0) continue;
      effect.outcome = ModelOutcome::kOutputsDiffer;
      effect.differences.push_back(std::move(difference));
    }
  }

  const Proposal& proposal_;
  const ReviewOptions& options_;
  Result<conformance::BackendSource> before_, after_;
};

}  // namespace

Result<std::vector<ModelEffect>> TryModels(const Proposal& proposal, const ReviewOptions& options) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FindModels(options.models));
  std::vector<ModelEffect> effects(paths.size());
  const ModelComparison comparison(proposal, options);
  InParallel("models", paths.size(), options,
             [&](std::size_t i) { effects[i] = comparison.Compare(paths[i]); });
  return effects;
}

}  // namespace qtx::spec
