// Einsum: an equation says which axes of the inputs run together.
// Source: spec/ops/einsum.md.
#include "qtx/format/einsum.h"

#include <algorithm>
#include <map>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

using EinsumShapes = std::vector<std::optional<Dims>>;

std::int64_t LettersOf(const std::string& term) {
  return std::ranges::count_if(term, [](char c) { return c != '.'; });
}

// einsum.C2.
Result<void> HasEquation(const Application& a) {
  const auto equation = ReadEinsumEquation(a.String("equation"));
  if (!equation.has_value()) return Refuse("attribute 'equation'", equation.error().message);
  if (equation->inputs.size() == a.inputs.size()) return {};
  return BadAttribute("equation", std::to_string(equation->inputs.size()) + " terms",
                      std::to_string(a.inputs.size()) + ", one for each input");
}

// The axes of the ellipses by the inputs whose rank is known; kUnknownSize where none says.
// REQUIRES: einsum.C2.
std::int64_t EllipsisAxes(const Application& a, const EinsumEquation& equation) {
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const std::string& term = equation.inputs[i];
    const bool has_ellipsis = term.find('.') != std::string::npos;
    if (has_ellipsis && Known(RankOf(a.Input(i)))) return RankOf(a.Input(i)) - LettersOf(term);
  }
  const bool any = std::ranges::any_of(
      equation.inputs, [](const std::string& term) { return term.find('.') != term.npos; });
  return any ? kUnknownSize : 0;
}

// einsum.C3.
Result<void> TermsFitRanks(const Application& a) {
  const EinsumEquation equation = *ReadEinsumEquation(a.String("equation"));
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const std::string& term = equation.inputs[i];
    const std::int64_t rank = RankOf(a.Input(i)), letters = LettersOf(term);
    if (!Known(rank)) continue;
    const bool has_ellipsis = term.find('.') != std::string::npos;
    if (has_ellipsis ? rank < letters : rank != letters) {
      return BadInput(a, i, "rank " + std::to_string(rank),
                      (has_ellipsis ? "at least " : "") + std::to_string(letters));
    }
    const std::int64_t axes = EllipsisAxes(a, equation);
    if (!has_ellipsis || rank - letters == axes) continue;
    return BadInput(a, i, std::to_string(rank - letters) + " axes for '...'", std::to_string(axes));
  }
  return {};
}

// einsum.C4.
Result<void> NamesAxesOfInputs(const Application& a) {
  const EinsumEquation equation = *ReadEinsumEquation(a.String("equation"));
  const std::string output = equation.output.value_or("");
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (output[i] == '.') continue;
    const std::string found = "letter '" + std::string(1, output[i]) + "' of the result";
    if (output.find(output[i]) != i) return BadAttribute("equation", found + " twice", "once");
    if (std::ranges::none_of(equation.inputs, [&](const std::string& term) {
          return term.find(output[i]) != term.npos;
        })) {
      return BadAttribute("equation", found, "a letter of an input");
    }
  }
  return {};
}

// einsum.S4, einsum.C5: the sizes of axes, as far as they follow. An input is at fault.
Result<std::map<std::int32_t, std::int64_t>> AxisSizes(const Application& a,
                                                       const EinsumEquation& equation) {
  std::map<std::int32_t, std::int64_t> sizes;
  const std::int64_t axes = EllipsisAxes(a, equation);
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const Dims* dims = DimsOf(a.Input(i));
    if (dims == nullptr) continue;
    const EinsumLabels labels = EinsumLabelsOf(equation.inputs[i], axes);
    for (std::size_t k = 0; k < labels.size(); ++k) {
      std::int64_t& size = sizes.emplace(labels[k], 1).first->second;
      const auto both = BroadcastOf({size}, {(*dims)[k]});
      if (!both.has_value()) {
        return BadInput(a, i,
                        "size " + std::to_string((*dims)[k]) + " of axis " + std::to_string(k),
                        std::to_string(size) + ", as other axes of its name");
      }
      size = both->front();
    }
  }
  return sizes;
}

Result<void> AxesAgree(const Application& a) {
  const auto sizes = AxisSizes(a, *ReadEinsumEquation(a.String("equation")));
  return sizes.has_value() ? Result<void>() : Result<void>(sizes.error());
}

// einsum.S1.
Result<EinsumShapes> EinsumShape(const Application& a) {
  const EinsumEquation equation = *ReadEinsumEquation(a.String("equation"));
  for (const ValueFacts& input : a.inputs) {
    if (DimsOf(input) == nullptr) return EinsumShapes{std::nullopt};
  }
  QTX_ASSIGN_OR_RETURN(const auto sizes, AxisSizes(a, equation));
  Dims dims;
  for (const std::int32_t label :
       EinsumLabelsOf(EinsumOutput(equation), EllipsisAxes(a, equation))) {
    dims.push_back(sizes.at(label));
  }
  return EinsumShapes{std::move(dims)};
}

}  // namespace

void AddEinsum(std::vector<OpSchema>& rows) {
  rows.push_back(
      {.op_type = "Einsum",
       .inputs = {{"x", false, true}},
       .outputs = {{"y"}},
       .attributes = {{.name = "equation", .type = AttributeType::kString, .required = true}},
       .checks = {{"einsum.C1", AllRealOrOne(kPlainTypes)},
                  {"einsum.C2", HasEquation},
                  {"einsum.C3", TermsFitRanks},
                  {"einsum.C4", NamesAxesOfInputs},
                  {"einsum.C5", AxesAgree}},
       .shape = EinsumShape,
       .shape_clause = "einsum.C6"});
}

}  // namespace qtx::format::catalogue
