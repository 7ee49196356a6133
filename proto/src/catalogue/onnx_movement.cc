// Operators of ONNX without a section: of axes, positions and the places of elements.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "onnx_shapes.h"
#include "rules.h"

namespace qtx::format::catalogue {
namespace {

OnnxShapes OnnxOne(std::optional<Dims> dims) {
  return std::vector<std::optional<Dims>>{std::move(dims)};
}

// Axes -------------------------------------------------------------------------------------------

OnnxShapes OnnxOneHotShape(const Application& a) {
  QTX_RETURN_IF_ERROR(IsScalar(1)(a));
  OnnxSizes sizes;
  QTX_RETURN_IF_ERROR(sizes.Take(a, 2, "2"));
  const std::int64_t depth = OnnxScalar(a.Input(1)).value_or(kUnknownSize);
  if (depth < kUnknownSize) return BadInput(a, 1, std::to_string(depth), "at least 0");
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 1)(a));
  const Dims* indices = DimsOf(a.Input(0));
  if (indices == nullptr) return OnnxOne(std::nullopt);
  const auto rank = static_cast<std::int64_t>(indices->size()) + 1;
  const std::int64_t axis = a.Int("axis");
  if (axis < -rank || axis >= rank) {
    return BadAttribute("axis", std::to_string(axis), "an axis of rank " + std::to_string(rank));
  }
  Dims dims = *indices;
  const auto at = static_cast<std::ptrdiff_t>(AxisOf(axis, static_cast<std::size_t>(rank)));
  dims.insert(dims.begin() + at, depth);
  return OnnxOne(std::move(dims));
}

// The input's shape, of which the size along `axis` is not known; one axis where no axis is given.
OnnxShapes OnnxSelectedShape(const Application& a) {
  const Attribute* axis = a.Find("axis");
  if (axis == nullptr) return OnnxOne(Dims{kUnknownSize});
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 1)(a));
  QTX_RETURN_IF_ERROR(AxisInRange("axis", 0)(a));
  std::optional<Dims> dims = a.Input(0).dims;
  if (dims) (*dims)[AxisOf(axis->i, dims->size())] = kUnknownSize;
  return OnnxOne(std::move(dims));
}

OnnxShapes OnnxCompressShape(const Application& a) {
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 1)(a));
  QTX_RETURN_IF_ERROR(RankIs(1, 1)(a));
  return OnnxSelectedShape(a);
}

OnnxShapes OnnxUniqueShape(const Application& a) {
  QTX_ASSIGN_OR_RETURN(auto shapes, OnnxSelectedShape(a));
  shapes.resize(4, Dims{kUnknownSize});
  return shapes;
}

OnnxShapes OnnxNonZeroShape(const Application& a) {
  return OnnxOne(Dims{RankOf(a.Input(0)), kUnknownSize});
}

OnnxShapes OnnxShapeOfIndices(const Application& a) { return OnnxOne(a.Input(1).dims); }

OnnxShapes OnnxReverseSequenceShape(const Application& a) {
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 2)(a));
  QTX_RETURN_IF_ERROR(RankIs(1, 1)(a));
  return ShapeOfFirst(a);
}

OnnxShapes OnnxTensorScatterShape(const Application& a) {
  QTX_RETURN_IF_ERROR(RankIs(2, 1)(a));
  const Dims* cache = DimsOf(a.Input(0));
  const Dims* update = DimsOf(a.Input(1));
  if (cache == nullptr || update == nullptr) return ShapeOfFirst(a);
  QTX_RETURN_IF_ERROR(RankIs(1, cache->size())(a));
  const auto rank = static_cast<std::int64_t>(cache->size());
  const std::int64_t axis = a.Int("axis") < 0 ? a.Int("axis") + rank : a.Int("axis");
  if (axis <= 0 || axis >= rank) {
    return BadAttribute("axis", std::to_string(a.Int("axis")),
                        "an axis of rank " + std::to_string(rank) + " behind the first");
  }
  for (std::size_t i = 0; i < cache->size(); ++i) {
    if (i == static_cast<std::size_t>(axis) || !Differ((*cache)[i], (*update)[i])) continue;
    return BadInput(a, 1, "shape " + ShapeText(*update),
                    ShapeText(*cache) + " but for axis " + std::to_string(axis));
  }
  if (a.Input(2).given && Differ(LengthOf(a.Input(2)), cache->front())) {
    return BadInput(a, 2, std::to_string(LengthOf(a.Input(2))) + " values",
                    std::to_string(cache->front()));
  }
  return ShapeOfFirst(a);
}

OnnxShapes OnnxDetShape(const Application& a) {
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 2)(a));
  std::optional<Dims> dims = a.Input(0).dims;
  if (!dims) return OnnxOne(std::nullopt);
  if (Differ(dims->back(), (*dims)[dims->size() - 2])) {
    return BadInput(a, 0, "shape " + ShapeText(*dims), "square matrices");
  }
  dims->resize(dims->size() - 2);
  return OnnxOne(std::move(dims));
}

