#include "body_facts.h"

#include <algorithm>
#include <optional>

#include "catalogue/rules.h"

namespace qtx::format {
namespace {

// Of the axes that attribute `name` lists, that of scanned value `i`, which has that rank; 0 is the
// default.
std::optional<std::size_t> ScanAxis(const Application& node, const char* name, std::size_t i,
                                    std::size_t rank) {
  const Attribute* axes = node.Find(name);
  if (axes == nullptr || i >= axes->ints.size())
    return rank > 0 ? std::optional<std::size_t>(0) : std::nullopt;
  const auto size = static_cast<std::int64_t>(rank);
  const std::int64_t axis = axes->ints[i] < 0 ? axes->ints[i] + size : axes->ints[i];
  return axis >= 0 && axis < size ? std::optional(static_cast<std::size_t>(axis)) : std::nullopt;
}

// One of the values that `a` and `b` describe.
ValueFacts Either(const ValueFacts& a, const ValueFacts& b) {
  ValueFacts either{.given = true};
  if (a.type == b.type) either.type = a.type;
  if (!a.dims || !b.dims || a.dims->size() != b.dims->size()) return either;
  either.dims = a.dims;
  for (std::size_t k = 0; k < a.dims->size(); ++k) {
    if ((*a.dims)[k] != (*b.dims)[k]) (*either.dims)[k] = kUnknownSize;
  }
  return either;
}

// The length of the sequences that a Scan reads.
std::int64_t SequenceLength(const Application& node, std::size_t carried) {
  const ValueFacts& first = node.Input(carried);
  if (!first.dims) return kUnknownSize;
  const auto axis = ScanAxis(node, "scan_input_axes", 0, first.dims->size());
  return axis ? (*first.dims)[*axis] : kUnknownSize;
}

// The values of all iterations as one.
ValueFacts Stacked(const Application& node, const ValueFacts& one, std::size_t scan,
                   std::size_t carried) {
  ValueFacts all{.given = true, .type = one.type};
  if (!one.dims) return all;
  const bool is_scan = node.node.op_type == "Scan";
  const auto axis = is_scan ? ScanAxis(node, "scan_output_axes", scan, one.dims->size() + 1)
                            : std::optional<std::size_t>(0);
  if (!axis) return all;
  all.dims = one.dims;
  all.dims->insert(all.dims->begin() + static_cast<std::ptrdiff_t>(*axis),
                   is_scan ? SequenceLength(node, carried) : kUnknownSize);
  return all;
}

Result<void> Gain(const ValueFacts& found, Application& node, std::size_t i) {
  ValueFacts& output = node.outputs[i];
  if (output.type == ElementType::kUndefined) output.type = found.type;
  if (!found.dims) return {};
  if (!output.dims) output.dims = found.dims;
  if (catalogue::Differ(*output.dims, *found.dims)) {
    Error error = catalogue::Refuse(
        "output[" + std::to_string(i) + "] '" + node.node.outputs[i] + "'",
        "found the declared shape " + catalogue::ShapeText(*output.dims) + ", expected " +
            catalogue::ShapeText(*found.dims) + " as its bodies give");
    error.clause = "graph.C9";
    return error;
  }
  for (std::size_t k = 0; k < output.dims->size(); ++k) {
    if ((*output.dims)[k] == kUnknownSize) (*output.dims)[k] = (*found.dims)[k];
  }
  return {};
}

}  // namespace

std::optional<BodyForm> FormOfBody(const Application& a) {
  const std::size_t inputs = a.node.inputs.size();
  if (a.node.op_type == "If") return BodyForm{};
  if (a.node.op_type == "Loop") {
    if (inputs < 2) return std::nullopt;
    return BodyForm{.inputs = inputs, .before = 2, .results_before = 1, .carried = inputs - 2};
  }
  constexpr std::int64_t kWithoutBatch = 9;
  if (a.node.op_type != "Scan" || a.opset < kWithoutBatch) return std::nullopt;
  const std::int64_t scanned = a.node.IntOr("num_scan_inputs", 0);
  if (scanned < 1 || scanned > static_cast<std::int64_t>(inputs)) return std::nullopt;
  return BodyForm{.inputs = inputs, .carried = inputs - static_cast<std::size_t>(scanned)};
}

std::vector<ValueFacts> FactsOfBodyInputs(const Application& a, std::size_t count) {
  std::vector<ValueFacts> facts(count);
  const auto form = FormOfBody(a);
  if (!form) return facts;
  const bool is_loop = a.node.op_type == "Loop";
  for (std::size_t i = 0; i < std::min(count, form->inputs); ++i) {
    facts[i].given = true;
    if (i < form->before) {
      facts[i].type = i == 0 ? ElementType::kInt64 : ElementType::kBool;
      continue;
    }
    facts[i].type = a.Input(i).type;
    if (is_loop || !a.Input(i).dims) continue;
    facts[i].dims = a.Input(i).dims;
    if (i < form->carried) continue;
    const auto axis = ScanAxis(a, "scan_input_axes", i - form->carried, facts[i].dims->size());
    if (axis) facts[i].dims->erase(facts[i].dims->begin() + static_cast<std::ptrdiff_t>(*axis));
    if (!axis) facts[i].dims.reset();
  }
  return facts;
}

Result<void> AddFactsOfBodies(std::span<const std::vector<ValueFacts>> bodies, Application& a) {
  const auto form = FormOfBody(a);
  if (!form || bodies.empty()) return {};
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    const std::size_t k = i + form->results_before;
    if (std::ranges::any_of(bodies, [k](const auto& outputs) { return k >= outputs.size(); }))
      continue;
    ValueFacts found = bodies[0][k];
    for (const auto& outputs : bodies.subspan(1)) found = Either(found, outputs[k]);
    if (a.node.op_type != "If") {
      // After no iteration a carried value is the first one.
      found = i < form->carried ? Either(found, a.Input(i + form->before))
                                : Stacked(a, found, i - form->carried, form->carried);
    }
    found.constant = nullptr;
    QTX_RETURN_IF_ERROR(Gain(found, a, i));
  }
  return {};
}

}  // namespace qtx::format
