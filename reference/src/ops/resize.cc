#include <cmath>

#include "ops/interpolate.h"
#include "ops/move.h"
#include "ops/registry.h"
#include "ops/resample.h"
#include "parameters.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;
using format::ElementType;

// Each position of an axis has a sample of some 100 bytes, unlike each element.
constexpr std::int64_t kLongestAxis = std::int64_t{1} << 24;
constexpr std::size_t kRoi = 1;
constexpr std::size_t kScales = 2;
constexpr std::size_t kSizes = 3;

// An empty tensor stands for an input that is not given, as files before opset 13 have it.
bool Given(const Call& call, std::size_t i) {
  return call.Input(i) != nullptr && format::ElementCount(*call.Input(i)) > 0;
}

Error Misfit(const Call& call, std::size_t i, const std::string& message) {
  return Error{ErrorCode::kInvalid, InputName(call, i), message};
}

// The values of a float input, exactly.  Errors: kInvalid for another type, count, NaN or infinity.
Result<std::vector<Rational>> RationalsAt(const Call& call, std::size_t i, std::size_t count) {
  const format::Tensor& tensor = *call.inputs[i];
  const bool wide =
      tensor.elem_type == ElementType::kDouble || tensor.elem_type == ElementType::kFloat16;
  if (tensor.elem_type != ElementType::kFloat && !(i == kRoi && wide)) {
    return Misfit(call, i, "found type " + std::string(format::Name(tensor.elem_type)));
  }
  if (tensor.dims.size() != 1 || tensor.dims[0] != static_cast<std::int64_t>(count)) {
    return Misfit(call, i,
                  "found shape " + format::ToString(tensor.dims) + ", expected [" +
                      std::to_string(count) + "]");
  }
  std::vector<Rational> values;
  for (const double value : format::StoredValues(tensor)) {
    if (!std::isfinite(value)) return Misfit(call, i, "found a value that is not finite");
    values.emplace_back(value);
  }
  return values;
}

