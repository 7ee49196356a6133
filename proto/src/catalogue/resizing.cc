// Operators that resize or sample spatial axes: Resize, GridSample, DepthToSpace, SpaceToDepth.
// Source: spec/ops/, the sections that the rows name.
#include <algorithm>
#include <cmath>

#include "quantized.h"
#include "windows.h"

namespace qtx::format::catalogue {
namespace {

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
    return QuantizedScaleIsPositive(kResizeScales)(a);
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

// GridSample --------------------------------------------------------------------------------------

// grid_sample.C1.
Result<void> SampledTypes(const Application& a) {
  QTX_RETURN_IF_ERROR(OutputsFollowInput()(a));
  return a.String("mode") == "nearest" ? Result<void>()
                                       : InputTypes(0, kRealTypes | kPlainTypes)(a);
}

// grid_sample.C3.
Result<void> GridFits(const Application& a) {
  QTX_RETURN_IF_ERROR(a.opset < 20 ? RankIs(0, 4)(a) : RankAtLeast(0, 3)(a));
  const Dims* x = DimsOf(a.Input(0));
  const Dims* grid = DimsOf(a.Input(1));
  if (grid == nullptr) return {};
  if (x == nullptr) return RankAtLeast(1, 3)(a);
  QTX_RETURN_IF_ERROR(RankIs(1, x->size())(a));
  const std::int64_t axes = std::ssize(*x) - 2;
  if (!Differ(grid->back(), axes) && !Differ(grid->front(), x->front())) return {};
  return BadInput(a, 1, "shape " + ShapeText(*grid),
                  "first " + ShapeText({x->front()}) + ", last " + ShapeText({axes}));
}

// grid_sample.C4.
Result<void> SampleModes(const Application& a) {
  const bool old = a.opset < 20;
  QTX_RETURN_IF_ERROR(
      StringOneOf("mode", old ? std::vector<std::string_view>{"bilinear", "nearest", "bicubic"}
                              : std::vector<std::string_view>{"linear", "nearest", "cubic"})(a));
  QTX_RETURN_IF_ERROR(StringOneOf("padding_mode", {"zeros", "border", "reflection"})(a));
  return IntWithin("align_corners", 0, 1)(a);
}

// grid_sample.C5.
Result<void> HasSpatialElements(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr || std::find(x->begin() + 2, x->end(), 0) == x->end()) return {};
  return BadInput(a, 0, "shape " + ShapeText(*x), "no empty spatial axis");
}

// grid_sample.C7.
Result<void> SampleDefined(const Application& a) {
  const std::string mode = a.String("mode");
  if (mode.ends_with("cubic")) return UndefinedAttribute("mode", mode);
  if (a.Input(1).type != ElementType::kDouble) return {};
  return Error{ErrorCode::kUnsupported, InputPlace(a, 1),
               "found DOUBLE, which this version of the text does not define"};
}

// grid_sample.S1.
Result<std::vector<std::optional<Dims>>> GridSampleShape(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  const Dims* grid = DimsOf(a.Input(1));
  if (x == nullptr || grid == nullptr) return std::vector<std::optional<Dims>>{std::nullopt};
  Dims dims = {EitherOf(x->front(), grid->front()), (*x)[1]};
  dims.insert(dims.end(), grid->begin() + 1, grid->end() - 1);
  return std::vector<std::optional<Dims>>{std::move(dims)};
}

OpSchema GridSampleRow() {
  return {.op_type = "GridSample",
          .inputs = {{"x"}, {"grid"}},
          .outputs = {{"y"}},
          .attributes = {{"align_corners", AttributeType::kInt, std::int64_t{0}},
                         {"mode", AttributeType::kString, "bilinear", false, 0, 19},
                         {"mode", AttributeType::kString, "linear", false, 20},
                         {"padding_mode", AttributeType::kString, "zeros"}},
          .checks = {{"grid_sample.C1", SampledTypes},
                     {"grid_sample.C2", InputTypes(1, kRealTypes | TypeSet{ElementType::kDouble})},
                     {"grid_sample.C3", GridFits},
                     {"grid_sample.C4", SampleModes},
                     {"grid_sample.C5", HasSpatialElements},
                     {"grid_sample.C7", SampleDefined}},
          .shape = GridSampleShape,
          .shape_clause = "grid_sample.C6"};
}

}  // namespace

void AddResizing(std::vector<OpSchema>& rows) {
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
  rows.push_back(GridSampleRow());
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

}  // namespace qtx::format::catalogue
