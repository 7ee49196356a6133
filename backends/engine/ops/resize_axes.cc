#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/resize.h"
#include "engine/ops/types.h"
#include "qtx/format/limits.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::ElementType;

template <std::size_t N>
Result<std::string> OneOf(const NodePlan& node, const char* name,
                          const std::array<std::string_view, N>& known) {
  std::string value = node.node().StringOr(name, std::string(known[0]));
  if (std::ranges::find(known, value) != known.end()) return value;
  return node.Invalid(std::string(name) + " '" + value + "'");
}

// An input that is not empty; null otherwise.
Result<const format::Tensor*> Given(const NodePlan& node, std::size_t i) {
  const format::Tensor* none = nullptr;
  if (!node.HasInput(i)) return none;
  QTX_ASSIGN_OR_RETURN(const Value* value, node.Input(i));
  if (format::ElementCount(value->tensor) == 0) return none;
  return node.Constant(i);
}

// Values of input `i`, finite, `count` of them.
Result<std::vector<mpq_class>> Values(const NodePlan& node, const format::Tensor& tensor,
                                      std::size_t count) {
  if (tensor.dims != Dims{static_cast<std::int64_t>(count)}) {
    return node.Invalid("roi, scales or sizes have another number of values than axes ask for");
  }
  const NumberReader read(tensor);
  std::vector<mpq_class> values;
  for (std::size_t i = 0; i < count; ++i) {
    const Number value = read(static_cast<std::int64_t>(i));
    if (!value.finite()) return node.Invalid("roi or scales are not finite");
    values.push_back(value.value());
  }
  return values;
}

// The axes that are resized, in the order that their values come.
Result<std::vector<std::size_t>> NamedAxes(const NodePlan& node, std::size_t rank) {
  std::vector<std::int64_t> all;
  for (std::size_t d = 0; d < rank; ++d) all.push_back(static_cast<std::int64_t>(d));
  std::vector<std::size_t> named;
  for (const std::int64_t axis : node.node().IntsOr("axes", all)) {
    auto normalized = format::NormalizeAxis(axis, static_cast<std::int64_t>(rank));
    if (!normalized.has_value()) return node.Because(At("axes", normalized.error()));
    const auto d = static_cast<std::size_t>(*normalized);
    if (std::ranges::find(named, d) != named.end()) return node.Invalid("axes name one twice");
    named.push_back(d);
  }
  return named;
}

// floor(length) elements; a size that no tensor has is refused when y is made.
void SetLength(ResizeAxis& axis, mpq_class length, const mpq_class& rounding) {
  axis.length = std::move(length);
  const mpz_class whole = FloorOf(axis.length + rounding);
  axis.to = whole.fits_slong_p() ? whole.get_si() : format::kMaxElements + 1;
}

using Axes = std::vector<ResizeAxis>;
using Named = std::vector<std::size_t>;

Result<void> ApplyScales(const NodePlan& node, const format::Tensor& tensor, const Named& named,
                         bool crops, Axes& axes) {
  if (tensor.elem_type != ElementType::kFloat) return node.Invalid("scales are not FLOAT");
  QTX_ASSIGN_OR_RETURN(const auto scales, Values(node, tensor, named.size()));
  for (std::size_t i = 0; i < named.size(); ++i) {
    ResizeAxis& axis = axes[named[i]];
    if (sgn(scales[i]) <= 0) return node.Invalid("a scale that is not above 0");
    axis.scale = scales[i];
    mpq_class length = axis.scale * axis.from;
    if (crops) length *= axis.end - axis.start;
    if (sgn(length) < 0) return node.Invalid("a region that ends before its start");
    SetLength(axis, std::move(length), 0);
  }
  return {};
}

Result<void> ApplySizes(const NodePlan& node, const format::Tensor& tensor, const Named& named,
                        const std::string& policy, Axes& axes) {
  if (tensor.elem_type != ElementType::kInt64) return node.Invalid("sizes are not INT64");
  QTX_ASSIGN_OR_RETURN(const auto sizes, Values(node, tensor, named.size()));
  mpq_class common(-1);
  for (std::size_t i = 0; i < named.size(); ++i) {
    ResizeAxis& axis = axes[named[i]];
    if (sgn(sizes[i]) < 0) return node.Invalid("a size below 0");
    if (axis.from == 0 && sizes[i] != 0) return node.Invalid("an axis of size 0 keeps it");
    SetLength(axis, sizes[i], 0);
    if (axis.from == 0) continue;
    axis.scale = sizes[i] / axis.from;
    const bool first = sgn(common) < 0;
    const bool better = policy == "not_larger" ? axis.scale < common : axis.scale > common;
    if (first || better) common = axis.scale;
  }
  if (policy == "stretch") return {};
  for (const std::size_t d : named) {
    if (axes[d].from == 0) continue;
    axes[d].scale = common;
    SetLength(axes[d], common * axes[d].from, mpq_class(1, 2));
  }
  return {};
}

}  // namespace

