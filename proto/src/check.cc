#include "qtx/format/check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "check_rules.h"
#include "qtx/format/annotation.h"
#include "qtx/format/check_unread.h"
#include "qtx/format/encoding.h"
#include "qtx/format/inference.h"
#include "qtx/format/levels.h"
#include "qtx/format/onnx_operators.h"
#include "qtx/format/scopes.h"

namespace qtx::format {
namespace {

constexpr const char* kRestore = "; qtx convert --restore puts back those of an older file";

// The rules of graph.md, versioning.md and origin.md, and the walk over everything that has a type.
class Checker {
 public:
  Checker(const FlatModel& flat, const std::string& file, Features features,
          bool reads_records = true)
      : flat_(flat),
        model_(flat.model()),
        view_(ModelView::Indexed(model_)),
        features_(features),
        reads_records_(reads_records),
        findings_(file) {}

  std::vector<Finding> Run() {
    Walk("input", model_.graph.inputs);
    Walk("output", model_.graph.outputs);
    Walk("value_info", model_.graph.values);
    CheckInitializers();
    CheckNodes();
    CheckOperators();
    CheckBodies(flat_, view_, *inference_, findings_);
    CheckOutputsDefined();
    CheckOrigins();
    CheckImports();
    CheckVersion();
    CheckDigests();
    std::vector<Finding> findings = findings_.Take();
    for (Finding& finding : findings) {
      finding.where = flat_.Readable(finding.where);
      finding.message = flat_.Readable(finding.message);
    }
    return findings;
  }

  /// What a node asks for that the text does not define: of the first such node, after Run.
  const std::optional<Error>& undefined() const { return undefined_; }
  /// After Run, once.
  Inference TakeInference() { return *std::move(inference_); }

 private:
  std::string Place(const char* list, std::size_t i, std::string_view name) const {
    return flat_.PlaceOf(list, i) + " '" + std::string(flat_.Bare(name)) + "'";
  }

  void Walk(const char* list, const std::vector<ValueInfo>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string place = Place(list, i, values[i].name);
      CheckHasName(values[i].name, place);
      const auto [declared, inserted] = typed_.emplace(values[i].name, &values[i]);
      if (!inserted && declared->second->type != values[i].type) {
        findings_.Add("graph.C1", place, "the value is declared again with another type");
      }
      const bool defines = &values == &model_.graph.inputs;
      if (defines && !defined_.insert(values[i].name).second) {
        findings_.Add("graph.C1", place, "the value is defined twice");
      }
      if (!values[i].type) continue;
      const auto code = static_cast<std::int64_t>(values[i].type->elem_type);
      quantized_ = quantized_ || (code >= 1000 && code < 2000);  // element_types.C1
      const bool initializer = view_.FindInitializer(values[i].name) != nullptr;
      if (!reads_records_ && initializer && IsEncoded(*values[i].type)) {
        version_ = std::max(version_, kEncodingVersion);
        continue;
      }
      if (!initializer) CheckForConstants(*values[i].type, place);
      const std::int64_t version = CheckType(view_, *values[i].type, values[i].name, place,
                                             initializer, features_, findings_);
      version_ = std::max(version_, version);
    }
  }

  void CheckHasName(std::string_view name, const std::string& place) {
    if (flat_.Bare(name).empty()) findings_.Add("graph.C1", place, "the value has no name");
  }

  // quantization.C17, C19 and encoding.C1, of a value that is no initializer; an annotation may be
  // on any.
  void CheckForConstants(const TensorType& type, const std::string& place) {
    if (!type.quantization || !IsQuantized(type.elem_type)) return;
    const std::string of_value = " on a value that is computed or given";
    if (HasBase(*type.quantization)) {
      findings_.Add("quantization.C17", place + ": quantization.base_levels",
                    FoundExpected("a base" + of_value, "initializers"));
    }
    if (IsEncoded(type)) {
      findings_.Add("encoding.C1", place + ": quantization.encoding",
                    FoundExpected("one" + of_value, "initializers"));
    }
    if (HasCodeBook(*type.quantization)) {
      findings_.Add("quantization.C19", place + ": quantization.code_book",
                    FoundExpected("a code book" + of_value, "initializers"));
    }
  }

