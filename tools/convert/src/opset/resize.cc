#include "opset/resize.h"

#include <algorithm>
#include <cmath>

#include "qtx/format/shape.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Tensor;

constexpr std::size_t kRoi = 1, kScales = 2, kSizes = 3;  // inputs since 11

// Resize before 11 takes the pixel below; which one where the output is smaller it does not say.
Result<void> CheckNearest(const OpsetStep& step, std::size_t scales) {
  if (step.node.StringOr("mode", "nearest") != "nearest") return {};
  QTX_ASSIGN_OR_RETURN(const Tensor* tensor, step.Constant(scales));
  if (tensor->elem_type != ElementType::kFloat) return {};
  for (const float scale : tensor->As<float>()) {
    const float pixels = 1 / scale;
    if (scale >= 1 || pixels == std::floor(pixels)) continue;
    return Unsupported(step.PlaceOf(scales),
                       "found scale " + std::to_string(scale) +
                           "; before opset 11 the nearest pixel of a smaller image is undefined");
  }
  return {};
}

Tensor NoReals() {
  return {.elem_type = ElementType::kFloat, .dims = {0}, .quantization = std::nullopt, .bytes = {}};
}

// The axes of a node, which may count from the back, as axes of an input of `rank`.
Result<std::vector<std::size_t>> AxesFrom(const std::vector<std::int64_t>& axes,
                                          std::int64_t rank) {
  std::vector<std::size_t> places;
  for (const std::int64_t axis : axes) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t place, format::NormalizeAxis(axis, rank));
    if (std::ranges::find(places, static_cast<std::size_t>(place)) != places.end())
      return Invalid("found axis " + std::to_string(place) + " twice");
    places.push_back(static_cast<std::size_t>(place));
  }
  return places;
}

Error UnknownRank(const OpsetStep& step) {
  return Unsupported(step.PlaceOf(0), "is of an unknown rank; opset " + std::to_string(step.old()) +
                                          " has no axes and takes a value for each");
}

// The scales of some axes as those of all.
Result<void> SpreadScales(OpsetStep& step, const std::vector<std::size_t>& axes, std::size_t rank) {
  QTX_ASSIGN_OR_RETURN(const Tensor* tensor, step.Constant(kScales));
  if (tensor->elem_type != ElementType::kFloat || tensor->As<float>().size() != axes.size())
    return Invalid(step.PlaceOf(kScales), "expected a scale for each axis");
  std::vector<float> scales(rank, 1.0F);
  for (std::size_t i = 0; i < axes.size(); ++i) scales[axes[i]] = tensor->As<float>()[i];
  QTX_ASSIGN_OR_RETURN(Tensor spread, RealTensor(scales, ElementType::kFloat, false));
  step.DropInput(kScales);
  step.SetConstant(kScales, "scales", std::move(spread));
  return {};
}

Result<void> SpreadSizes(OpsetStep& step, const std::vector<std::size_t>& axes,
                         const format::Dims& dims) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> given, step.Integers(kSizes));
  if (given.size() != axes.size())
    return Invalid(step.PlaceOf(kSizes), "expected a size for each axis");
  std::vector<std::int64_t> sizes = dims;
  for (std::size_t i = 0; i < axes.size(); ++i) sizes[axes[i]] = given[i];
  if (std::ranges::any_of(sizes, [](std::int64_t size) { return size < 0; }))
    return Unsupported(step.PlaceOf(0), "has a size that is not known, and opset " +
                                            std::to_string(step.old()) +
                                            " takes one for each axis");
  step.DropInput(kSizes);
  step.SetConstant(kSizes, "sizes", IntegerTensor(sizes));
  return {};
}

}  // namespace

// Before 11: the coordinate times the scale, and of nearest ones the pixel below.
Result<void> ResizeTo11(OpsetStep& step) {
  QTX_RETURN_IF_ERROR(CheckNearest(step, 1));
  const std::string scales = step.node.inputs.at(1);
  step.SetInput(kScales, scales);
  step.SetConstant(kRoi, "roi", NoReals());
  step.Set(Attribute::String("coordinate_transformation_mode", "asymmetric"));
  if (step.node.StringOr("mode", "nearest") == "nearest")
    step.Set(Attribute::String("nearest_mode", "floor"));
  return {};
}