// The axes that roi, scales and sizes speak of: attribute `axes`, or all.
Result<std::vector<std::size_t>> ResizedAxes(const Call& call, std::size_t rank) {
  std::vector<std::size_t> axes;
  std::vector<bool> named(rank, false);
  if (call.node.Find("axes") == nullptr) {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  for (const std::int64_t axis : call.node.IntsOr("axes", {})) {
    const auto normal = format::NormalizeAxis(axis, static_cast<std::int64_t>(rank));
    if (!normal.has_value()) return At("attribute 'axes'", normal.error());
    const auto i = static_cast<std::size_t>(*normal);
    if (named[i]) {
      return Error{ErrorCode::kInvalid, "attribute 'axes'",
                   "axis " + std::to_string(axis) + " twice"};
    }
    named[i] = true;
    axes.push_back(i);
  }
  return axes;
}

// `to` of an axis whose exact length is known.  Source: resize.S2, resize.S3, resize.C5.
Result<void> SetLength(const Call& call, std::size_t i, Rational length, bool half_up,
                       ResizedAxis* axis) {
  const std::string from = "an axis of size " + std::to_string(axis->from);
  if (sgn(length) < 0) return Misfit(call, i, from + " would become shorter than 0");
  if (length > static_cast<long>(kLongestAxis)) {
    return Error{ErrorCode::kTooLarge, InputName(call, i), from + " would become too long"};
  }
  const Rational whole = half_up ? Rational(length + Rational(1, 2)) : length;
  axis->to = mpz_class(whole.get_num() / whole.get_den()).get_si();
  axis->length = std::move(length);
  if (axis->from > 0 || axis->to == 0) return {};
  return Misfit(call, i, "an empty axis cannot become one of " + std::to_string(axis->to));
}

// Source: resize.S2.
Result<void> ApplyScales(const Call& call, const std::vector<std::size_t>& named, bool crops,
                         std::vector<ResizedAxis>* axes) {
  QTX_ASSIGN_OR_RETURN(const std::vector<Rational> scales,
                       RationalsAt(call, kScales, named.size()));
  for (std::size_t i = 0; i < named.size(); ++i) {
    ResizedAxis& axis = (*axes)[named[i]];
    if (sgn(scales[i]) <= 0) return Misfit(call, kScales, "found a scale that is not above 0");
    axis.scale = scales[i];
    Rational length = axis.scale * static_cast<long>(axis.from);
    if (crops) length *= axis.roi_end - axis.roi_start;
    QTX_RETURN_IF_ERROR(SetLength(call, kScales, std::move(length), false, &axis));
  }
  return {};
}

// The one scale of all named axes that keeps their proportions, or nullopt to stretch each.
// Source: resize.S3.
Result<std::optional<Rational>> CommonScale(const Call& call, const Dims& sizes,
                                            const std::vector<std::size_t>& named,
                                            const std::vector<ResizedAxis>& axes) {
  const std::string policy = call.node.StringOr("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return std::optional<Rational>();
  std::optional<Rational> scale;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const std::int64_t from = axes[named[i]].from;
    if (from == 0) return Misfit(call, kSizes, "an empty axis has no aspect ratio");
    Rational own(static_cast<long>(sizes[i]), static_cast<long>(from));
    own.canonicalize();
    const bool replaces = !scale || (policy == "not_larger" ? own < *scale : own > *scale);
    if (replaces) scale = std::move(own);
  }
  return scale;
}

// Source: resize.S3.
Result<void> ApplySizes(const Call& call, const std::vector<std::size_t>& named,
                        std::vector<ResizedAxis>* axes) {
  QTX_ASSIGN_OR_RETURN(const Dims sizes, Int64sAt(call, kSizes));
  if (sizes.size() != named.size()) {
    return Misfit(call, kSizes,
                  "found " + std::to_string(sizes.size()) + " values, expected " +
                      std::to_string(named.size()));
  }
  for (const std::int64_t size : sizes) {
    if (size < 0) return Misfit(call, kSizes, "found a size of " + std::to_string(size));
  }
  QTX_ASSIGN_OR_RETURN(const auto common, CommonScale(call, sizes, named, *axes));
  for (std::size_t i = 0; i < named.size(); ++i) {
    ResizedAxis& axis = (*axes)[named[i]];
    Rational length = common ? Rational(*common * static_cast<long>(axis.from))
                             : Rational(static_cast<long>(sizes[i]));
    if (axis.from > 0) axis.scale = length / static_cast<long>(axis.from);
    QTX_RETURN_IF_ERROR(SetLength(call, kSizes, std::move(length), common.has_value(), &axis));
  }
  return {};
}

// All axes of x, resized.  Source: resize.S1 to resize.S3, resize.C4.
Result<std::vector<ResizedAxis>> ResizedAxes(const Call& call, bool crops) {
  const Dims& from = call.inputs[0]->dims;
  std::vector<ResizedAxis> axes;
  for (const std::int64_t size : from) {
    axes.push_back({.from = size, .to = size, .length = static_cast<long>(size)});
  }
  QTX_ASSIGN_OR_RETURN(const auto named, ResizedAxes(call, from.size()));
  if (Given(call, kScales) == Given(call, kSizes)) {
    return Error{ErrorCode::kInvalid, "inputs", "expected scales or sizes, one of them"};
  }
  if (crops) {
    if (!Given(call, kRoi)) return Error{ErrorCode::kInvalid, "input[1]", "is required"};
    QTX_ASSIGN_OR_RETURN(const auto roi, RationalsAt(call, kRoi, 2 * named.size()));
    for (std::size_t i = 0; i < named.size(); ++i) {
      axes[named[i]].roi_start = roi[i];
      axes[named[i]].roi_end = roi[named.size() + i];
    }
  }
  if (Given(call, kScales)) {
    QTX_RETURN_IF_ERROR(ApplyScales(call, named, crops, &axes));
  } else {
    QTX_RETURN_IF_ERROR(ApplySizes(call, named, &axes));
  }
  return axes;
}

Result<void> CheckPolicy(const Call& call) {
  const std::string policy = call.node.StringOr("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return {};
  if ((policy == "not_larger" || policy == "not_smaller") && !Given(call, kScales)) return {};
  return Error{ErrorCode::kInvalid, "attribute 'keep_aspect_ratio_policy'",
               "found '" + policy + "', expected stretch, or with sizes not_larger or not_smaller"};
}

Result<void> CheckResizeAttributes(const format::Node& node) {
  QTX_RETURN_IF_ERROR(ResizeRulesOf(node));
  return {};
}

// Source: resize.S1 to resize.S8.
Result<format::Tensor> Resize(const Call& call) {
  const format::Tensor& x = *call.inputs[0];
  QTX_ASSIGN_OR_RETURN(const ResizeRules rules, ResizeRulesOf(call.node));
  QTX_RETURN_IF_ERROR(CheckPolicy(call));
  const bool weighed = IsReal(x.elem_type) || (IsPlain(x.elem_type) && !rules.crops());
  if (!weighed && (rules.crops() || rules.mode != "nearest")) {
    return Error{ErrorCode::kInvalid, InputName(call, 0),
                 "found type " + std::string(format::Name(x.elem_type)) +
                     ", which this mode does not resize"};
  }
  QTX_ASSIGN_OR_RETURN(const std::vector<ResizedAxis> axes, ResizedAxes(call, rules.crops()));
  Dims dims;
  for (const ResizedAxis& axis : axes) {
    dims.push_back(axis.to);
    if (axis.to <= kLongestAxis) continue;
    return Error{ErrorCode::kTooLarge, InputName(call, 0), format::ToString(x.dims)};
  }
  QTX_RETURN_IF_ERROR(CheckComputable(dims));
  if (Product(dims, 0, dims.size()) == 0) return Selected(call, std::move(dims), {});
  std::vector<std::vector<Sample>> samples;
  samples.reserve(axes.size());
  for (const ResizedAxis& axis : axes) samples.push_back(SamplesOf(rules, axis));
  return rules.mode == "nearest" ? PickNearest(call, dims, samples)
                                 : Interpolate(call, dims, samples);
}

constexpr AttributeRule kResizeAttributes[] = {
    {"antialias", AttributeType::kInt},
    {"axes", AttributeType::kInts},
    {"coordinate_transformation_mode", AttributeType::kString},
    {"cubic_coeff_a", AttributeType::kFloat},
    {"exclude_outside", AttributeType::kInt},
    {"extrapolation_value", AttributeType::kFloat},
    {"keep_aspect_ratio_policy", AttributeType::kString},
    {"mode", AttributeType::kString},
    {"nearest_mode", AttributeType::kString},
};

}  // namespace

const Operator kResize = {.op_type = "Resize",
                          .min_inputs = 1,
                          .max_inputs = 4,
                          .attributes = kResizeAttributes,
                          .check = CheckResizeAttributes,
                          .run = Resize};

}  // namespace qtx::reference::ops