// The Reduce family's other members: as the one that has a section.
OnnxShapes OnnxReduceShape(const Application& a) {
  static const OpSchema& kLike = *FindSchema("", "ReduceSumSquare");
  for (const ClauseCheck& check : kLike.checks) QTX_RETURN_IF_ERROR(check.rule(a));
  return kLike.shape(a);
}

// Sizes ------------------------------------------------------------------------------------------

// An attribute before opset 9, then an input.
OnnxShapes OnnxUpsampleShape(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return OnnxOne(std::nullopt);
  std::vector<double> scales(x->size());
  if (const Attribute* given = a.Find("scales")) {
    scales.assign(given->floats.begin(), given->floats.end());
  } else {
    const auto elements = FloatsOf(a.Input(1));
    if (!elements) return OnnxOne(Dims(x->size(), kUnknownSize));
    scales = *elements;
  }
  if (scales.size() != x->size()) {
    return Refuse("scales", "found " + std::to_string(scales.size()) + ", expected " +
                                std::to_string(x->size()));
  }
  Dims dims;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const double size = std::floor(static_cast<double>((*x)[i]) * scales[i]);
    const bool known = Known((*x)[i]) && size >= 0 && size < 1e15;
    dims.push_back(known ? static_cast<std::int64_t>(size) : kUnknownSize);
  }
  return OnnxOne(std::move(dims));
}

OnnxShapes OnnxCenterCropPadShape(const Application& a) {
  const ListArgument axes = ListOf(a, 99, "axes");
  QTX_RETURN_IF_ERROR(CheckAxes(axes, RankOf(a.Input(0))));
  if (!a.Input(0).dims) return OnnxOne(std::nullopt);
  Dims dims = *a.Input(0).dims;
  const auto sizes = IntegersOf(a.Input(1));
  const std::int64_t count = axes.given ? axes.length : RankOf(a.Input(0));
  if (sizes && static_cast<std::int64_t>(sizes->size()) != count) {
    return BadInput(a, 1, std::to_string(sizes->size()) + " values", std::to_string(count));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const std::size_t axis = axes.given ? AxisOf((*axes.values)[i], dims.size()) : i;
    dims[axis] = sizes ? (*sizes)[i] : kUnknownSize;
    if (sizes && dims[axis] < 0) return BadInput(a, 1, std::to_string(dims[axis]), "at least 0");
  }
  return OnnxOne(std::move(dims));
}

OnnxShapes OnnxCol2ImShape(const Application& a) {
  OnnxSizes sizes;
  QTX_RETURN_IF_ERROR(sizes.Take(a, 0, "NL_"));
  QTX_RETURN_IF_ERROR(sizes.Take(a, 1, "R"));
  QTX_RETURN_IF_ERROR(sizes.Take(a, 2, "R"));
  for (const std::string_view name : {"dilations", "pads", "strides"}) {
    const Attribute* list = a.Find(name);
    const auto each = name == "pads" ? std::size_t{2} : std::size_t{1};
    if (list == nullptr) continue;
    const auto axes = static_cast<std::int64_t>(list->ints.size() / each);
    if (list->ints.size() % each == 0 && !Differ(sizes['R'], axes)) continue;
    return BadAttribute(name, std::to_string(list->ints.size()) + " values",
                        std::to_string(each) + " for each axis of the image");
  }
  auto dims = DimsOfRank(SumOf(sizes['R'], 2));
  if (!dims) return OnnxOne(std::nullopt);
  (*dims)[0] = sizes['N'];
  std::int64_t block = kUnknownSize;
  if (const auto shape = IntegersOf(a.Input(2))) {
    for (const std::int64_t size : *shape) {
      if (size <= 0) return BadInput(a, 2, std::to_string(size), "at least 1");
    }
    block = CountOf(*shape);
  }
  if (Known(block) && Known(sizes['L'])) (*dims)[1] = sizes['L'] / block;
  if (const auto image = IntegersOf(a.Input(1)); image && image->size() + 2 == dims->size()) {
    std::ranges::copy(*image, dims->begin() + 2);
  }
  return OnnxOne(std::move(dims));
}

// Einsum -----------------------------------------------------------------------------------------

// The labels of one operand or of the result; '.' stands for each axis of an ellipsis.
struct EinsumTerm {
  std::string before, after;
  bool ellipsis = false;
};

EinsumTerm ReadEinsumTerm(std::string_view text) {
  EinsumTerm term;
  const std::size_t dots = text.find("...");
  term.ellipsis = dots != std::string_view::npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
    if (letter) (i < dots ? term.before : term.after) += text[i];
  }
  return term;
}

// What the operands say of the sizes of labels.
struct EinsumSizes {
  std::map<char, std::int64_t> labels;
  std::map<char, int> seen;
  std::optional<Dims> ellipsis;

  void Take(char label, std::int64_t size) {
    ++seen[label];
    std::int64_t& known = labels.emplace(label, size).first->second;
    if (known == 1 || !Known(known)) known = size;
  }