Result<void> ResizeFrom11(OpsetStep& step) {
  const auto refuse = [&](const std::string& place, const std::string& found) {
    return Unsupported(place, "found " + found +
                                  "; before opset 11 a coordinate is divided by the "
                                  "scale, and the nearest pixel is the one below");
  };
  if (step.Has(kSizes)) return refuse(step.PlaceOf(kSizes), "sizes");
  const std::string mode = step.node.StringOr("coordinate_transformation_mode", "half_pixel");
  if (mode != "asymmetric")
    return refuse("attribute 'coordinate_transformation_mode'", "'" + mode + "'");
  const bool nearest = step.node.StringOr("mode", "nearest") == "nearest";
  const std::string rounding = step.node.StringOr("nearest_mode", "round_prefer_floor");
  if (nearest && rounding != "floor")
    return refuse("attribute 'nearest_mode'", "'" + rounding + "'");
  QTX_RETURN_IF_ERROR(CheckNearest(step, kScales));
  for (const char* unused :
       {"coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a", "extrapolation_value"})
    step.Erase(unused);
  const std::string scales = step.node.inputs.at(kScales);
  step.DropInput(kRoi);
  step.node.inputs.resize(2);
  step.SetInput(1, scales);
  return {};
}

// Scales that sizes stand for are empty before 13, and absent from then on.
Result<void> ResizeTo13(OpsetStep& step) {
  if (step.Has(kSizes)) step.DropInput(kScales);
  return {};
}

Result<void> ResizeFrom13(OpsetStep& step) {
  if (!step.Has(kRoi)) step.SetConstant(kRoi, "roi", NoReals());
  if (!step.Has(kScales)) step.SetConstant(kScales, "scales", NoReals());
  return {};
}

Result<void> ResizeFrom18(OpsetStep& step) {
  const std::string policy = step.node.StringOr("keep_aspect_ratio_policy", "stretch");
  if (!step.Has(kSizes)) step.Erase("keep_aspect_ratio_policy");  // it is about sizes
  const Attribute* axes = step.node.Find("axes");
  if (axes == nullptr || (step.Has(kSizes) && policy != "stretch")) return {};
  const auto dims = step.DimsOf(0);
  if (!dims) return UnknownRank(step);
  if (step.node.StringOr("coordinate_transformation_mode", "") == "tf_crop_and_resize")
    return Unsupported("attribute 'axes'", "beside a region of interest");
  QTX_ASSIGN_OR_RETURN(const auto places, AxesFrom(axes->ints, std::ssize(*dims)));
  if (step.Has(kScales)) QTX_RETURN_IF_ERROR(SpreadScales(step, places, dims->size()));
  if (step.Has(kSizes)) QTX_RETURN_IF_ERROR(SpreadSizes(step, places, *dims));
  step.Erase("axes");
  return {};
}

Result<void> PadFrom18(OpsetStep& step) {
  constexpr std::size_t kPads = 1, kAxes = 3;
  if (!step.Has(kAxes)) return {};
  const auto rank = step.RankOf(0);
  if (!rank) return UnknownRank(step);
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> axes, step.Integers(kAxes));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> given, step.Integers(kPads));
  QTX_ASSIGN_OR_RETURN(const auto places, AxesFrom(axes, *rank));
  if (given.size() != 2 * places.size())
    return Invalid(step.PlaceOf(kPads),
                   "found " + std::to_string(given.size()) + " values, expected two for each axis");
  std::vector<std::int64_t> pads(static_cast<std::size_t>(2 * *rank));
  for (std::size_t i = 0; i < places.size(); ++i) {
    pads[places[i]] = given[i];
    pads[static_cast<std::size_t>(*rank) + places[i]] = given[places.size() + i];
  }
  step.DropInput(kAxes);
  step.DropInput(kPads);
  step.SetConstant(kPads, "pads", IntegerTensor(pads));
  return {};
}

}  // namespace qtx::convert
