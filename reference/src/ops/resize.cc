#include "ops/interpolate.h"
#include "ops/move.h"
#include "ops/registry.h"
#include "ops/resample.h"
#include "parameters.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// Each position of an axis has a sample of some 100 bytes, unlike each element.
constexpr std::int64_t kLongestAxis = std::int64_t{1} << 24;
constexpr std::size_t kRoi = 1;
constexpr std::size_t kScales = 2;
constexpr std::size_t kSizes = 3;

// An empty tensor stands for an input that is not given, as files before opset 13 have it.
bool Given(const Call& call, std::size_t i) {
  return call.Input(i) != nullptr && format::ElementCount(*call.Input(i)) > 0;
}

// The values of a float input, exactly.
std::vector<Rational> RationalsAt(const Call& call, std::size_t i) {
  std::vector<Rational> values;
  for (const double value : format::StoredValues(*call.inputs[i])) values.emplace_back(value);
  return values;
}

// The axes that roi, scales and sizes speak of: attribute `axes`, or all.
std::vector<std::size_t> NamedAxes(const Call& call, std::size_t rank) {
  std::vector<std::size_t> axes;
  if (call.node.Find("axes") == nullptr) {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  for (const std::int64_t axis : call.node.IntsOr("axes", {})) {
    axes.push_back(FromFirst(axis, rank));
  }
  return axes;
}

// `to` of an axis whose exact length is known.  Source: resize.S2, resize.S3.
Result<void> SetLength(const Call& call, std::size_t i, Rational length, bool half_up,
                       ResizedAxis* axis) {
  if (length > static_cast<long>(kLongestAxis)) {
    return Error{ErrorCode::kTooLarge, InputName(call, i),
                 "an axis of size " + std::to_string(axis->from) + " would become too long"};
  }
  const Rational whole = half_up ? Rational(length + Rational(1, 2)) : length;
  axis->to = mpz_class(whole.get_num() / whole.get_den()).get_si();
  axis->length = std::move(length);
  return {};
}

// Source: resize.S2.
Result<void> ApplyScales(const Call& call, const std::vector<std::size_t>& named, bool crops,
                         std::vector<ResizedAxis>* axes) {
  const std::vector<Rational> scales = RationalsAt(call, kScales);
  for (std::size_t i = 0; i < named.size(); ++i) {
    ResizedAxis& axis = (*axes)[named[i]];
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
  const std::string policy = call.String("keep_aspect_ratio_policy");
  if (policy == "stretch") return std::optional<Rational>();
  std::optional<Rational> scale;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const std::int64_t from = axes[named[i]].from;
    if (from == 0) {
      return Error{ErrorCode::kInvalid, InputName(call, kSizes),
                   "an empty axis has no aspect ratio"};
    }
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
  const Dims sizes = IntegersAt(call, kSizes);
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

// All axes of x, resized.  Source: resize.S1 to resize.S3.
Result<std::vector<ResizedAxis>> ResizedAxes(const Call& call, bool crops) {
  const Dims& from = call.inputs[0]->dims;
  std::vector<ResizedAxis> axes;
  for (const std::int64_t size : from) {
    axes.push_back({.from = size, .to = size, .length = static_cast<long>(size)});
  }
  const std::vector<std::size_t> named = NamedAxes(call, from.size());
  if (crops) {
    const std::vector<Rational> roi = RationalsAt(call, kRoi);
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

// Source: resize.S1 to resize.S8.
Result<format::Tensor> Resize(const Call& call) {
  const format::Tensor& x = *call.inputs[0];
  const ResizeRules rules = ResizeRulesOf(call);
  QTX_ASSIGN_OR_RETURN(const std::vector<ResizedAxis> axes, ResizedAxes(call, rules.crops()));
  Dims dims;
  for (const ResizedAxis& axis : axes) {
    dims.push_back(axis.to);
    if (axis.to <= kLongestAxis) continue;
    return Error{ErrorCode::kTooLarge, InputName(call, 0), format::ToString(x.dims)};
  }
  QTX_RETURN_IF_ERROR(CheckComputable(dims));
  const bool nearest = rules.mode == "nearest";
  if (Product(dims, 0, dims.size()) == 0) {
    if (nearest) return Selected(call, std::move(dims), {});
    QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
    return output.Take();
  }
  std::vector<std::vector<Sample>> samples;
  samples.reserve(axes.size());
  for (const ResizedAxis& axis : axes) samples.push_back(SamplesOf(rules, axis));
  return nearest ? PickNearest(call, dims, samples) : Interpolate(call, dims, samples);
}

}  // namespace

const Operator kResize = {.op_type = "Resize", .run = Resize};

}  // namespace qtx::reference::ops