  void CheckInitializers() {
    const auto& list = model_.graph.initializers;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string place = Place("initializer", i, list[i].name);
      CheckHasName(list[i].name, place);
      if (!seen.insert(list[i].name).second) {
        findings_.Add("graph.C1", place, "the value is defined twice");
      }
      defined_.insert(list[i].name);
      const auto declared = typed_.find(list[i].name);
      if (declared == typed_.end() || !declared->second->type) continue;
      const TensorType& type = *declared->second->type;
      if (const ElementType plain = type.elem_type;
          !IsQuantized(plain) && plain != ElementType::kUndefined && plain != list[i].data_type) {
        findings_.Add("graph.C1", place,
                      FoundExpected("elements of " + std::string(Name(list[i].data_type)),
                                    std::string(Name(plain)) + ", the type declared"));
      }
      CheckInitializerType(view_, list[i], type, place, findings_);
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
        CheckHidesNothing(output, place);
        const auto declared = typed_.find(output);
        if (declared == typed_.end() || !declared->second->type) continue;
        CheckRequantization(view_, node, *declared->second->type, "value '" + output + "'",
                            findings_);
      }
    }
  }

  void CheckHidesNothing(const std::string& output, const std::string& place) {
    const std::vector<Scope>& scopes = flat_.scopes();
    for (std::size_t scope = flat_.ScopeOf(output); scope != 0;) {
      scope = scopes[scope].parent;
      if (!defined_.contains(scopes[scope].prefix + std::string(flat_.Bare(output)))) continue;
      findings_.Add("graph.C10", place,
                    "output '" + output + "' has the name of a value that is visible there");
      return;
    }
  }

  // The clauses of spec/ops/, and those of graph.md about a node alone.
  void CheckOperators() {
    inference_.emplace(flat_);
    for (const RefusedNode& broken : inference_->broken()) {
      const Error error = At(PlaceOf(broken), broken.error);
      findings_.Add(error.clause, error.where, error.message);
    }
    for (const RefusedNode& node : inference_->undefined()) {
      if (undefined_) continue;
      undefined_ = At(PlaceOf(node), node.error);
      undefined_->where = flat_.Readable(undefined_->where);
      undefined_->message = flat_.Readable(undefined_->message);
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
    if (version >= 1 && version < version_) {
      const char* because = version_ == kLevelsVersion
                                ? ", because of scale_levels or base_levels"
                                : ", because of a code book, an encoding, a scale of 0 or below, "
                                  "real_type or what is said of a FLOAT16 or BFLOAT16";
      findings_.Add("versioning.C3", "opset_import",
                    FoundExpected("qtx " + std::to_string(version),
                                  "qtx " + std::to_string(version_) + because));
    }
    if (version >= 1 && version <= latest) return;
    findings_.Add(
        version == 0 ? "versioning.C1" : "versioning.C2", "opset_import",
        FoundExpected(version == 0 ? "none of domain qtx" : "qtx " + std::to_string(version),
                      "qtx 1" + (latest > 1 ? " to " + std::to_string(latest) : "")));
  }

  void CheckDigests() {
    if (const auto checked = CheckDigest(model_); !checked.has_value())
      findings_.Add("lowering.C1", checked.error().where, checked.error().message + kRestore);
    if (const auto checked = CheckStatisticsDigest(model_); !checked.has_value())
      findings_.Add("statistics.C7", checked.error().where, checked.error().message + kRestore);
  }

  const FlatModel& flat_;
  const Model& model_;  // the flat form
  const ModelView view_;
  Features features_;
  const bool reads_records_;
  Findings findings_;
  std::map<std::string, const ValueInfo*> typed_;
  std::set<std::string> defined_;
  bool quantized_ = false;
  std::int64_t version_ = kVersion;  // that its types ask for
  std::optional<Inference> inference_;
  std::optional<Error> undefined_;
};

bool ValueHasLevels(const ValueInfo& value) {
  return value.type && value.type->quantization && HasLevels(*value.type->quantization);
}
bool ValueHasEncoding(const ValueInfo& value) {
  return value.type && value.type->quantization && value.type->quantization->encoding;
}

bool ValueHasCodeBook(const ValueInfo& value) {
  return value.type && value.type->quantization && HasCodeBook(*value.type->quantization);
}

bool ValueHasRealType(const ValueInfo& value) {
  return value.type && value.type->quantization &&
         value.type->quantization->real_type != ElementType::kUndefined;
}

void MakeLevelsUnknown(Quantization& q) {
  Quantization levels;
  levels.scale_levels = std::exchange(q.scale_levels, {});
  levels.base_levels = std::exchange(q.base_levels, {});
  q.unknown_fields += SerializeQuantization(levels);
}

void MakeEncodingUnknown(Quantization& q) {
  Quantization encoding;
  encoding.encoding = std::exchange(q.encoding, {});
  q.unknown_fields += SerializeQuantization(encoding);
}

void MakeCodeBookUnknown(Quantization& q) {
  Quantization book;
  book.code_book = std::exchange(q.code_book, {});
  book.code_book_tensor = std::exchange(q.code_book_tensor, {});
  q.unknown_fields += SerializeQuantization(book);
}

void MakeRealTypeUnknown(Quantization& q) {
  Quantization real;
  real.real_type = std::exchange(q.real_type, ElementType::kUndefined);
  q.unknown_fields += SerializeQuantization(real);
}

