#include "tflite/window_out.h"

#include <algorithm>

#include "errors.h"
#include "qtx/format/attributes.h"
#include "qtx/format/window.h"
#include "tflite/nodes_out.h"
#include "tflite/window.h"

namespace qtx::convert {
namespace {

bool OriginIsSame(const format::Node& node) {
  if (!node.origin || node.origin->framework != "tflite") return false;
  return std::ranges::any_of(node.origin->attributes, [](const format::Attribute& attribute) {
    return attribute.name == "padding" && attribute.s == "SAME";
  });
}

}  // namespace

Result<OutWindow> OutWindowOf(const format::Node& node, const format::Dims& x,
                              std::array<std::int64_t, 2> kernel) {
  QTX_ASSIGN_OR_RETURN(const auto axes, format::WindowAxes(node, std::span(x).subspan(2), kernel));
  const bool rounds_up = format::Attributes(node).Int("ceil_mode") != 0;
  OutWindow window;
  bool same = true, none = true;
  for (std::size_t i = 0; i < 2; ++i) {
    const format::WindowAxis& axis = axes[i];
    const std::int64_t most =
        std::max({axis.kernel, axis.stride, axis.dilation, axis.pad_begin, axis.pad_end});
    if (most > kMaxSpan) return Unsupported("a window or stride of " + std::to_string(most));
    const std::int64_t span = (axis.kernel - 1) * axis.dilation + 1;
    const std::int64_t padded = axis.input + axis.pad_begin + axis.pad_end;
    if (rounds_up && (padded - span) % axis.stride != 0) {
      return Unsupported("ceil_mode with a last window that is not full");
    }
    // The result is the same where rows of padding at the end are in no window.
    const std::int64_t output = (axis.input + axis.stride - 1) / axis.stride;
    const std::int64_t pads =
        std::max<std::int64_t>((output - 1) * axis.stride + span - axis.input, 0);
    same &= axis.pad_begin == pads / 2 && axis.output == output;
    none &= axis.pad_begin == 0 && axis.pad_end == 0;
    window.strides[i] = axis.stride;
    window.dilations[i] = axis.dilation;
    window.begin[i] = axis.pad_begin;
    window.end[i] = axis.pad_end;
    window.output[i] = axis.output;
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
