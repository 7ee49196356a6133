#include "opset/opset.h"

#include <algorithm>
#include <charconv>

#include "onnx/flat_form.h"
#include "onnx/graph_index.h"
#include "opset/history.h"
#include "opset/step.h"
#include "qtx/format/onnx_operators.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::AttributeType;
using format::Node;
using format::catalogue::FindOnnxOperator;
using format::catalogue::OnnxAttribute;
using format::catalogue::OnnxOperator;

constexpr std::int64_t kInitializersAloneSince = 4;  // ir_version: before, each is a graph input

std::string Since(std::int64_t opset) { return "since opset " + std::to_string(opset); }

// True where a node without the attribute means the same.
bool IsNeutral(const Attribute& attribute, const OnnxAttribute& rule) {
  const std::string_view text = rule.otherwise;
  if (attribute.type != rule.type) return false;
  if (rule.name == "dilations")
    return std::ranges::all_of(attribute.ints, [](std::int64_t size) { return size == 1; });
  if (text.empty()) return false;
  if (rule.type == AttributeType::kInt) return std::to_string(attribute.i) == text;
  if (rule.type == AttributeType::kString) return attribute.s == text;
  float value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return rule.type == AttributeType::kFloat && code == std::errc() && attribute.f == value;
}

// Attributes, inputs and outputs that only the newer entry has, where they say nothing.
Result<void> DropAdded(OpsetStep& step, const OnnxOperator& newer, const OnnxOperator& older) {
  const auto added = step.node.attributes;
  for (const Attribute& attribute : added) {
    const auto has = [&](const OnnxOperator& entry) {
      const auto rules = entry.Attributes();
      const auto rule = std::ranges::find(rules, attribute.name, &OnnxAttribute::name);
      return rule == rules.end() ? nullptr : &*rule;
    };
    const OnnxAttribute* rule = has(newer);
    if (rule == nullptr || has(older) != nullptr) continue;
    if (!IsNeutral(attribute, *rule)) {
      return Unsupported("attribute '" + attribute.name + "'",
                         "says what a node says only " + Since(step.since));
    }
    step.Erase(attribute.name);
  }
  const auto trim = [](std::vector<std::string>& names, std::size_t most) {
    while (names.size() > most && names.back().empty()) names.pop_back();
  };
  trim(step.node.inputs, older.most_inputs);
  trim(step.node.outputs, older.most_outputs);
  return {};
}

Result<void> CheckValues(const Node& node, std::int64_t since, bool up) {
  for (const OpsetValue& row : OpsetValues()) {
    if (row.op_type != node.op_type || row.since != since || row.gone != up) continue;
    const Attribute* attribute = node.Find(row.attribute);
    if (attribute == nullptr || attribute->s != row.value) continue;
    return Unsupported("attribute '" + attribute->name + "'",
                       "found '" + attribute->s + "', which is there only " +
                           (up ? "before opset " + std::to_string(since) : Since(since)));
  }
  return {};
}

// A negative axis as one from the front. A row of kAxis has an axis or axes of the first input.
Result<void> CountFromTheFront(OpsetStep& step) {
  for (Attribute& attribute : step.node.attributes) {
    if (attribute.name != "axis" && attribute.name != "axes") continue;
    std::vector<std::int64_t> axes =
        attribute.type == AttributeType::kInt ? std::vector{attribute.i} : attribute.ints;
    if (std::ranges::all_of(axes, [](std::int64_t axis) { return axis >= 0; })) continue;
    auto rank = step.RankOf(0);
    if (!rank) {
      return Unsupported("attribute '" + attribute.name + "'",
                         "is negative, which it may be only " + Since(step.since) +
                             ", and the rank of the input is not known");
    }
    if (step.node.op_type == "Unsqueeze") *rank += std::ssize(axes);
    for (std::int64_t& axis : axes) axis += axis < 0 ? *rank : 0;
    if (attribute.type == AttributeType::kInt) {
      attribute.i = axes[0];
    } else {
      attribute.ints = axes;
    }
  }
  return {};
}

const OpsetForm* FormOf(const OpsetBoundary& boundary) {
  const auto forms = OpsetForms();
  const auto found = std::ranges::find_if(forms, [&](const OpsetForm& form) {
    return form.op_type == boundary.op_type && form.since == boundary.since;
  });
  return found == forms.end() ? nullptr : &*found;
}