template <typename Visit>
void ForEachValue(Graph& graph, const Visit& visit) {
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.values})
    std::ranges::for_each(*list, visit);
  for (Node& node : graph.nodes) {
    for (Attribute& attribute : node.attributes) {
      for (Graph& body : attribute.graphs) ForEachValue(body, visit);
    }
  }
}

// Whether `is` is true of any value of the graph or of a body.
using ValueTest = bool (*)(const ValueInfo&);

bool AnyValue(const Graph& graph, ValueTest is) {
  const auto node_has = [is](const Node& node) {
    return std::ranges::any_of(node.attributes, [is](const Attribute& attribute) {
      return std::ranges::any_of(attribute.graphs,
                                 [is](const Graph& body) { return AnyValue(body, is); });
    });
  };
  return std::ranges::any_of(graph.inputs, is) || std::ranges::any_of(graph.outputs, is) ||
         std::ranges::any_of(graph.values, is) || std::ranges::any_of(graph.nodes, node_has);
}

bool Understands(const Model& model, Features features) {
  return (features.Has(Feature::kHierarchicalScales) || !HasLevels(model)) &&
         (features.Has(Feature::kCodeBooks) || !AnyValue(model.graph, ValueHasCodeBook)) &&
         (features.Has(Feature::kEncodings) || !HasEncoding(model)) &&
         (features.Has(Feature::kHalfPrecisionReals) || !AnyValue(model.graph, ValueHasRealType));
}

}  // namespace

bool HasLevels(const Model& model) { return AnyValue(model.graph, ValueHasLevels); }
bool HasEncoding(const Model& model) { return AnyValue(model.graph, ValueHasEncoding); }

Model AsUnderstood(Model model, Features features) {
  if (Understands(model, features)) return model;
  const bool levels = features.Has(Feature::kHierarchicalScales);
  const bool code_books = features.Has(Feature::kCodeBooks);
  const bool encodings = features.Has(Feature::kEncodings);
  const bool real_types = features.Has(Feature::kHalfPrecisionReals);
  ForEachValue(model.graph, [&](ValueInfo& value) {
    if (!levels && ValueHasLevels(value)) MakeLevelsUnknown(*value.type->quantization);
    if (!code_books && ValueHasCodeBook(value)) MakeCodeBookUnknown(*value.type->quantization);
    if (!encodings && ValueHasEncoding(value)) MakeEncodingUnknown(*value.type->quantization);
    if (!real_types && ValueHasRealType(value)) MakeRealTypeUnknown(*value.type->quantization);
  });
  return model;
}

std::vector<Finding> Check(const Model& model, const std::string& file, Features features) {
  if (Understands(model, features)) return Checker(FlatModel(model), file, features).Run();
  const Model understood = AsUnderstood(model, features);
  return Checker(FlatModel(understood), file, features).Run();
}

std::vector<Finding> CheckWithoutRecords(const Model& model, const std::string& file) {
  return Checker(FlatModel(model), file, Features::Current(), false).Run();
}

Result<CheckedModel> CheckFirst(const Model& model, Features features) {
  const Model* understood = &model;
  std::optional<Model> copy;
  if (!Understands(model, features)) understood = &copy.emplace(AsUnderstood(model, features));
  const FlatModel flat(*understood);
  Checker checker(flat, "", features);
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
  return {"element_types.C1", "element_types.C2",  "element_types.C3",  "element_types.C4",
          "element_types.C5", "encoding.C1",       "encoding.C2",       "encoding.C3",
          "encoding.C4",      "encoding.C5",       "encoding.C6",       "encoding.C7",
          "encoding.C8",      "encoding.C9",       "encoding.C10",      "encoding.C11",
          "encoding.C12",     "graph.C1",          "graph.C2",          "graph.C3",
          "graph.C4",         "graph.C5",          "graph.C6",          "graph.C7",
          "graph.C8",         "graph.C9",          "graph.C10",         "graph.C11",
          "graph.C12",        "lowering.C1",       "origin.C1",         "origin.C2",
          "quantization.C1",  "quantization.C2",   "quantization.C3",   "quantization.C4",
          "quantization.C5",  "quantization.C6",   "quantization.C7",   "quantization.C8",
          "quantization.C9",  "quantization.C10",  "quantization.C11",  "quantization.C12",
          "quantization.C13", "quantization.C14",  "quantization.C15",  "quantization.C16",
          "quantization.C17", "quantization.C18",  "quantization.C19",  "quantization.C21",
          "quantization.C22", "requantization.C1", "requantization.C2", "requantization.C3",
          "shape.C1",         "shape.C2",          "shape.C3",          "shape.C4",
          "statistics.C1",    "statistics.C2",     "statistics.C3",     "statistics.C4",
          "statistics.C5",    "statistics.C6",     "statistics.C7",     "versioning.C1",
          "versioning.C2",    "versioning.C3",     "versioning.C4",     "versioning.C5"};
}

}  // namespace qtx::format
