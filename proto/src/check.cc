#include "qtx/format/check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "check_rules.h"
#include "qtx/format/annotation.h"
#include "qtx/format/inference.h"
#include "qtx/format/levels.h"
#include "qtx/format/onnx_operators.h"

namespace qtx::format {
namespace {

std::string Place(const char* list, std::size_t i, const std::string& name) {
  return std::string("graph.") + list + "[" + std::to_string(i) + "] '" + name + "'";
}

// The rules of graph.md, versioning.md and origin.md, and the walk over everything that has a type.
class Checker {
 public:
  Checker(const Model& model, const std::string& file, Features features)
      : model_(model), view_(ModelView::Indexed(model)), features_(features), findings_(file) {}

  std::vector<Finding> Run() {
    Walk("input", model_.graph.inputs);
    Walk("output", model_.graph.outputs);
    Walk("value_info", model_.graph.values);
    CheckInitializers();
    CheckNodes();
    CheckOperators();
    CheckOutputsDefined();
    CheckOrigins();
    CheckImports();
    CheckVersion();
    CheckAnnotations();
    return findings_.Take();
  }

  /// What a node asks for that the text does not define: of the first such node, after Run.
  const std::optional<Error>& undefined() const { return undefined_; }
  /// After Run, once.
  Inference TakeInference() { return *std::move(inference_); }

 private:
  void Walk(const char* list, const std::vector<ValueInfo>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string place = Place(list, i, values[i].name);
      const auto [declared, inserted] = typed_.emplace(values[i].name, &values[i]);
      if (!inserted && declared->second->type != values[i].type) {
        findings_.Add("graph.C1", place, "the value is declared again with another type");
      }
      const bool defines = &values == &model_.graph.inputs;
      if (defines && !defined_.insert(values[i].name).second) {
        findings_.Add("graph.C1", place, "the value is defined twice");
      }
      if (!values[i].type) continue;
      quantized_ = quantized_ || static_cast<int>(values[i].type->elem_type) >= 1000;
      CheckLevelsOf(values[i], place);
      CheckType(view_, *values[i].type, place, features_, findings_);
    }
  }

  // quantization.C17, of a value; an annotation may be on any.
  void CheckLevelsOf(const ValueInfo& value, const std::string& place) {
    if (!value.type->quantization) return;
    const Quantization& q = *value.type->quantization;
    levels_ = levels_ || HasLevels(q);
    if (!HasBase(q) || !IsQuantized(value.type->elem_type) ||
        view_.FindInitializer(value.name) != nullptr) {
      return;
    }
    findings_.Add("quantization.C17", place + ": quantization.base_levels",
                  FoundExpected("a base on a value that is computed or given", "initializers"));
  }

  void CheckInitializers() {
    const auto& list = model_.graph.initializers;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string place = Place("initializer", i, list[i].name);
      if (!seen.insert(list[i].name).second) {
        findings_.Add("graph.C1", place, "the value is defined twice");
      }
      defined_.insert(list[i].name);
      const auto declared = typed_.find(list[i].name);
      if (declared == typed_.end() || !declared->second->type) continue;
      CheckInitializerType(view_, list[i], *declared->second->type, place, findings_);
    }
  }

  void CheckNodes() {
    for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      const Node& node = model_.graph.nodes[i];
      const std::string place = Place("node", i, node.name);
      for (const std::string& input : node.inputs) {
        if (input.empty() || defined_.contains(input)) continue;
        findings_.Add("graph.C2", place, "input '" + input + "' is not defined before it is used");
      }
      for (const std::string& output : node.outputs) {
        if (output.empty()) continue;
        if (!defined_.insert(output).second) {
          findings_.Add("graph.C1", place, "output '" + output + "' is defined twice");
        }
        const auto declared = typed_.find(output);
        if (declared == typed_.end() || !declared->second->type) continue;
        CheckRequantization(view_, node, *declared->second->type, "value '" + output + "'",
                            findings_);
      }
    }
  }

  // The clauses of spec/ops/, and those of graph.md about a node alone.
  void CheckOperators() {
    inference_.emplace(model_);
    for (const RefusedNode& broken : inference_->broken()) {
      const Error error = At(PlaceOf(broken), broken.error);
      findings_.Add(error.clause, error.where, error.message);
    }
    for (const RefusedNode& node : inference_->undefined()) {
      if (!undefined_) undefined_ = At(PlaceOf(node), node.error);
    }
  }

  std::string PlaceOf(const RefusedNode& refused) const {
    return Place("node", refused.node, model_.graph.nodes[refused.node].name);
  }

  void CheckOutputsDefined() {
    for (std::size_t i = 0; i < model_.graph.outputs.size(); ++i) {
      const std::string& name = model_.graph.outputs[i].name;
      if (defined_.contains(name)) continue;
      findings_.Add("graph.C3", Place("output", i, name), "nothing defines the output");
    }
  }

  void CheckOrigins() {
    std::map<std::string, const Origin*> groups;
    for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      const Node& node = model_.graph.nodes[i];
      if (!node.origin) continue;
      const std::string place = Place("node", i, node.name) + ": origin";
      if (node.origin->framework.empty() || node.origin->op_type.empty()) {
        findings_.Add("origin.C1", place, "expected framework and op_type");
      }
      if (node.origin->group.empty()) continue;
      const auto [first, inserted] = groups.emplace(node.origin->group, &*node.origin);
      if (inserted || *first->second == *node.origin) continue;
      findings_.Add("origin.C2", place,
                    "differs from that of an earlier node of group '" + node.origin->group + "'");
    }
  }

  void CheckImports() {
    std::map<std::string, std::int64_t> versions;
    for (const OpsetImport& import : model_.opset_imports) {
      const std::string domain = import.domain.empty() ? "ai.onnx" : import.domain;
      if (domain == "ai.onnx" && import.version > catalogue::kNewestOpset) {
        findings_.Add("versioning.C5", "opset_import",
                      FoundExpected("ai.onnx " + std::to_string(import.version),
                                    "at most " + std::to_string(catalogue::kNewestOpset)));
      }
      const auto [first, inserted] = versions.emplace(domain, import.version);
      if (inserted || first->second == import.version) continue;
      findings_.Add(
          "versioning.C4", "opset_import",
          FoundExpected("domain '" + domain + "' in versions " + std::to_string(first->second) +
                            " and " + std::to_string(import.version),
                        "one version of a domain"));
    }
  }

  void CheckVersion() {
    const std::int64_t version = model_.OpsetVersion(kDomain);
    if (version == 0 && !quantized_) return;
    const std::int64_t latest = features_.LatestVersion();
    if (version >= 1 && version < kLevelsVersion && levels_) {
      findings_.Add("versioning.C3", "opset_import",
                    FoundExpected("qtx " + std::to_string(version),
                                  "qtx " + std::to_string(kLevelsVersion) +
                                      ", because of scale_levels or base_levels"));
    }
    if (version >= 1 && version <= latest) return;
    findings_.Add(
        version == 0 ? "versioning.C1" : "versioning.C2", "opset_import",
        FoundExpected(version == 0 ? "none of domain qtx" : "qtx " + std::to_string(version),
                      "qtx 1" + (latest > 1 ? " to " + std::to_string(latest) : "")));
  }

  void CheckAnnotations() {
    const auto checked = CheckDigest(model_);
    if (checked.has_value()) return;
    findings_.Add("lowering.C1", checked.error().where, checked.error().message);
  }

  const Model& model_;
  const ModelView view_;
  Features features_;
  Findings findings_;
  std::map<std::string, const ValueInfo*> typed_;
  std::set<std::string> defined_;
  bool quantized_ = false;
  bool levels_ = false;
  std::optional<Inference> inference_;
  std::optional<Error> undefined_;
};

