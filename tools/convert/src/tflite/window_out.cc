#include "tflite/window_out.h"

#include <algorithm>

#include "errors.h"
#include "qtx/format/attributes.h"
#include "tflite/nodes_out.h"
#include "tflite/window.h"

namespace qtx::convert {
namespace {

Result<std::array<std::int64_t, 2>> PairOf(const format::Node& node, const char* attribute) {
  const std::vector<std::int64_t> values = node.IntsOr(attribute, {1, 1});
  if (values.size() != 2 ||
      std::ranges::any_of(values, [](auto v) { return v < 1 || v > kMaxSpan; })) {
    return Unsupported(std::string(attribute) + " " + format::ToString(values));
  }
  return std::array<std::int64_t, 2>{values[0], values[1]};
}

// Pads of auto_pad, for the axis that `total` rows are missing on.
Result<void> SetPads(const format::Node& node, std::array<std::int64_t, 2> total,
                     OutWindow* window) {
  const std::string mode = format::StringOf(node, "auto_pad");
  if (mode == "VALID") return {};
  if (mode == "NOTSET") {
    const std::vector<std::int64_t> pads = node.IntsOr("pads", {0, 0, 0, 0});
    if (pads.size() != 4 ||
        std::ranges::any_of(pads, [](auto v) { return v < 0 || v > kMaxSpan; })) {
      return Unsupported("pads " + format::ToString(pads));
    }
    window->begin = {pads[0], pads[1]};
    window->end = {pads[2], pads[3]};
    return {};
  }
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") return Unsupported("auto_pad " + mode);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t less = total[i] / 2, more = total[i] - less;
    window->begin[i] = mode == "SAME_UPPER" ? less : more;
    window->end[i] = total[i] - window->begin[i];
  }
  return {};
}

bool OriginIsSame(const format::Node& node) {
  if (!node.origin || node.origin->framework != "tflite") return false;
  return std::ranges::any_of(node.origin->attributes, [](const format::Attribute& attribute) {
    return attribute.name == "padding" && attribute.s == "SAME";
  });
}

}  // namespace

Result<OutWindow> OutWindowOf(const format::Node& node, const format::Dims& x,
                              std::array<std::int64_t, 2> kernel) {
  OutWindow window;
  QTX_ASSIGN_OR_RETURN(window.strides, PairOf(node, "strides"));
  QTX_ASSIGN_OR_RETURN(window.dilations, PairOf(node, "dilations"));
  std::array<std::int64_t, 2> total{}, span{};
  for (std::size_t i = 0; i < 2; ++i) {
    if (kernel[i] < 1 || kernel[i] > kMaxSpan || x[i + 2] < 1) return Unsupported("kernel size");
    span[i] = (kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t same = (x[i + 2] + window.strides[i] - 1) / window.strides[i];
    total[i] = std::max<std::int64_t>((same - 1) * window.strides[i] + span[i] - x[i + 2], 0);
  }
  QTX_RETURN_IF_ERROR(SetPads(node, total, &window));
  bool same = true, none = true;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t padded = x[i + 2] + window.begin[i] + window.end[i];
    if (padded < span[i]) return Error{ErrorCode::kInvalid, "", "a window larger than x"};
    window.output[i] = (padded - span[i]) / window.strides[i] + 1;
    const bool more =
        format::IntOf(node, "ceil_mode") != 0 && (padded - span[i]) % window.strides[i] != 0;
    if (more) return Unsupported("ceil_mode with a last window that is not full");
    // The result is the same where rows of padding at the end are in no window.
    same &= window.begin[i] == total[i] / 2 &&
            window.output[i] == (x[i + 2] + window.strides[i] - 1) / window.strides[i];
    none &= window.begin[i] == 0 && window.end[i] == 0;
  }
  const bool is_same = same && (!none || OriginIsSame(node));
  window.padding = is_same ? schema::Padding::SAME : schema::Padding::VALID;
  window.explicit_pads = !is_same && !none;
  return window;
}

Result<int> PadAround(TfliteWriter& writer, const std::string& value, int index,
                      const format::Dims& x, const OutWindow& window) {
  QTX_ASSIGN_OR_RETURN(format::TensorType type, writer.Type(value));
  type.statistics.reset();
  const format::Dims padded = {x[0], x[2] + window.begin[0] + window.end[0],
                               x[3] + window.begin[1] + window.end[1], x[1]};
  type.shape = format::ToShape(padded);
  const std::vector<std::int64_t> rows = {
      0, 0, window.begin[0], window.end[0], window.begin[1], window.end[1], 0, 0};
  const int pads = writer.AddInt32s(value + "/pads", rows, {4, 2});
  QTX_ASSIGN_OR_RETURN(const int result, writer.AddTensor(value + "/padded", type));
  Call call{schema::BuiltinOperator::PAD, {index, pads}, {}};
  call.options.Set(schema::PadOptionsT());
  writer.Append(std::move(call), {result});
  return result;
}

}  // namespace qtx::convert
