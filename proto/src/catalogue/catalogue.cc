#include "qtx/format/catalogue.h"

#include <algorithm>

#include "microsoft.h"
#include "onnx_shapes.h"
#include "qtx/format/onnx_operators.h"
#include "rules.h"

namespace qtx::format {
namespace {

const ValueFacts kAbsent;

std::string_view DomainOf(std::string_view domain) {
  return IsOnnxDomain(domain) ? std::string_view() : domain;
}

std::vector<OpSchema> MakeRows() {
  std::vector<OpSchema> rows;
  catalogue::AddElementwise(rows);
  catalogue::AddConvolutions(rows);
  catalogue::AddPools(rows);
  catalogue::AddResizing(rows);
  catalogue::AddMovement(rows);
  catalogue::AddSlicing(rows);
  catalogue::AddReshaping(rows);
  catalogue::AddEinsum(rows);
  catalogue::AddIndexing(rows);
  catalogue::AddReductions(rows);
  catalogue::AddMatrices(rows);
  catalogue::AddNormalizations(rows);
  catalogue::AddAttention(rows);
  catalogue::AddQuantizers(rows);
  catalogue::AddQLinear(rows);
  catalogue::AddRecurrent(rows);
  catalogue::AddGenerators(rows);
  catalogue::AddBits(rows);
  catalogue::AddMasks(rows);
  catalogue::AddRotaryEmbedding(rows);
  std::ranges::sort(rows, {},
                    [](const OpSchema& row) { return std::pair(row.domain, row.op_type); });
  return rows;
}

Error OfClause(std::string_view clause, Error error) {
  if (error.clause.empty()) error.clause = clause;
  return error;
}

// graph.C5, of inputs or of outputs.
Result<void> CheckCount(std::string_view what, const std::vector<ValueRule>& rules,
                        const std::vector<std::string>& names) {
  const bool variadic = !rules.empty() && rules.back().variadic;
  std::size_t least = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].optional) least = i + 1;
  }
  if (names.size() < least || (names.size() > rules.size() && !variadic)) {
    return catalogue::Refuse(std::string(what),
                             "found " + std::to_string(names.size()) + ", expected " +
                                 std::to_string(least) +
                                 (variadic                ? " or more"
                                  : least == rules.size() ? ""
                                                          : " to " + std::to_string(rules.size())));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ValueRule& rule = rules[std::min(i, rules.size() - 1)];
    const bool unread = rule.variadic && what == "output";  // any of those may be left out
    if (!names[i].empty() || rule.optional || unread) continue;
    return catalogue::Refuse(std::string(what) + "[" + std::to_string(i) + "]",
                             "'" + std::string(rule.name) + "' is required");
  }
  return {};
}

// graph.C6.
Result<void> CheckAttribute(const Application& a, const Attribute& attribute) {
  const std::string place = "attribute '" + attribute.name + "'";
  const AttributeRule* rule = a.schema.FindAttribute(attribute.name, a.opset);
  if (rule == nullptr) {
    return catalogue::Refuse(
        place, "operator " + std::string(a.schema.op_type) + " has none of this name");
  }
  if (attribute.type != rule->type) {
    return catalogue::Refuse(place, "found type " + catalogue::AttributeTypeName(attribute.type) +
                                        ", expected " + catalogue::AttributeTypeName(rule->type));
  }
  if (a.schema.domain.empty() && (a.opset < rule->since || a.opset > rule->until)) {
    return catalogue::Refuse(
        place, "opset " + std::to_string(a.opset) + " does not have it; it is of " +
                   (a.opset < rule->since ? std::to_string(rule->since) + " and later"
                                          : "at most " + std::to_string(rule->until)));
  }
  return {};
}

Result<void> CheckAttributes(const Application& a) {
  for (std::size_t i = 0; i < a.node.attributes.size(); ++i) {
    const Attribute& attribute = a.node.attributes[i];
    if (a.node.Find(attribute.name) != &attribute) {
      return catalogue::Refuse("attribute '" + attribute.name + "'", "is given twice");
    }
    QTX_RETURN_IF_ERROR(CheckAttribute(a, attribute));
  }
  for (const AttributeRule& rule : a.schema.attributes) {
    if (!rule.required || a.node.Find(rule.name) != nullptr) continue;
    return catalogue::Refuse("attribute '" + std::string(rule.name) + "'", "is required");
  }
  return {};
}

}  // namespace