bool ValueHasLevels(const ValueInfo& value) {
  return value.type && value.type->quantization && HasLevels(*value.type->quantization);
}

void MakeLevelsUnknown(Quantization& q) {
  Quantization levels;
  levels.scale_levels = std::exchange(q.scale_levels, {});
  levels.base_levels = std::exchange(q.base_levels, {});
  q.unknown_fields += SerializeQuantization(levels);
}

bool Understands(const Model& model, Features features) {
  return features.Has(Feature::kHierarchicalScales) || !HasLevels(model);
}

}  // namespace

bool HasLevels(const Model& model) {
  const Graph& graph = model.graph;
  return std::ranges::any_of(graph.inputs, ValueHasLevels) ||
         std::ranges::any_of(graph.outputs, ValueHasLevels) ||
         std::ranges::any_of(graph.values, ValueHasLevels);
}

Model AsUnderstood(Model model, Features features) {
  if (Understands(model, features)) return model;
  for (auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (ValueInfo& value : *list) {
      if (ValueHasLevels(value)) MakeLevelsUnknown(*value.type->quantization);
    }
  }
  return model;
}

std::vector<Finding> Check(const Model& model, const std::string& file, Features features) {
  if (Understands(model, features)) return Checker(model, file, features).Run();
  const Model understood = AsUnderstood(model, features);
  return Checker(understood, file, features).Run();
}

Result<CheckedModel> CheckFirst(const Model& model, Features features) {
  const Model* understood = &model;
  std::optional<Model> copy;
  if (!Understands(model, features)) understood = &copy.emplace(AsUnderstood(model, features));
  Checker checker(*understood, "", features);
  std::vector<Finding> findings = checker.Run();
  if (findings.empty()) {
    if (checker.undefined()) return *checker.undefined();
    return CheckedModel(checker.TakeInference());
  }
  Finding& first = findings.front();
  return Error{ErrorCode::kInvalid, std::move(first.where), std::move(first.message),
               std::move(first.rule)};
}

std::vector<std::string> CheckedRules() {
  return {"element_types.C1",  "element_types.C2",  "element_types.C3", "element_types.C4",
          "element_types.C5",  "graph.C1",          "graph.C2",         "graph.C3",
          "graph.C4",          "graph.C5",          "graph.C6",         "graph.C7",
          "graph.C8",          "graph.C9",          "lowering.C1",      "origin.C1",
          "origin.C2",         "quantization.C1",   "quantization.C2",  "quantization.C3",
          "quantization.C4",   "quantization.C5",   "quantization.C6",  "quantization.C7",
          "quantization.C8",   "quantization.C9",   "quantization.C10", "quantization.C11",
          "quantization.C12",  "quantization.C13",  "quantization.C14", "quantization.C15",
          "quantization.C16",  "quantization.C17",  "quantization.C18", "requantization.C1",
          "requantization.C2", "requantization.C3", "shape.C1",         "shape.C2",
          "shape.C3",          "shape.C4",          "statistics.C1",    "statistics.C2",
          "statistics.C3",     "statistics.C4",     "statistics.C5",    "statistics.C6",
          "versioning.C1",     "versioning.C2",     "versioning.C3",    "versioning.C4",
          "versioning.C5"};
}

}  // namespace qtx::format