  Result<void> TakeOperand(const Application& a, std::size_t i, const EinsumTerm& term) {
    const Dims& dims = *a.Input(i).dims;
    const std::size_t named = term.before.size() + term.after.size();
    if (dims.size() < named || (dims.size() > named && !term.ellipsis)) {
      return BadInput(a, i, "shape " + ShapeText(dims), "rank " + std::to_string(named));
    }
    for (std::size_t k = 0; k < term.before.size(); ++k) Take(term.before[k], dims[k]);
    const std::size_t end = dims.size() - term.after.size();
    for (std::size_t k = 0; k < term.after.size(); ++k) Take(term.after[k], dims[end + k]);
    if (!term.ellipsis) return {};
    const auto at = [&](std::size_t k) { return dims.begin() + static_cast<std::ptrdiff_t>(k); };
    const Dims between(at(term.before.size()), at(end));
    if (!ellipsis) ellipsis = between;
    if (ellipsis->size() != between.size()) {
      return BadInput(a, i, std::to_string(between.size()) + " axes for '...'",
                      std::to_string(ellipsis->size()));
    }
    auto both = BroadcastOf(*ellipsis, between);
    if (!both.has_value()) return At(InputPlace(a, i), std::move(both).error());
    ellipsis = *std::move(both);
    return {};
  }

  Result<Dims> Shape(const EinsumTerm& term) const {
    Dims dims;
    const auto add = [&](const std::string& names) -> Result<void> {
      for (const char label : names) {
        const auto found = labels.find(label);
        if (found == labels.end()) {
          return BadAttribute("equation", std::string("label ") + label + " of the result",
                              "a label of an operand");
        }
        dims.push_back(found->second);
      }
      return {};
    };
    QTX_RETURN_IF_ERROR(add(term.before));
    if (term.ellipsis && ellipsis) dims.insert(dims.end(), ellipsis->begin(), ellipsis->end());
    QTX_RETURN_IF_ERROR(add(term.after));
    return dims;
  }
};

OnnxShapes OnnxEinsumShape(const Application& a) {
  const std::string equation = a.node.StringOr("equation", "");
  for (const ValueFacts& input : a.inputs) {
    if (!input.dims) return OnnxOne(std::nullopt);
  }
  const std::size_t arrow = equation.find("->");
  const std::string_view whole = equation;
  std::string_view left = whole.substr(0, arrow);
  EinsumSizes sizes;
  const auto operands = static_cast<std::size_t>(std::ranges::count(left, ',')) + 1;
  if (operands != a.inputs.size()) {
    return BadAttribute("equation", std::to_string(operands) + " operands",
                        std::to_string(a.inputs.size()));
  }
  for (std::size_t i = 0; i < operands; ++i) {
    const std::size_t comma = left.find(',');
    QTX_RETURN_IF_ERROR(sizes.TakeOperand(a, i, ReadEinsumTerm(left.substr(0, comma))));
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
  }
  EinsumTerm result{.ellipsis = true};
  if (arrow != std::string::npos) {
    result = ReadEinsumTerm(whole.substr(arrow + 2));
  } else {  // labels that occur once, in ASCII's order
    for (const auto& [label, count] : sizes.seen) {
      if (count == 1) result.after += label;
    }
  }
  QTX_ASSIGN_OR_RETURN(Dims dims, sizes.Shape(result));
  return OnnxOne(std::move(dims));
}

}  // namespace

void AddOnnxMovement(std::vector<OpSchema>& rows) {
  rows.push_back({.op_type = "OneHot",
                  .attributes = {{"axis", AttributeType::kInt, -1}},
                  .shape = OnnxOneHotShape});
  rows.push_back({.op_type = "Compress", .shape = OnnxCompressShape});
  rows.push_back({.op_type = "Unique", .shape = OnnxUniqueShape});
  rows.push_back({.op_type = "NonZero", .shape = OnnxNonZeroShape});
  rows.push_back({.op_type = "GatherElements", .shape = OnnxShapeOfIndices});
  rows.push_back({.op_type = "ReverseSequence", .shape = OnnxReverseSequenceShape});
  rows.push_back({.op_type = "TensorScatter",
                  .attributes = {{"axis", AttributeType::kInt, -2}},
                  .shape = OnnxTensorScatterShape});
  rows.push_back({.op_type = "Det", .shape = OnnxDetShape});
  for (const std::string_view op_type :
       {"ReduceL1", "ReduceLogSum", "ReduceLogSumExp", "ReduceProd"}) {
    rows.push_back({.op_type = op_type,
                    .attributes = {{"axes", AttributeType::kInts},
                                   {"keepdims", AttributeType::kInt, 1},
                                   {"noop_with_empty_axes", AttributeType::kInt, 0}},
                    .shape = OnnxReduceShape});
  }
  rows.push_back({.op_type = "Upsample", .shape = OnnxUpsampleShape});
  rows.push_back({.op_type = "CenterCropPad", .shape = OnnxCenterCropPadShape});
  rows.push_back({.op_type = "Col2Im", .shape = OnnxCol2ImShape});
  rows.push_back({.op_type = "Einsum", .shape = OnnxEinsumShape});
}

}  // namespace qtx::format::catalogue
