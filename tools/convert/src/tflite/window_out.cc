#include "tflite/window_out.h"

#include <algorithm>
#include <limits>

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

// The lowest number of a type, which is no maximum.
Result<format::Tensor> LowestOf(const format::TensorType& type) {
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor,
                       format::MakeTensor(type.elem_type, {1}, type.quantization));
  if (type.quantization) {
    const std::int64_t least = format::StoredRange(type.elem_type, *type.quantization).min;
    format::PackIntegers(std::span(&least, 1), tensor);
  } else if (type.elem_type == format::ElementType::kFloat) {
    tensor.As<float>()[0] = -std::numeric_limits<float>::infinity();
  } else {
    return Unsupported("a maximum of " + std::string(format::Name(type.elem_type)));
  }
  return tensor;
}

}  // namespace

Result<OutWindow> OutWindowOf(const format::Node& node, const format::Dims& x,
                              std::array<std::int64_t, 2> kernel) {
  QTX_ASSIGN_OR_RETURN(const auto axes, format::WindowAxes(node, std::span(x).subspan(2), kernel));
  OutWindow window;
  bool same = true, none = true;
  for (std::size_t i = 0; i < 2; ++i) {
    const format::WindowAxis& axis = axes[i];
    const std::int64_t most =
        std::max({axis.kernel, axis.stride, axis.dilation, axis.pad_begin, axis.pad_end});
    if (most > kMaxSpan) return Unsupported("a window or stride of " + std::to_string(most));
    const std::int64_t span = (axis.kernel - 1) * axis.dilation + 1;
    const std::int64_t padded = axis.input + axis.pad_begin + axis.pad_end;
    const std::int64_t more =
        std::max<std::int64_t>((axis.output - 1) * axis.stride + span - padded, 0);
    window.beyond[i] = more;
    // The result is the same where rows of padding at the end are in no window.
    const std::int64_t output = (axis.input + axis.stride - 1) / axis.stride;
    const std::int64_t pads =
        std::max<std::int64_t>((output - 1) * axis.stride + span - axis.input, 0);
    same &= axis.pad_begin == pads / 2 && axis.output == output;
    none &= axis.pad_begin == 0 && axis.pad_end + more == 0;
    window.strides[i] = axis.stride;
    window.dilations[i] = axis.dilation;
    window.begin[i] = axis.pad_begin;
    window.end[i] = axis.pad_end + more;
    window.output[i] = axis.output;
  }
  const bool is_same = same && (!none || OriginIsSame(node));
  window.padding = is_same ? schema::Padding::SAME : schema::Padding::VALID;
  window.explicit_pads = !is_same && !none;
  return window;
}

Result<int> PadAround(TfliteWriter& writer, const Padded& padded, const format::Dims& x,
                      const OutWindow& window) {
  format::TensorType type = padded.type;
  type.statistics.reset();
  const format::Dims dims = {x[0], x[2] + window.begin[0] + window.end[0],
                             x[3] + window.begin[1] + window.end[1], x[1]};
  type.shape = format::ToShape(dims);
  const std::vector<std::int64_t> rows = {
      0, 0, window.begin[0], window.end[0], window.begin[1], window.end[1], 0, 0};
  const int pads = writer.AddInt32s(padded.value + "/pads", rows, {4, 2});
  QTX_ASSIGN_OR_RETURN(const int result, writer.AddTensor(padded.value + "/padded", type));
  Call call{schema::BuiltinOperator::PAD, {padded.index, pads}, {}};
  call.options.Set(schema::PadOptionsT());
  if (padded.by_lowest) {
    QTX_ASSIGN_OR_RETURN(const format::Tensor lowest, LowestOf(type));
    QTX_ASSIGN_OR_RETURN(const int number, writer.AddConstant(padded.value + "/lowest", lowest));
    call = {schema::BuiltinOperator::PADV2, {padded.index, pads, number}, {}};
    call.options.Set(schema::PadV2OptionsT());
  }
  writer.Append(std::move(call), {result});
  return result;
}

}  // namespace qtx::convert
