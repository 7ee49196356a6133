#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/resize.h"
#include "engine/ops/types.h"
#include "qtx/backend/axis.h"
#include "qtx/format/limits.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::ElementType;

// An input that is not empty; null otherwise.
Result<const format::Tensor*> Given(const NodePlan& node, std::size_t i) {
  const format::Tensor* none = nullptr;
  if (!node.HasInput(i)) return none;
  QTX_ASSIGN_OR_RETURN(const Value* value, node.Input(i));
  if (format::ElementCount(value->tensor) == 0) return none;
  return node.Constant(i);
}

// REQUIRES: they are finite.
std::vector<mpq_class> Values(const format::Tensor& tensor) {
  const NumberReader read(tensor);
  std::vector<mpq_class> values;
  for (std::int64_t i = 0; i < format::ElementCount(tensor); ++i) values.push_back(read(i).value());
  return values;
}

// The axes that are resized, in the order that their values come.
std::vector<std::size_t> ResizedAxes(const NodePlan& node, std::size_t rank) {
  std::vector<std::int64_t> all;
  for (std::size_t d = 0; d < rank; ++d) all.push_back(static_cast<std::int64_t>(d));
  std::vector<std::size_t> resized;
  for (const std::int64_t axis : node.node().IntsOr("axes", all)) {
    resized.push_back(AxisOf(axis, rank));
  }
  return resized;
}

// floor(length) elements; a size that no tensor has is refused when y is made.
void SetLength(ResizeAxis& axis, mpq_class length, const mpq_class& rounding) {
  axis.length = std::move(length);
  const mpz_class whole = FloorOf(axis.length + rounding);
  axis.to = whole.fits_slong_p() ? whole.get_si() : format::kMaxElements + 1;
}

using Axes = std::vector<ResizeAxis>;
using AxisIndices = std::vector<std::size_t>;

void ApplyScales(const format::Tensor& tensor, const AxisIndices& resized, bool crops, Axes& axes) {
  const std::vector<mpq_class> scales = Values(tensor);
  for (std::size_t i = 0; i < resized.size(); ++i) {
    ResizeAxis& axis = axes[resized[i]];
    axis.scale = scales[i];
    mpq_class length = axis.scale * axis.from;
    if (crops) length *= axis.end - axis.start;
    SetLength(axis, std::move(length), 0);
  }
}

void ApplySizes(const format::Tensor& tensor, const AxisIndices& resized, const std::string& policy,
                Axes& axes) {
  const std::vector<mpq_class> sizes = Values(tensor);
  mpq_class common(-1);
  for (std::size_t i = 0; i < resized.size(); ++i) {
    ResizeAxis& axis = axes[resized[i]];
    SetLength(axis, sizes[i], 0);
    if (axis.from == 0) continue;
    axis.scale = sizes[i] / axis.from;
    const bool first = sgn(common) < 0;
    const bool better = policy == "not_larger" ? axis.scale < common : axis.scale > common;
    if (first || better) common = axis.scale;
  }
  if (policy == "stretch") return;
  for (const std::size_t d : resized) {
    if (axes[d].from == 0) continue;
    axes[d].scale = common;
    SetLength(axes[d], common * axes[d].from, mpq_class(1, 2));
  }
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

ResizeModes ResizeModesOf(const NodePlan& node) {
  ResizeModes modes;
  modes.coordinates = node.String("coordinate_transformation_mode");
  modes.rounding = node.String("nearest_mode");
  modes.policy = node.String("keep_aspect_ratio_policy");
  modes.linear = node.String("mode") == "linear";
  modes.crops = modes.coordinates == "tf_crop_and_resize";
  return modes;
}

Result<Axes> ResizeAxesOf(const NodePlan& node, const Dims& dims, const ResizeModes& modes) {
  const AxisIndices resized = ResizedAxes(node, dims.size());
  Axes axes;
  for (const std::int64_t size : dims) axes.push_back({false, size, size, 1, size, 0, 1});
  for (const std::size_t d : resized) axes[d].resized = true;
  if (modes.crops) {
    QTX_ASSIGN_OR_RETURN(const format::Tensor* roi, Given(node, 1));
    const std::vector<mpq_class> values = Values(*roi);
    for (std::size_t i = 0; i < resized.size(); ++i) {
      axes[resized[i]].start = values[i];
      axes[resized[i]].end = values[resized.size() + i];
    }
  }
  QTX_ASSIGN_OR_RETURN(const format::Tensor* scales, Given(node, 2));
  QTX_ASSIGN_OR_RETURN(const format::Tensor* sizes, Given(node, 3));
  if (scales != nullptr) {
    ApplyScales(*scales, resized, modes.crops, axes);
  } else {
    ApplySizes(*sizes, resized, modes.policy, axes);
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