namespace catalogue {

const OpSchema* FindRow(std::string_view domain, std::string_view op_type) {
  if (const OpSchema* section = FindSchema(domain, op_type)) return section;
  if (domain == kMicrosoftDomain) return FindMicrosoftOperator(op_type);
  if (!IsOnnxDomain(domain)) return nullptr;
  const OpSchema* row = FindOnnxShape(op_type);
  return row != nullptr ? row : FindRow(kMicrosoftDomain, op_type);
}

Result<void> CheckShapes(Application& a) {
  if (a.schema.shape == nullptr) return {};
  QTX_ASSIGN_OR_RETURN(const std::vector<std::optional<Dims>> shapes, a.schema.shape(a));
  for (std::size_t i = 0; i < std::min(shapes.size(), a.outputs.size()); ++i) {
    ValueFacts& output = a.outputs[i];
    if (!shapes[i]) continue;
    if (output.dims && Differ(*output.dims, *shapes[i])) {
      return BadOutput(a, i, "the declared shape " + ShapeText(*output.dims),
                       ShapeText(*shapes[i]));
    }
    if (!output.dims) output.dims = *shapes[i];
    for (std::size_t k = 0; k < output.dims->size(); ++k) {
      std::int64_t& size = (*output.dims)[k];
      if (!Known(size) && (*shapes[i])[k] != kUnknownSize) size = (*shapes[i])[k];
    }
  }
  return {};
}

}  // namespace catalogue

const ValueFacts& Application::Input(std::size_t i) const {
  return i < inputs.size() ? inputs[i] : kAbsent;
}

const ValueFacts& Application::Output(std::size_t i) const {
  return i < outputs.size() ? outputs[i] : kAbsent;
}

std::int64_t OnnxOpset(const Model& model) {
  const std::int64_t version = model.OpsetVersion("");
  return version == 0 ? catalogue::kNewestOpset : version;
}

ValueFacts FactsOf(const Tensor& tensor, bool there) {
  ValueFacts facts{.given = true, .type = tensor.elem_type, .dims = tensor.dims};
  if (there && !IsQuantized(tensor.elem_type)) facts.constant = &tensor;
  return facts;
}

ValueFacts FactsOf(const ValueInfo& declared) {
  ValueFacts facts{.given = true};
  if (!declared.type) return facts;
  facts.type = declared.type->elem_type;
  if (!declared.type->shape) return facts;
  facts.dims.emplace();
  for (const Dimension& dimension : *declared.type->shape) {
    facts.dims->push_back(std::max(dimension.value.value_or(kUnknownSize), kUnknownSize));
  }
  return facts;
}

const AttributeRule* OpSchema::FindAttribute(std::string_view name, std::int64_t opset) const {
  const AttributeRule* first = nullptr;
  for (const AttributeRule& rule : attributes) {
    if (rule.name != name) continue;
    if (opset >= rule.since && opset <= rule.until) return &rule;
    if (first == nullptr) first = &rule;
  }
  return first;
}

std::span<const OpSchema> Sections() {
  static const std::vector<OpSchema> kRows = MakeRows();
  return kRows;
}

const OpSchema* FindSchema(std::string_view domain, std::string_view op_type) {
  const auto rows = Sections();
  const auto key = std::pair(DomainOf(domain), op_type);
  const auto found = std::ranges::lower_bound(
      rows, key, {}, [](const OpSchema& row) { return std::pair(row.domain, row.op_type); });
  const bool is = found != rows.end() && found->domain == key.first && found->op_type == op_type;
  return is ? &*found : nullptr;
}

ElementType TypeOfOutput(const Application& a, std::size_t output) {
  return a.schema.type != nullptr ? a.schema.type(a, output) : a.Input(0).type;
}

std::int64_t NewestOpset() { return catalogue::kNewestOpset; }

Result<void> CheckApplication(Application& a) {
  for (const auto& [clause, checked] :
       {std::pair("graph.C5", CheckCount("input", a.schema.inputs, a.node.inputs)),
        std::pair("graph.C5", CheckCount("output", a.schema.outputs, a.node.outputs)),
        std::pair("graph.C6", CheckAttributes(a))}) {
    if (!checked.has_value()) return OfClause(clause, checked.error());
  }
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    ElementType& type = a.outputs[i].type;
    if (!a.outputs[i].given || type != ElementType::kUndefined) continue;
    type = TypeOfOutput(a, i);
    if (!IsQuantized(type)) continue;
    return OfClause("graph.C8", catalogue::Refuse(catalogue::OutputPlace(a, i),
                                                  "has no declared type, which parameters of " +
                                                      std::string(Name(type)) + " need"));
  }
  Result<void> defined;
  for (const ClauseCheck& check : a.schema.checks) {
    auto kept = check.rule(a);
    if (kept.has_value()) continue;
    Error error = OfClause(check.clause, std::move(kept).error());
    if (error.code != ErrorCode::kUnsupported) return error;
    if (defined.has_value()) defined = std::move(error);  // the others are asked, too
  }
  auto shapes = catalogue::CheckShapes(a);
  if (!shapes.has_value()) return OfClause(a.schema.shape_clause, std::move(shapes).error());
  return defined;
}

}  // namespace qtx::format