Result<const OpsetBoundary*> BoundaryOf(const Node& node, std::int64_t since) {
  if (const OpsetBoundary* boundary = FindBoundary(node.op_type, since)) return boundary;
  return Unsupported("changed in opset " + std::to_string(since) + ", expected at least " +
                     std::to_string(kOldestOpset));
}

Result<void> StepUp(OpsetStep& step) {
  const OnnxOperator* entry = FindOnnxOperator(step.node.op_type, step.since);
  if (entry == nullptr || entry->since != step.since ||
      FindOnnxOperator(step.node.op_type, step.old()) == nullptr)
    return {};
  QTX_ASSIGN_OR_RETURN(const OpsetBoundary* boundary, BoundaryOf(step.node, step.since));
  QTX_RETURN_IF_ERROR(CheckValues(step.node, step.since, true));
  if (boundary->change == OpsetChange::kNamed) {
    const auto successors = OpsetSuccessors();
    const auto found = std::ranges::find(successors, boundary->op_type, &OpsetSuccessor::old_name);
    if (found != successors.end()) step.node.op_type = found->name;
    return {};
  }
  const OpsetForm* form = FormOf(*boundary);
  return form == nullptr || form->up == nullptr ? Result<void>() : form->up(step);
}

Result<void> StepDown(OpsetStep& step) {
  const OnnxOperator* newer = FindOnnxOperator(step.node.op_type, step.since);
  if (newer == nullptr || newer->since != step.since) return {};
  for (const OpsetSuccessor& row : OpsetSuccessors()) {
    if (row.name != step.node.op_type || row.since != step.since) continue;
    step.node.op_type = row.old_name;
    return {};
  }
  const OnnxOperator* older = FindOnnxOperator(step.node.op_type, step.old());
  if (older == nullptr) return Unsupported("is there only " + Since(step.since));
  QTX_ASSIGN_OR_RETURN(const OpsetBoundary* boundary, BoundaryOf(step.node, step.since));
  QTX_RETURN_IF_ERROR(CheckValues(step.node, step.since, false));
  if (boundary->change == OpsetChange::kAxis) QTX_RETURN_IF_ERROR(CountFromTheFront(step));
  const OpsetForm* form = FormOf(*boundary);
  if (form != nullptr && form->down != nullptr) QTX_RETURN_IF_ERROR(form->down(step));
  return DropAdded(step, *newer, *older);
}

// Whether ONNX has, or had, an operator of the node's name.
bool IsOnnxs(const Node& node) {
  return format::IsOnnxDomain(node.domain) &&
         FindOnnxOperator(node.op_type, format::catalogue::kNewestOpset) != nullptr;
}

// What the steps rely on: required inputs and outputs are there. Of an operator that ended ONNX
// checks nothing.
Result<void> CheckForm(const Node& node, std::int64_t opset) {
  const OnnxOperator* entry = FindOnnxOperator(node.op_type, opset);
  if (entry == nullptr || entry->deprecated) return {};
  const auto has = format::CheckOnnxForm(node, opset);
  return has.has_value() ? Result<void>() : At(PlaceOf(node), has.error());
}

// A node at `at`, over the boundary of `since`: at it, or after it.
Result<void> MoveNode(Node node, std::int64_t at, std::int64_t since, OpsetScope& scope,
                      Ledger& ledger, std::vector<Node>& moved) {
  const OnnxOperator* entry = IsOnnxs(node) ? FindOnnxOperator(node.op_type, since) : nullptr;
  if (entry == nullptr || entry->since != since) {
    moved.push_back(std::move(node));
    return {};
  }
  QTX_RETURN_IF_ERROR(CheckForm(node, at));
  const bool up = at < since;
  OpsetStep step(scope, node, since);
  const auto done = up ? StepUp(step) : StepDown(step);
  if (!done.has_value()) return At(PlaceOf(node), done.error());
  if (step.node != node) {
    ledger.Changed(
        node.outputs.empty() ? node.name : node.outputs[0], "op_type",
        node.op_type + " in the form of opset " + std::to_string(up ? since : since - 1));
  }
  std::ranges::move(step.before, std::back_inserter(moved));
  moved.push_back(std::move(step.node));
  std::ranges::move(step.after, std::back_inserter(moved));
  return {};
}

