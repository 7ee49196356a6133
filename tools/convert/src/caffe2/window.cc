#include "caffe2/window.h"

#include <algorithm>

namespace qtx::convert {
namespace {

constexpr std::int64_t kMaxSize = 1 << 20;

struct Range {
  std::int64_t min, max;
};

// `stem` for all, `stem`s as a list, or `stem`_`suffix` each.
template <std::size_t n>
Result<void> Read(const Caffe2Operator& op, const std::string& stem,
                  const std::array<const char*, n>& suffixes, Range range,
                  std::array<std::int64_t, n>& values) {
  values.fill(op.IntOr(stem, values[0]));
  if (const Caffe2Argument* list = op.Find(stem + "s"); list != nullptr && !list->ints.empty()) {
    if (list->ints.size() != n)
      return Error{ErrorCode::kUnsupported, stem + "s",
                   "found " + std::to_string(list->ints.size()) + " values, expected " +
                       std::to_string(n) + " for height and width"};
    std::ranges::copy(list->ints, values.begin());
  }
  for (std::size_t i = 0; i < n; ++i) values[i] = op.IntOr(stem + "_" + suffixes[i], values[i]);
  for (const std::int64_t value : values) {
    if (range.min <= value && value <= range.max) continue;
    return Error{ErrorCode::kInvalid, stem,
                 "found " + std::to_string(value) + ", expected " + std::to_string(range.min) +
                     " to " + std::to_string(range.max)};
  }
  return {};
}

}  // namespace

Result<Caffe2Window> Caffe2WindowOf(const Caffe2Operator& op) {
  constexpr std::array<const char*, 2> kSizes = {"h", "w"};
  constexpr std::array<const char*, 4> kSides = {"t", "l", "b", "r"};
  Caffe2Window window;
  QTX_RETURN_IF_ERROR(Read(op, "kernel", kSizes, {0, kMaxSize}, window.kernel));
  QTX_RETURN_IF_ERROR(Read(op, "stride", kSizes, {1, kMaxSize}, window.stride));
  QTX_RETURN_IF_ERROR(Read(op, "dilation", kSizes, {1, kMaxSize}, window.dilation));
  QTX_RETURN_IF_ERROR(Read(op, "pad", kSides, {0, kMaxSize}, window.pads));
  window.global = op.IntOr("global_pooling", 0) != 0;
  const std::int64_t legacy = op.IntOr("legacy_pad", 0);
  if (legacy != 0)
    return Error{ErrorCode::kUnsupported, "legacy_pad", "found " + std::to_string(legacy)};
  const std::string order = op.StringOr("order", "NCHW");
  if (order != "NCHW" && order != "NHWC")
    return Error{ErrorCode::kUnsupported, "order", "found '" + order + "'"};
  window.channels_last = order == "NHWC";
  return window;
}

std::vector<format::Attribute> WindowAttributes(const Caffe2Window& window) {
  using format::Attribute;
  std::vector<Attribute> attributes;
  if (window.kernel[0] > 0)
    attributes.push_back(Attribute::Ints("kernel_shape", {window.kernel[0], window.kernel[1]}));
  attributes.push_back(Attribute::Ints("strides", {window.stride[0], window.stride[1]}));
  attributes.push_back(Attribute::Ints("pads", {window.pads.begin(), window.pads.end()}));
  if (window.dilation[0] != 1 || window.dilation[1] != 1)
    attributes.push_back(Attribute::Ints("dilations", {window.dilation[0], window.dilation[1]}));
  return attributes;
}

}  // namespace qtx::convert
