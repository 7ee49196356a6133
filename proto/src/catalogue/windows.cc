// Operators of windows over spatial axes, and those that resize them: Conv and its like, pools,
// Resize, DepthToSpace, SpaceToDepth.  Source: spec/ops/, the sections that the rows name.
#include <algorithm>
#include <cmath>

#include "qtx/format/window.h"
#include "rules.h"

namespace qtx::format::catalogue {
namespace {

using WindowShapes = Result<std::vector<std::optional<Dims>>>;

constexpr TypeSet kWindowDouble = {ElementType::kDouble};
constexpr TypeSet kWindowBytes = {ElementType::kUint8, ElementType::kInt8};
constexpr TypeSet kWindowFloat = {ElementType::kFloat};

// Rules of all ------------------------------------------------------------------------------------

// [n, c, outputs...] of each output; not known past the limit of the axes.
WindowShapes WindowShapesOf(const Application& a, std::int64_t n, std::int64_t c,
                            const Result<std::vector<WindowAxis>>& axes) {
  std::vector<std::optional<Dims>> shapes(a.schema.outputs.size());
  if (!axes.has_value() && axes.error().code == ErrorCode::kTooLarge) return shapes;
  if (!axes.has_value()) return At(OutputPlace(a, 0), axes.error());
  Dims dims = {n, c};
  for (const WindowAxis& axis : *axes) dims.push_back(axis.output);
  std::ranges::fill(shapes, dims);
  return shapes;
}

Result<void> WindowAutoPad(const Application& a) { return CheckAutoPad(a.node); }

// No axis of input 0 is empty, from `first` on.
ClauseRule WindowNoEmptyAxis(std::size_t first) {
  return [=](const Application& a) -> Result<void> {
    const Dims* x = DimsOf(a.Input(0));
    if (x == nullptr) return {};
    const auto checked = std::span(*x).subspan(first);
    if (std::ranges::find(checked, 0) == checked.end()) return {};
    return BadInput(a, 0, "shape " + ShapeText(*x), "no empty axis");
  };
}

// Parameters that are inputs ----------------------------------------------------------------------

bool MayBeWindowScalar(const Dims& dims) { return dims.empty() || !Differ(dims, {1}); }

ClauseRule WindowScale(std::size_t i) {
  return [=](const Application& a) -> Result<void> {
    for (const double value : FloatsOf(a.Input(i)).value_or(std::vector<double>())) {
      if (value > 0 && std::isfinite(value)) continue;
      return BadInput(a, i, std::to_string(value), "a finite value greater than 0");
    }
    return {};
  };
}

ClauseRule WindowZeroPointType(std::size_t i, std::size_t of) {
  return [=](const Application& a) -> Result<void> {
    const ElementType type = a.Input(i).type;
    const ElementType expected = a.Input(of).type;
    const bool known = type != ElementType::kUndefined && expected != ElementType::kUndefined;
    if (!a.Input(i).given || !known || type == expected) return {};
    return BadInput(a, i, "type " + std::string(Name(type)),
                    std::string(Name(expected)) + ", as input " + std::to_string(of));
  };
}

// One element, or one for each filter of `w`.
ClauseRule WindowFilterParameter(std::size_t i, std::size_t w) {
  return [=](const Application& a) -> Result<void> {
    const Dims* dims = DimsOf(a.Input(i));
    const Dims* weights = DimsOf(a.Input(w));
    const bool known = weights != nullptr && !weights->empty();
    const std::int64_t filters = known ? weights->front() : kUnknownSize;
    if (dims == nullptr || MayBeWindowScalar(*dims) || !Differ(*dims, {filters})) return {};
    return BadInput(a, i, "shape " + ShapeText(*dims),
                    "one element, or one of " + ShapeText({filters}) + ", a filter each");
  };
}

// Conv and its like: x is input 0 -----------------------------------------------------------------

constexpr std::size_t kNoWindowBias = 99;

// conv.C2.
ClauseRule ConvRanks(std::size_t w) {
  return [=](const Application& a) -> Result<void> {
    QTX_RETURN_IF_ERROR(RankAtLeast(0, 3)(a));
    QTX_RETURN_IF_ERROR(RankAtLeast(w, 3)(a));
    const Dims* x = DimsOf(a.Input(0));
    return x == nullptr ? Result<void>() : RankIs(w, x->size())(a);
  };
}

// Shapes of x and w, of which one at least is known.
struct ConvShapes {
  Dims x, w;
  std::size_t rank() const { return x.size() - 2; }
  std::span<const std::int64_t> input() const { return std::span(x).subspan(2); }
  std::span<const std::int64_t> kernel() const { return std::span(w).subspan(2); }
};

// REQUIRES: ConvRanks.
std::optional<ConvShapes> ConvShapesOf(const Application& a, std::size_t w) {
  const Dims* x = DimsOf(a.Input(0));
  const Dims* weights = DimsOf(a.Input(w));
  if (x == nullptr && weights == nullptr) return std::nullopt;
  const Dims unknown(x != nullptr ? x->size() : weights->size(), kUnknownSize);
  return ConvShapes{x != nullptr ? *x : unknown, weights != nullptr ? *weights : unknown};
}

// conv.C3.
ClauseRule ConvGroups(std::size_t w) {
  return [=](const Application& a) -> Result<void> {
    const std::int64_t group = a.Int("group");
    if (group < 1) return BadAttribute("group", std::to_string(group), "at least 1");
    const auto shapes = ConvShapesOf(a, w);
    if (!shapes) return {};
    const std::int64_t channels = shapes->x[1];
    const std::int64_t filters = shapes->w[0];
    if (Known(channels) && (channels % group != 0 || Differ(channels / group, shapes->w[1]))) {
      return BadInput(a, w, "shape " + ShapeText(shapes->w),
                      "channels that times group " + std::to_string(group) + " are those of x, " +
                          std::to_string(channels));
    }
    if (!Known(filters) || (filters > 0 && filters % group == 0)) return {};
    return BadInput(a, w, std::to_string(filters) + " filters",
                    "a multiple of group " + std::to_string(group) + ", other than 0");
  };
}

// conv.C4.
ClauseRule ConvBias(std::size_t w, std::size_t b) {
  return [=](const Application& a) -> Result<void> {
    const Dims* bias = DimsOf(a.Input(b));
    const auto shapes = ConvShapesOf(a, w);
    const std::int64_t filters = shapes ? shapes->w[0] : kUnknownSize;
    if (bias == nullptr || !Differ(*bias, {filters})) return {};
    return BadInput(a, b, "shape " + ShapeText(*bias), ShapeText({filters}));
  };
}

// conv.C5.
ClauseRule ConvKernel(std::size_t w) {
  return [=](const Application& a) -> Result<void> {
    const auto shapes = ConvShapesOf(a, w);
    if (a.Find("kernel_shape") != nullptr) {
      QTX_RETURN_IF_ERROR(
          CheckKernelShape(a.node, shapes ? std::optional(shapes->rank()) : std::nullopt));
    }
    if (!shapes) return {};
    const Dims kernel(shapes->kernel().begin(), shapes->kernel().end());
    if (std::ranges::find(kernel, 0) != kernel.end()) {
      return BadInput(a, w, "shape " + ShapeText(shapes->w), "spatial sizes of at least 1");
    }
    const Dims attribute = a.node.IntsOr("kernel_shape", kernel);
    if (!Differ(attribute, kernel)) return {};
    return BadAttribute("kernel_shape", ShapeText(attribute), ShapeText(kernel) + ", as w has");
  };
}

// conv.C6.
ClauseRule ConvAttributes(std::size_t w) {
  return [=](const Application& a) -> Result<void> {
    const auto shapes = ConvShapesOf(a, w);
    return CheckWindowAttributes(a.node, shapes ? std::optional(shapes->rank()) : std::nullopt);
  };
}

// conv.C2 to conv.C7.
ClauseRule ConvNode(std::size_t w, std::size_t b) {
  return Both({ConvRanks(w), ConvGroups(w), ConvBias(w, b), ConvKernel(w), ConvAttributes(w),
               WindowAutoPad});
}

template <std::size_t kWeights>
WindowShapes ConvShape(const Application& a) {
  const auto shapes = ConvShapesOf(a, kWeights);
  if (!shapes) return std::vector<std::optional<Dims>>{std::nullopt};
  return WindowShapesOf(a, shapes->x[0], shapes->w[0],
                        WindowAxes(a.node, shapes->input(), shapes->kernel()));
}

// q_linear_conv.C1.
Result<void> QLinearConvTypes(const Application& a) {
  for (const std::size_t scale : {1U, 4U, 6U}) {
    QTX_RETURN_IF_ERROR(InputTypes(scale, kWindowFloat)(a));
  }
  for (const std::size_t stored : {0U, 2U, 3U, 5U, 7U}) {
    QTX_RETURN_IF_ERROR(InputTypes(stored, kWindowBytes)(a));
  }
  QTX_RETURN_IF_ERROR(WindowZeroPointType(2, 0)(a));
  QTX_RETURN_IF_ERROR(WindowZeroPointType(5, 3)(a));
  QTX_RETURN_IF_ERROR(InputTypes(8, {ElementType::kInt32})(a));
  QTX_RETURN_IF_ERROR(OutputTypes(0, kWindowBytes)(a));
  const ElementType zero_point = a.Input(7).type;
  if (zero_point == ElementType::kUndefined) return {};
  return OutputTypes(0, {zero_point})(a);
}

// q_linear_conv.C2.
Result<void> QLinearConvScales(const Application& a) {
  for (const std::size_t scale : {1U, 4U, 6U}) {
    QTX_RETURN_IF_ERROR(WindowScale(scale)(a));
    const Dims* expected = DimsOf(a.Input(scale));
    const Dims* found = DimsOf(a.Input(scale + 1));
    if (expected == nullptr || found == nullptr || !Differ(*expected, *found)) continue;
    if (MayBeWindowScalar(*expected) && MayBeWindowScalar(*found)) continue;
    return BadInput(a, scale + 1, "shape " + ShapeText(*found),
                    ShapeText(*expected) + ", as its scale");
  }
  return {};
}

ElementType TypeOfConvZeroPoint(const Application& a, std::size_t) { return a.Input(7).type; }

// conv_transpose.C3.
Result<void> TransposedGroups(const Application& a) {
  const std::int64_t group = a.Int("group");
  if (group < 1) return BadAttribute("group", std::to_string(group), "at least 1");
  const auto shapes = ConvShapesOf(a, 1);
  if (!shapes) return {};
  for (const std::int64_t channels : {shapes->x[1], shapes->w[0]}) {
    if (!Known(channels) || channels % group == 0) continue;
    return BadAttribute("group", std::to_string(group),
                        "a divisor of " + std::to_string(channels) + " channels");
  }
  if (!Differ(shapes->x[1], shapes->w[0]) && shapes->w[1] != 0) return {};
  return BadInput(a, 1, "shape " + ShapeText(shapes->w),
                  "the channels of x, " + ShapeText({shapes->x[1]}) + ", and filters");
}

// conv_transpose.C4.
Result<void> TransposedBias(const Application& a) {
  QTX_RETURN_IF_ERROR(RankIs(2, 1)(a));
  const Dims* bias = DimsOf(a.Input(2));
  const auto shapes = ConvShapesOf(a, 1);
  if (bias == nullptr || !Known(bias->front()) || !shapes) return {};
  const std::int64_t group = a.Int("group");
  const std::int64_t filters = shapes->w[1];
  if (bias->front() % group == 0 && !Differ(bias->front() / group, filters)) return {};
  return BadInput(a, 2, "shape " + ShapeText(*bias),
                  "group " + std::to_string(group) + " times " + ShapeText({filters}));
}

// conv_transpose.C6.
Result<void> TransposedAttributes(const Application& a) {
  const auto shapes = ConvShapesOf(a, 1);
  return CheckTransposedWindowAttributes(a.node,
                                         shapes ? std::optional(shapes->rank()) : std::nullopt);
}

WindowShapes TransposedShape(const Application& a) {
  const auto shapes = ConvShapesOf(a, 1);
  if (!shapes) return std::vector<std::optional<Dims>>{std::nullopt};
  const auto filters = Known(shapes->w[1]) ? ElementCount(Dims{a.Int("group"), shapes->w[1]})
                                           : Result<std::int64_t>(kUnknownSize);
  return WindowShapesOf(a, shapes->x[0], filters.value_or(kUnknownSize),
                        TransposedWindowAxes(a.node, shapes->input(), shapes->kernel()));
}

// Pools -------------------------------------------------------------------------------------------

// average_pool.C3.
Result<void> PoolKernel(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  return CheckKernelShape(a.node, x != nullptr ? std::optional(x->size() - 2) : std::nullopt);
}

// lp_pool.C4.
Result<void> PoolAttributes(const Application& a) {
  QTX_RETURN_IF_ERROR(CheckPoolAttributes(a.node));
  return IntWithin("ceil_mode", 0, 1)(a);
}

// REQUIRES: the rank of x is known.
Result<std::vector<WindowAxis>> PoolAxes(const Application& a) {
  return WindowAxes(a.node, std::span(*a.Input(0).dims).subspan(2),
                    a.node.IntsOr("kernel_shape", {}));
}

// max_pool.C4.
Result<void> MaxPoolAttributes(const Application& a) {
  QTX_RETURN_IF_ERROR(PoolAttributes(a));
  if (DimsOf(a.Input(0)) == nullptr) return {};
  const auto axes = PoolAxes(a);
  if (!axes.has_value() || std::ranges::none_of(*axes, HasWindowInPadding)) return {};
  return BadAttribute("dilations", "a window that lies wholly in padding",
                      "an element of x in each, since padding does not count");
}

// average_pool.C4.
Result<void> AveragePoolAttributes(const Application& a) {
  return a.Int("count_include_pad") != 0 ? PoolAttributes(a) : MaxPoolAttributes(a);
}

WindowShapes PoolShape(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return std::vector<std::optional<Dims>>(a.schema.outputs.size());
  return WindowShapesOf(a, (*x)[0], (*x)[1], PoolAxes(a));
}

WindowShapes GlobalPoolShape(const Application& a) {
  std::optional<Dims> dims = a.Input(0).dims;
  if (dims) std::fill(dims->begin() + 2, dims->end(), 1);
  return std::vector<std::optional<Dims>>{std::move(dims)};
}

ElementType MaxPoolType(const Application& a, std::size_t output) {
  return output == 0 ? a.Input(0).type : ElementType::kInt64;
}

// q_linear_average_pool.C1.
Result<void> QLinearPoolTypes(const Application& a) {
  QTX_RETURN_IF_ERROR(InputTypes(0, kWindowBytes)(a));
  QTX_RETURN_IF_ERROR(OutputTypes(0, kWindowBytes)(a));
  return OutputsFollowInput()(a);
}

// q_linear_average_pool.C2.
Result<void> QLinearPoolParameters(const Application& a) {
  for (const std::size_t scale : {1U, 3U}) {
    QTX_RETURN_IF_ERROR(InputTypes(scale, kWindowFloat)(a));
    QTX_RETURN_IF_ERROR(IsScalar(scale)(a));
    QTX_RETURN_IF_ERROR(WindowScale(scale)(a));
    QTX_RETURN_IF_ERROR(WindowZeroPointType(scale + 1, 0)(a));
    QTX_RETURN_IF_ERROR(IsScalar(scale + 1)(a));
  }
  return {};
}

// Resize ------------------------------------------------------------------------------------------

constexpr std::size_t kResizeRoi = 1;
constexpr std::size_t kResizeScales = 2;
constexpr std::size_t kResizeSizes = 3;

bool ResizeCrops(const Application& a) {
  return a.String("coordinate_transformation_mode") == "tf_crop_and_resize";
}

// nullopt where it is not known: an empty tensor is as if it were not given.
std::optional<bool> ResizeHas(const Application& a, std::size_t i) {
  if (!a.Input(i).given) return false;
  const Dims* dims = DimsOf(a.Input(i));
  if (dims == nullptr) return std::nullopt;
  if (std::ranges::find(*dims, 0) != dims->end()) return false;
  return AllKnown(*dims) ? std::optional(true) : std::nullopt;
}

// The axes that roi, scales and sizes speak of.  REQUIRES: resize.C4; the rank of x is known.
Indices ResizedAxes(const Application& a) {
  const std::size_t rank = a.Input(0).dims->size();
  Indices axes;
  if (const Attribute* named = a.Find("axes")) {
    for (const std::int64_t axis : named->ints) axes.push_back(AxisOf(axis, rank));
  } else {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  return axes;
}

// `each` values for each of those axes.
Result<void> ResizeCount(const Application& a, std::size_t i, std::int64_t each) {
  QTX_RETURN_IF_ERROR(RankIs(i, 1)(a));
  const Attribute* named = a.Find("axes");
  const Dims* x = DimsOf(a.Input(0));
  if (named == nullptr && x == nullptr) return {};
  const auto axes = static_cast<std::int64_t>(named != nullptr ? named->ints.size() : x->size());
  const Dims& dims = *a.Input(i).dims;
  if (!Differ(dims[0], each * axes)) return {};
  return BadInput(a, i, "shape " + ShapeText(dims), ShapeText({each * axes}));
}

// resize.C1.
Result<void> ResizeTypes(const Application& a) {
  QTX_RETURN_IF_ERROR(OutputsFollowInput()(a));
  if (ResizeCrops(a)) return InputTypes(0, kRealTypes)(a);
  return a.String("mode") == "linear" ? InputTypes(0, kRealTypes | kPlainTypes)(a) : Result<void>();
}

constexpr const char* kResizeOldCoordinates = "tf_half_pixel_for_nn";  // before opset 13

// resize.C2.
Result<void> ResizeModes(const Application& a) {
  QTX_RETURN_IF_ERROR(StringOneOf("mode", {"nearest", "linear", "cubic"})(a));
  std::vector<std::string_view> coordinates = {"half_pixel",         "half_pixel_symmetric",
                                               "pytorch_half_pixel", "align_corners",
                                               "asymmetric",         "tf_crop_and_resize"};
  if (a.opset < 13) coordinates.push_back(kResizeOldCoordinates);
  QTX_RETURN_IF_ERROR(StringOneOf("coordinate_transformation_mode", std::move(coordinates))(a));
  QTX_RETURN_IF_ERROR(
      StringOneOf("nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})(a));
  QTX_RETURN_IF_ERROR(IntWithin("antialias", 0, 1)(a));
  QTX_RETURN_IF_ERROR(
      StringOneOf("keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"})(a));
  const std::string policy = a.String("keep_aspect_ratio_policy");
  if (policy == "stretch" || !ResizeHas(a, kResizeScales).value_or(false)) return {};
  return BadAttribute("keep_aspect_ratio_policy", policy, "stretch beside scales");
}

// resize.C8.
Result<void> ResizeDefined(const Application& a) {
  if (a.String("mode") == "cubic") return UndefinedAttribute("mode", "cubic");
  const char* const coordinates = "coordinate_transformation_mode";
  if (a.String(coordinates) == kResizeOldCoordinates) {
    return UndefinedAttribute(coordinates, kResizeOldCoordinates);
  }
  return a.Int("antialias") == 0 ? Result<void>() : UndefinedAttribute("antialias", "1");
}

// resize.C3.
Result<void> ResizeExtent(const Application& a) {
  const auto scales = ResizeHas(a, kResizeScales);
  const auto sizes = ResizeHas(a, kResizeSizes);
  if (scales && sizes && *scales == *sizes) {
    return Refuse("inputs", *sizes ? "found scales and sizes, expected one of them"
                                   : "found neither scales nor sizes, expected one of them");
  }
  if (scales.value_or(false)) {
    QTX_RETURN_IF_ERROR(InputTypes(kResizeScales, kWindowFloat)(a));
    QTX_RETURN_IF_ERROR(ResizeCount(a, kResizeScales, 1));
    return WindowScale(kResizeScales)(a);
  }
  if (!sizes.value_or(false)) return {};
  QTX_RETURN_IF_ERROR(InputTypes(kResizeSizes, {ElementType::kInt64})(a));
  QTX_RETURN_IF_ERROR(ResizeCount(a, kResizeSizes, 1));
  for (const std::int64_t size : IntegersOf(a.Input(kResizeSizes)).value_or(Dims())) {
    if (size >= 0) continue;
    return BadInput(a, kResizeSizes, std::to_string(size), "at least 0");
  }
  return {};
}

// resize.C4.
Result<void> ResizeAxes(const Application& a) {
  const Attribute* named = a.Find("axes");
  const Dims* x = DimsOf(a.Input(0));
  if (named == nullptr || x == nullptr) return {};
  const auto rank = static_cast<std::int64_t>(x->size());
  std::vector<bool> seen(x->size());
  for (const std::int64_t axis : named->ints) {
    const bool within = axis >= -rank && axis < rank;
    if (!within || seen[AxisOf(axis, x->size())]) {
      return BadAttribute("axes", std::to_string(axis) + (within ? " twice" : ""),
                          "different axes of rank " + std::to_string(rank));
    }
    seen[AxisOf(axis, x->size())] = true;
  }
  return {};
}

// resize.C5.
Result<void> ResizeCrop(const Application& a) {
  const auto roi = ResizeHas(a, kResizeRoi);
  if (!ResizeCrops(a) || !roi) return {};
  if (!*roi) return Refuse(InputPlace(a, kResizeRoi), "is not given, for tf_crop_and_resize");
  QTX_RETURN_IF_ERROR(InputTypes(
      kResizeRoi, {ElementType::kFloat, ElementType::kFloat16, ElementType::kDouble})(a));
  QTX_RETURN_IF_ERROR(ResizeCount(a, kResizeRoi, 2));
  const auto ends = FloatsOf(a.Input(kResizeRoi)).value_or(std::vector<double>());
  for (const double end : ends) {
    if (!std::isfinite(end)) return BadInput(a, kResizeRoi, std::to_string(end), "finite values");
  }
  const std::size_t half = ends.size() / 2;
  for (std::size_t i = 0; ResizeHas(a, kResizeScales).value_or(false) && i < half; ++i) {
    if (ends[half + i] >= ends[i]) continue;
    return BadInput(a, kResizeRoi, std::to_string(ends[half + i]),
                    "an end of at least its start, " + std::to_string(ends[i]));
  }
  return {};
}

// resize.C6: sizes alone can say something else.
Result<void> ResizeEmptyAxes(const Application& a) {
  const auto sizes = IntegersOf(a.Input(kResizeSizes));
  if (!sizes || DimsOf(a.Input(0)) == nullptr) return {};
  const Dims& x = *a.Input(0).dims;
  const Indices axes = ResizedAxes(a);
  for (std::size_t i = 0; i < std::min(axes.size(), sizes->size()); ++i) {
    if (x[axes[i]] != 0 || (*sizes)[i] == 0) continue;
    return BadInput(a, kResizeSizes, std::to_string((*sizes)[i]),
                    "0 for axis " + std::to_string(axes[i]) + ", which is empty");
  }
  return {};
}

// The integer `units` and the exponent that make the value units * 2^exponent.
struct ResizeFactor {
  explicit ResizeFactor(double value)
      : units(static_cast<std::uint64_t>(std::ldexp(std::frexp(value, &exponent), 53))) {
    exponent -= 53;
  }
  int exponent = 0;
  std::uint64_t units;
};

// floor(size * scale * part), exactly; kUnknownSize for an axis or a result of 2^50 or more.
// REQUIRES: scale is a binary32; no factor is below 0.
std::int64_t ResizedSize(std::int64_t size, double scale, double part) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  if (size >= kMost) return kUnknownSize;
  const ResizeFactor a(scale);
  const ResizeFactor b(part);
  unsigned __int128 product = static_cast<unsigned __int128>(a.units >> 29U) * b.units;
  product *= static_cast<std::uint64_t>(size);  // below 2^(24 + 53 + 50)
  const int exponent = a.exponent + 29 + b.exponent;
  if (product == 0 || exponent <= -128) return 0;
  if (exponent < 0) {
    product >>= static_cast<unsigned>(-exponent);
    return product < kMost ? static_cast<std::int64_t>(product) : kUnknownSize;
  }
  if (exponent > 50 || product >= (static_cast<unsigned __int128>(kMost) >> exponent)) {
    return kUnknownSize;
  }
  return static_cast<std::int64_t>(product << static_cast<unsigned>(exponent));
}

// resize.S2: where end - start is no binary64, both neighbours must agree.
std::int64_t CroppedSize(std::int64_t size, double scale, double start, double end) {
  const double part = end - start;
  if (!Known(size)) return scale == 1 && start == 0 && end == 1 ? size : kUnknownSize;
  if (!std::isfinite(part) || part < 0) return kUnknownSize;
  const double shared = part - end;  // the remainder of the difference: Knuth's two-sum
  const double rest = (end - (part - shared)) - (start + shared);
  const double bound = rest == 0 ? part : std::nextafter(part, rest > 0 ? INFINITY : 0);
  const std::int64_t result = ResizedSize(size, scale, part);
  return result == ResizedSize(size, scale, bound) ? result : kUnknownSize;
}

// resize.S3, with one scale of all axes; not known where a size is not, or is 0.
void SetProportionalSizes(const Indices& axes, const Dims& sizes, bool least, Dims* dims) {
  using Wide = __int128;
  const Dims x = *dims;
  for (const std::size_t axis : axes) (*dims)[axis] = kUnknownSize;
  std::int64_t size = 0;
  std::int64_t of = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t from = x[axes[i]];
    if (from < 1) return;
    const Wide own = Wide{sizes[i]} * of;
    const Wide best = Wide{size} * from;
    if (of != 0 && (least ? own >= best : own <= best)) continue;
    size = sizes[i];
    of = from;
  }
  for (const std::size_t axis : axes) {
    const Wide rounded = (Wide{size} * x[axis] + of / 2) / of;  // floor(length + 1/2)
    if (rounded <= INT64_MAX) (*dims)[axis] = static_cast<std::int64_t>(rounded);
  }
}

// `count` values, where they are known.
template <typename T>
std::optional<std::vector<T>> ResizeValues(
    const Application& a, std::size_t i, std::size_t count,
    std::optional<std::vector<T>> (*read)(const ValueFacts&)) {
  if (!ResizeHas(a, i).value_or(false)) return std::nullopt;
  auto values = read(a.Input(i));
  return values && values->size() == count ? std::move(values) : std::nullopt;
}

// resize.S2, resize.S3.
WindowShapes ResizeShape(const Application& a) {
  if (DimsOf(a.Input(0)) == nullptr) return std::vector<std::optional<Dims>>{std::nullopt};
  Dims dims = *a.Input(0).dims;
  const Indices axes = ResizedAxes(a);
  const std::size_t count = axes.size();
  const auto sizes = ResizeValues(a, kResizeSizes, count, IntegersOf);
  const auto scales = ResizeValues(a, kResizeScales, count, FloatsOf);
  auto roi = ResizeValues(a, kResizeRoi, 2 * count, FloatsOf);
  if (!ResizeCrops(a)) {
    roi = std::vector<double>(2 * count);
    std::fill(roi->begin() + static_cast<std::ptrdiff_t>(count), roi->end(), 1);
  }
  const std::string policy = a.String("keep_aspect_ratio_policy");
  if (sizes && policy != "stretch") {
    SetProportionalSizes(axes, *sizes, policy == "not_larger", &dims);
    return std::vector<std::optional<Dims>>{std::move(dims)};
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t& size = dims[axes[i]];
    if (sizes) {
      size = (*sizes)[i];
    } else if (scales && roi) {
      size = CroppedSize(size, (*scales)[i], (*roi)[i], (*roi)[count + i]);
    } else if (size != 0) {
      size = kUnknownSize;
    }
  }
  return std::vector<std::optional<Dims>>{std::move(dims)};
}

// DepthToSpace, SpaceToDepth ----------------------------------------------------------------------

// depth_to_space.C3.
Result<void> BlockSize(const Application& a) {
  if (a.Find("blocksize") == nullptr) return Refuse("attribute 'blocksize'", "is not given");
  return IntWithin("blocksize", 1, INT64_MAX)(a);
}

Result<void> BlockDivides(const Application& a, std::size_t axis, std::int64_t size) {
  const std::int64_t block = a.Int("blocksize");
  if (!Known(size) || size % block == 0) return {};
  return BadInput(a, 0, "shape " + ShapeText(*a.Input(0).dims),
                  "blocks of " + std::to_string(block) + " along axis " + std::to_string(axis));
}

// depth_to_space.C4.
Result<void> BlockDepth(const Application& a) {
  const Dims* dims = DimsOf(a.Input(0));
  if (dims == nullptr || !Known((*dims)[1])) return {};
  QTX_RETURN_IF_ERROR(BlockDivides(a, 1, (*dims)[1]));
  return BlockDivides(a, 1, (*dims)[1] / a.Int("blocksize"));
}

// space_to_depth.C4.
Result<void> BlockArea(const Application& a) {
  const Dims* dims = DimsOf(a.Input(0));
  if (dims == nullptr) return {};
  QTX_RETURN_IF_ERROR(BlockDivides(a, 2, (*dims)[2]));
  return BlockDivides(a, 3, (*dims)[3]);
}

// space_to_depth.C6.
Result<void> SpaceToDepthOrder(const Application& a) {
  QTX_RETURN_IF_ERROR(StringOneOf("mode", {"DCR", "CRD"})(a));
  return a.String("mode") == "DCR" ? Result<void>() : UndefinedAttribute("mode", "CRD");
}

// A size that is not known stays only where there is nothing to change.
std::int64_t BlockTimes(std::int64_t size, std::int64_t block) {
  if (block == 1 || size == 0) return size;
  return Known(size) && size <= INT64_MAX / block ? size * block : kUnknownSize;
}
std::int64_t BlockDivided(std::int64_t size, std::int64_t block) {
  if (block == 1) return size;
  return Known(size) ? size / block : kUnknownSize;
}

WindowShapes DepthToSpaceShape(const Application& a) {
  std::optional<Dims> dims = a.Input(0).dims;
  const std::int64_t block = a.Int("blocksize");
  if (dims) {
    dims = Dims{(*dims)[0], BlockDivided(BlockDivided((*dims)[1], block), block),
                BlockTimes((*dims)[2], block), BlockTimes((*dims)[3], block)};
  }
  return std::vector<std::optional<Dims>>{std::move(dims)};
}

WindowShapes SpaceToDepthShape(const Application& a) {
  std::optional<Dims> dims = a.Input(0).dims;
  const std::int64_t block = a.Int("blocksize");
  if (dims) {
    dims = Dims{(*dims)[0], BlockTimes(BlockTimes((*dims)[1], block), block),
                BlockDivided((*dims)[2], block), BlockDivided((*dims)[3], block)};
  }
  return std::vector<std::optional<Dims>>{std::move(dims)};
}

// Rows --------------------------------------------------------------------------------------------

constexpr AttributeRule kWindowAutoPad{"auto_pad", AttributeType::kString, "NOTSET"};
constexpr AttributeRule kWindowKernel{"kernel_shape", AttributeType::kInts};
constexpr AttributeRule kWindowPads{"pads", AttributeType::kInts};
constexpr AttributeRule kWindowStrides{"strides", AttributeType::kInts};

std::vector<AttributeRule> ConvAttributeRules() {
  return {kWindowAutoPad,
          {"dilations", AttributeType::kInts},
          {"group", AttributeType::kInt, 1},
          kWindowKernel,
          kWindowPads,
          kWindowStrides};
}

std::vector<AttributeRule> PoolAttributeRules(std::vector<AttributeRule> further) {
  further.insert(further.end(), {kWindowAutoPad, kWindowKernel, kWindowPads, kWindowStrides});
  return further;
}

void AddStockConvs(std::vector<OpSchema>& rows) {
  rows.push_back(
      {.op_type = "ConvInteger",
       .inputs = {{"x"}, {"w"}, {"x_zero_point", true}, {"w_zero_point", true}},
       .outputs = {{"y"}},
       .attributes = ConvAttributeRules(),
       .checks = {{"conv_integer.C1",
                   Both({InputTypes(0, kWindowBytes), InputTypes(1, kWindowBytes),
                         OutputTypes(0, {ElementType::kInt32})})},
                  {"conv_integer.C2", Both({WindowZeroPointType(2, 0), WindowZeroPointType(3, 1),
                                            IsScalar(2), WindowFilterParameter(3, 1)})},
                  {"conv_integer.C3", ConvNode(1, kNoWindowBias)}},
       .shape = ConvShape<1>,
       .shape_clause = "conv_integer.C3",
       .type = Int32Type});
  rows.push_back({.op_type = "QLinearConv",
                  .inputs = {{"x"},
                             {"x_scale"},
                             {"x_zero_point"},
                             {"w"},
                             {"w_scale"},
                             {"w_zero_point"},
                             {"y_scale"},
                             {"y_zero_point"},
                             {"B", true}},
                  .outputs = {{"y"}},
                  .attributes = ConvAttributeRules(),
                  .checks = {{"q_linear_conv.C1", QLinearConvTypes},
                             {"q_linear_conv.C2", QLinearConvScales},
                             {"q_linear_conv.C3",
                              Both({IsScalar(1), WindowFilterParameter(4, 3), IsScalar(6)})},
                             {"q_linear_conv.C4", ConvNode(3, 8)}},
                  .shape = ConvShape<3>,
                  .shape_clause = "q_linear_conv.C4",
                  .type = TypeOfConvZeroPoint});
}

void AddConvs(std::vector<OpSchema>& rows) {
  rows.push_back({.op_type = "Conv",
                  .inputs = {{"x"}, {"w"}, {"b", true}},
                  .outputs = {{"y"}},
                  .attributes = ConvAttributeRules(),
                  .checks = {{"conv.C1", RealOrOne({0, 1, 2}, {0}, kWindowDouble)},
                             {"conv.C2", ConvRanks(1)},
                             {"conv.C3", ConvGroups(1)},
                             {"conv.C4", ConvBias(1, 2)},
                             {"conv.C5", ConvKernel(1)},
                             {"conv.C6", ConvAttributes(1)},
                             {"conv.C7", WindowAutoPad}},
                  .shape = ConvShape<1>,
                  .shape_clause = "conv.C8"});
  rows.push_back({.op_type = "ConvTranspose",
                  .inputs = {{"x"}, {"w"}, {"b", true}},
                  .outputs = {{"y"}},
                  .attributes = ConvAttributeRules(),
                  .checks = {{"conv_transpose.C1", RealOrOne({0, 1, 2}, {0}, kWindowDouble)},
                             {"conv_transpose.C2", ConvRanks(1)},
                             {"conv_transpose.C3", TransposedGroups},
                             {"conv_transpose.C4", TransposedBias},
                             {"conv_transpose.C5", ConvKernel(1)},
                             {"conv_transpose.C6", TransposedAttributes},
                             {"conv_transpose.C7", WindowAutoPad}},
                  .shape = TransposedShape,
                  .shape_clause = "conv_transpose.C8"});
  rows.back().attributes.push_back({"output_padding", AttributeType::kInts});
  rows.back().attributes.push_back({"output_shape", AttributeType::kInts});
}

void AddPools(std::vector<OpSchema>& rows) {
  rows.push_back(
      {.op_type = "AveragePool",
       .inputs = {{"x"}},
       .outputs = {{"y"}},
       .attributes = PoolAttributeRules({{"ceil_mode", AttributeType::kInt, 0, false, 10},
                                         {"count_include_pad", AttributeType::kInt, 0, false, 7},
                                         {"dilations", AttributeType::kInts}}),
       .checks = {{"average_pool.C1", RealOrOne({0}, {0}, kWindowDouble)},
                  {"average_pool.C2", RankAtLeast(0, 3)},
                  {"average_pool.C3", PoolKernel},
                  {"average_pool.C5", WindowAutoPad},
                  {"average_pool.C4", AveragePoolAttributes}},
       .shape = PoolShape,
       .shape_clause = "average_pool.C6"});
  rows.push_back(
      {.op_type = "MaxPool",
       .inputs = {{"x"}},
       .outputs = {{"y"}, {"indices", true}},
       .attributes = PoolAttributeRules({{"ceil_mode", AttributeType::kInt, 0, false, 10},
                                         {"dilations", AttributeType::kInts, {}, false, 10},
                                         {"storage_order", AttributeType::kInt, 0, false, 8}}),
       .checks = {{"max_pool.C1", RealOrOne({0}, {0}, kPlainTypes)},
                  {"max_pool.C2", RankAtLeast(0, 3)},
                  {"max_pool.C3", PoolKernel},
                  {"max_pool.C4", MaxPoolAttributes},
                  {"max_pool.C5", WindowAutoPad},
                  {"max_pool.C7", OutputTypes(1, {ElementType::kInt64})},
                  {"max_pool.C8", IntWithin("storage_order", 0, 1)}},
       .shape = PoolShape,
       .shape_clause = "max_pool.C6",
       .type = MaxPoolType,
       .copies_elements = true});
  rows.push_back(
      {.op_type = "LpPool",
       .inputs = {{"x"}},
       .outputs = {{"y"}},
       .attributes = PoolAttributeRules({{"ceil_mode", AttributeType::kInt, 0, false, 18},
                                         {"dilations", AttributeType::kInts, {}, false, 18},
                                         {"p", AttributeType::kInt, 2}}),
       .checks = {{"lp_pool.C1", RealOrOne({0}, {0}, kWindowDouble)},
                  {"lp_pool.C2", RankAtLeast(0, 3)},
                  {"lp_pool.C3", PoolKernel},
                  {"lp_pool.C4", PoolAttributes},
                  {"lp_pool.C5", WindowAutoPad},
                  {"lp_pool.C7", IntWithin("p", 1, 64)}},
       .shape = PoolShape,
       .shape_clause = "lp_pool.C6"});
}

OpSchema GlobalPool(std::string_view op_type, std::vector<ClauseCheck> checks,
                    std::string_view shape_clause) {
  return {.op_type = op_type,
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .attributes = {},
          .checks = std::move(checks),
          .shape = GlobalPoolShape,
          .shape_clause = shape_clause};
}

void AddGlobalPools(std::vector<OpSchema>& rows) {
  rows.push_back(GlobalPool("GlobalAveragePool",
                            {{"global_average_pool.C1", RealOrOne({0}, {0}, kWindowDouble)},
                             {"global_average_pool.C2", RankAtLeast(0, 3)},
                             {"global_average_pool.C3", WindowNoEmptyAxis(2)}},
                            "global_average_pool.C4"));
  rows.push_back(GlobalPool("GlobalMaxPool",
                            {{"global_max_pool.C1", RealOrOne({0}, {0}, kWindowDouble)},
                             {"global_max_pool.C2", RankAtLeast(0, 3)},
                             {"global_max_pool.C3", WindowNoEmptyAxis(0)}},
                            "global_max_pool.C4"));
  rows.back().copies_elements = true;
}

void AddQLinearPools(std::vector<OpSchema>& rows) {
  const AttributeRule channels_last{"channels_last", AttributeType::kInt, 0};
  rows.push_back(
      {.op_type = "QLinearAveragePool",
       .domain = "com.microsoft",
       .inputs = {{"X"}, {"X_scale"}, {"X_zero_point", true}, {"Y_scale"}, {"Y_zero_point", true}},
       .outputs = {{"Y"}},
       .attributes = PoolAttributeRules({{"ceil_mode", AttributeType::kInt, 0},
                                         channels_last,
                                         {"count_include_pad", AttributeType::kInt, 0}}),
       .checks = {{"q_linear_average_pool.C1", QLinearPoolTypes},
                  {"q_linear_average_pool.C2", QLinearPoolParameters},
                  {"q_linear_average_pool.C4", IntWithin("channels_last", 0, 0)},
                  {"q_linear_average_pool.C3",
                   Both({RankAtLeast(0, 3), PoolKernel, WindowAutoPad, AveragePoolAttributes})}},
       .shape = PoolShape,
       .shape_clause = "q_linear_average_pool.C3"});
  rows.push_back({.op_type = "QLinearGlobalAveragePool",
                  .domain = "com.microsoft",
                  .inputs = {{"X"}, {"X_scale"}, {"X_zero_point"}, {"Y_scale"}, {"Y_zero_point"}},
                  .outputs = {{"Y"}},
                  .attributes = {channels_last},
                  .checks = {{"q_linear_global_average_pool.C1", QLinearPoolTypes},
                             {"q_linear_global_average_pool.C2", QLinearPoolParameters},
                             {"q_linear_global_average_pool.C4", IntWithin("channels_last", 0, 0)},
                             {"q_linear_global_average_pool.C3",
                              Both({RankAtLeast(0, 3), WindowNoEmptyAxis(0)})}},
                  .shape = GlobalPoolShape,
                  .shape_clause = "q_linear_global_average_pool.C3"});
}

void AddResizers(std::vector<OpSchema>& rows) {
  rows.push_back(
      {.op_type = "Resize",
       .inputs = {{"x"}, {"roi", true}, {"scales", true}, {"sizes", true}},
       .outputs = {{"y"}},
       .attributes = {{"antialias", AttributeType::kInt, 0, false, 18},
                      {"axes", AttributeType::kInts, {}, false, 18},
                      {"coordinate_transformation_mode", AttributeType::kString, "half_pixel",
                       false, 11},
                      {"cubic_coeff_a", AttributeType::kFloat, -0.75F, false, 11},
                      {"exclude_outside", AttributeType::kInt, 0, false, 11},
                      {"extrapolation_value", AttributeType::kFloat, 0.0F, false, 11},
                      {"keep_aspect_ratio_policy", AttributeType::kString, "stretch", false, 18},
                      {"mode", AttributeType::kString, "nearest"},
                      {"nearest_mode", AttributeType::kString, "round_prefer_floor", false, 11}},
       .checks = {{"resize.C1", ResizeTypes},
                  {"resize.C2", ResizeModes},
                  {"resize.C4", ResizeAxes},
                  {"resize.C3", ResizeExtent},
                  {"resize.C5", ResizeCrop},
                  {"resize.C6", ResizeEmptyAxes},
                  {"resize.C8", ResizeDefined}},
       .shape = ResizeShape,
       .shape_clause = "resize.C7"});
  const AttributeRule blocksize{"blocksize", AttributeType::kInt};
  rows.push_back({.op_type = "DepthToSpace",
                  .inputs = {{"data"}},
                  .outputs = {{"y"}},
                  .attributes = {blocksize, {"mode", AttributeType::kString, "DCR", false, 11}},
                  .checks = {{"depth_to_space.C1", OutputsFollowInput()},
                             {"depth_to_space.C2", RankIs(0, 4)},
                             {"depth_to_space.C3", BlockSize},
                             {"depth_to_space.C4", BlockDepth},
                             {"depth_to_space.C5", StringOneOf("mode", {"DCR", "CRD"})}},
                  .shape = DepthToSpaceShape,
                  .shape_clause = "depth_to_space.C6",
                  .copies_elements = true});
  rows.push_back({.op_type = "SpaceToDepth",
                  .inputs = {{"data"}},
                  .outputs = {{"y"}},
                  .attributes = {blocksize, {"mode", AttributeType::kString, "DCR", false, 28}},
                  .checks = {{"space_to_depth.C1", OutputsFollowInput()},
                             {"space_to_depth.C2", RankIs(0, 4)},
                             {"space_to_depth.C3", BlockSize},
                             {"space_to_depth.C4", BlockArea},
                             {"space_to_depth.C6", SpaceToDepthOrder}},
                  .shape = SpaceToDepthShape,
                  .shape_clause = "space_to_depth.C5",
                  .copies_elements = true});
}

}  // namespace

void AddWindows(std::vector<OpSchema>& rows) {
  AddConvs(rows);
  AddStockConvs(rows);
  AddPools(rows);
  AddGlobalPools(rows);
  AddQLinearPools(rows);
  AddResizers(rows);
}

}  // namespace qtx::format::catalogue
