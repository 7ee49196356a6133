// Operators of ONNX without a section: of axes, positions and the places of elements.
#include <algorithm>
#include <cmath>
#include <string>

#include "onnx_shapes.h"
#include "rules.h"

namespace qtx::format::catalogue {
namespace {

OnnxShapes OnnxOne(std::optional<Dims> dims) {
  return std::vector<std::optional<Dims>>{std::move(dims)};
}

// Axes -------------------------------------------------------------------------------------------

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

OnnxShapes OnnxUniqueShape(const Application& a) {
  QTX_ASSIGN_OR_RETURN(auto shapes, OnnxSelectedShape(a));
  shapes.resize(4, Dims{kUnknownSize});
  return shapes;
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

}  // namespace

void AddOnnxMovement(std::vector<OpSchema>& rows) {
  rows.push_back({.op_type = "Unique", .shape = OnnxUniqueShape});
  rows.push_back({.op_type = "TensorScatter",
                  .attributes = {{"axis", AttributeType::kInt, -2}},
                  .shape = OnnxTensorScatterShape});
  rows.push_back({.op_type = "Det", .shape = OnnxDetShape});
  rows.push_back({.op_type = "Upsample", .shape = OnnxUpsampleShape});
  rows.push_back({.op_type = "CenterCropPad", .shape = OnnxCenterCropPadShape});
  rows.push_back({.op_type = "Col2Im", .shape = OnnxCol2ImShape});
}

}  // namespace qtx::format::catalogue