mpz_class FloorOf(const mpq_class& x) {
  mpz_class floor;
  mpz_fdiv_q(floor.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return floor;
}

std::int64_t Within(const mpz_class& at, std::int64_t size) {
  if (sgn(at) < 0) return 0;
  return at >= size ? size - 1 : at.get_si();
}

Result<ResizeModes> ResizeModesOf(const NodePlan& node) {
  static constexpr std::array<std::string_view, 3> kModes{"nearest", "linear", "cubic"};
  static constexpr std::array<std::string_view, 6> kCoordinates{
      "half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
      "align_corners", "asymmetric",           "tf_crop_and_resize"};
  static constexpr std::array<std::string_view, 4> kRoundings{"round_prefer_floor",
                                                              "round_prefer_ceil", "floor", "ceil"};
  static constexpr std::array<std::string_view, 3> kPolicies{"stretch", "not_larger",
                                                             "not_smaller"};
  QTX_ASSIGN_OR_RETURN(const std::string mode, OneOf(node, "mode", kModes));
  if (mode == "cubic") return node.Unsupported("mode cubic");
  if (node.node().IntOr("antialias", 0) != 0) return node.Unsupported("antialias");
  ResizeModes modes;
  QTX_ASSIGN_OR_RETURN(modes.coordinates,
                       OneOf(node, "coordinate_transformation_mode", kCoordinates));
  QTX_ASSIGN_OR_RETURN(modes.rounding, OneOf(node, "nearest_mode", kRoundings));
  QTX_ASSIGN_OR_RETURN(modes.policy, OneOf(node, "keep_aspect_ratio_policy", kPolicies));
  modes.linear = mode == "linear";
  modes.crops = modes.coordinates == "tf_crop_and_resize";
  return modes;
}

Result<Axes> ResizeAxesOf(const NodePlan& node, const Dims& dims, const ResizeModes& modes) {
  QTX_ASSIGN_OR_RETURN(const Named named, NamedAxes(node, dims.size()));
  Axes axes;
  for (const std::int64_t size : dims) axes.push_back({false, size, size, 1, size, 0, 1});
  for (const std::size_t d : named) axes[d].resized = true;
  if (modes.crops) {
    QTX_ASSIGN_OR_RETURN(const format::Tensor* roi, Given(node, 1));
    if (roi == nullptr || IsRealOutput(roi->elem_type) != (roi->elem_type == ElementType::kFloat)) {
      return node.Invalid("roi is absent or of another type");
    }
    QTX_ASSIGN_OR_RETURN(const auto values, Values(node, *roi, 2 * named.size()));
    for (std::size_t i = 0; i < named.size(); ++i) {
      axes[named[i]].start = values[i];
      axes[named[i]].end = values[named.size() + i];
    }
  }
  QTX_ASSIGN_OR_RETURN(const format::Tensor* scales, Given(node, 2));
  QTX_ASSIGN_OR_RETURN(const format::Tensor* sizes, Given(node, 3));
  if ((scales == nullptr) == (sizes == nullptr)) {
    return node.Invalid("expected either scales or sizes");
  }
  if (scales != nullptr) {
    if (modes.policy != "stretch") return node.Invalid("a policy beside scales");
    QTX_RETURN_IF_ERROR(ApplyScales(node, *scales, named, modes.crops, axes));
  } else {
    QTX_RETURN_IF_ERROR(ApplySizes(node, *sizes, named, modes.policy, axes));
  }
  return axes;
}

mpq_class CoordinateOf(std::int64_t i, const ResizeAxis& axis, const std::string& mode) {
  const mpq_class half(1, 2);
  const mpq_class at(i);
  const mpq_class last(axis.from - 1);
  if (mode == "asymmetric") return at / axis.scale;
  if (mode == "align_corners") {
    return axis.length == 1 ? mpq_class(0) : mpq_class(at * last / (axis.length - 1));
  }
  if (mode == "tf_crop_and_resize") {
    if (axis.length > 1) {
      return axis.start * last + at * (axis.end - axis.start) * last / (axis.length - 1);
    }
    return (axis.start + axis.end) * half * last;
  }
  if (mode == "pytorch_half_pixel" && axis.length <= 1) return 0;
  mpq_class x = (at + half) / axis.scale - half;
  if (mode == "half_pixel_symmetric") x += half * axis.from * (1 - axis.to / axis.length);
  return x;
}

}  // namespace qtx::backend::engine