// The nodes of a flat graph, from `from` to `to`.
Result<void> MoveNodes(std::vector<Node>& nodes, std::int64_t from, std::int64_t to,
                       OpsetScope& scope, Ledger& ledger) {
  const std::int64_t step = from < to ? 1 : -1;
  for (std::int64_t at = from; at != to; at += step) {
    std::vector<Node> moved;
    moved.reserve(nodes.size());
    for (Node& node : nodes) {
      QTX_RETURN_IF_ERROR(
          MoveNode(std::move(node), at, std::max(at, at + step), scope, ledger, moved));
    }
    nodes = std::move(moved);
  }
  return {};
}

// What no step says: types that only one side has.
Result<void> CheckForms(const std::vector<Node>& nodes, std::int64_t opset,
                        const OpsetScope& scope) {
  for (const Node& node : nodes) {
    if (!IsOnnxs(node)) continue;
    std::vector<format::ElementType> inputs, outputs;
    for (const std::string& input : node.inputs) inputs.push_back(scope.TypeOf(input));
    for (const std::string& output : node.outputs) outputs.push_back(scope.TypeOf(output));
    const auto has = format::CheckOnnxForm(node, opset, inputs, outputs);
    if (has.has_value()) continue;
    const Error& error = has.error();
    return At(PlaceOf(node),
              Unsupported(error.where, "opset " + std::to_string(opset) + ": " + error.message));
  }
  return {};
}

Result<void> CheckRange(const char* what, std::int64_t opset, std::int64_t oldest) {
  const std::int64_t newest = format::NewestOpset();
  if (opset >= oldest && opset <= newest) return {};
  return Unsupported(std::string(what) + " " + std::to_string(opset),
                     "expected " + std::to_string(oldest) + " to " + std::to_string(newest));
}

// The flat form in another opset.
Result<format::Model> MoveFlat(const format::FlatModel& flat, std::int64_t from, std::int64_t to,
                               Ledger& ledger) {
  OpsetScope scope(flat);
  format::Model moved = flat.model();
  QTX_RETURN_IF_ERROR(MoveNodes(moved.graph.nodes, from, to, scope, ledger));
  QTX_RETURN_IF_ERROR(CheckForms(moved.graph.nodes, to, scope));
  scope.Finish(moved.graph);
  if (scope.adds()) moved.ir_version = std::max(moved.ir_version, kInitializersAloneSince);
  for (format::OpsetImport& import : moved.opset_imports) {
    if (format::IsOnnxDomain(import.domain)) import.version = to;
  }
  return moved;
}

}  // namespace

Result<format::Model> ToOpset(const format::Model& model, std::int64_t opset, Ledger& ledger) {
  const std::int64_t from = model.OpsetVersion("");
  if (from == opset) return model;
  QTX_RETURN_IF_ERROR(CheckRange("opset", opset, kOldestOpset));
  const format::FlatModel flat(model);
  if (from == 0 && std::ranges::none_of(flat.model().graph.nodes, IsOnnxs)) return model;
  QTX_RETURN_IF_ERROR(CheckRange("opset_import: opset", from, 1));
  Ledger moves;
  auto moved = MoveFlat(flat, from, opset, moves);
  if (!moved.has_value()) return flat.Readable(std::move(moved).error());
  for (const LedgerEntry& entry : moves.Take())
    ledger.Changed(flat.Readable(entry.value), entry.field, entry.why);
  ledger.Changed("model", "opset_import",
                 "opset " + std::to_string(from) + " is " + std::to_string(opset));
  return flat.Nest(*std::move(moved));
}

bool MeansTheSame(const Node& node, std::int64_t from, std::int64_t to) {
  if (from == to || !IsOnnxs(node)) return true;
  if (std::min(from, to) <= 0 || std::max(from, to) > format::NewestOpset()) return false;
  OpsetScope scope;
  Ledger ledger;
  std::vector<Node> nodes = {node};
  return MoveNodes(nodes, from, to, scope, ledger).has_value() && nodes.size() == 1 &&
         nodes[0] == node && format::CheckOnnxForm(node, to).has_value();
}

}  // namespace qtx::convert
