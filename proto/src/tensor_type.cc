#include "qtx/format/tensor_type.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace qtx::format {
namespace {

// "ab * 0x1p-3.. per 256": inline factors by the first of them.
std::string LevelsText(const std::vector<BlockFactors>& levels) {
  std::string text;
  for (const BlockFactors& level : levels) {
    if (!text.empty()) text += " * ";
    text += !level.tensor.empty() ? level.tensor
            : level.value.empty() ? "records"
                                  : HexFloat(static_cast<double>(level.value[0])) +
                                        (level.value.size() > 1 ? ".." : "");
    for (std::size_t i = 0; i < level.block_shape.size(); ++i) {
      text += (i == 0 ? " per " : ",") + std::to_string(level.block_shape[i]);
    }
  }
  return text;
}

std::string QuantizationText(const Quantization& q) {
  std::string text = q.axis.empty() ? " per-tensor" : " per-axis(";
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(q.axis[i]);
    if (!q.block_shape.empty()) text += "/" + std::to_string(q.block_shape[i]);
  }
  if (!q.axis.empty()) text += ")";
  text += " scale ";
  if (!q.scale_tensor.empty()) {
    text += q.scale_tensor;
  } else if (!q.scale.empty()) {
    text += HexFloat(q.scale[0]) + (q.scale.size() > 1 ? ".." : "");
  } else {
    text += LevelsText(q.scale_levels);
  }
  text += " offset ";
  if (!q.offset_tensor.empty()) {
    text += q.offset_tensor;
  } else {
    text += std::to_string(q.offset.empty() ? 0 : q.offset[0]) + (q.offset.size() > 1 ? ".." : "");
  }
  if (!q.base_levels.empty()) text += " base " + LevelsText(q.base_levels);
  if (!q.code_book_tensor.empty()) text += " code book " + q.code_book_tensor;
  if (!q.code_book.empty()) text += " code book " + HexFloat(q.code_book[0]) + "..";
  return text;
}

}  // namespace

std::string ToString(const TensorType& type) {
  std::string text(Name(type.elem_type));
  text += type.shape ? ToString(*type.shape) : "[...]";
  if (type.quantization) text += QuantizationText(*type.quantization);
  return text;
}

std::string HexFloat(double value) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const double magnitude = std::fabs(value);
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, magnitude, std::chars_format::hex).ptr;
  return (std::signbit(value) ? "-0x" : "0x") + std::string(buffer, end);
}

Result<double> ParseFloat(std::string_view text) {
  const Error error{ErrorCode::kInvalid, "",
                    "found '" + std::string(text.substr(0, 40)) + "', expected a number"};
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  double magnitude = 0;
  if (rest == "nan" || rest == ".nan" || rest == "NaN" || rest == ".NaN") {
    magnitude = std::numeric_limits<double>::quiet_NaN();
  } else if (rest == "inf" || rest == ".inf" || rest == ".Inf") {
    magnitude = std::numeric_limits<double>::infinity();
  } else {
    const bool hex = rest.starts_with("0x") || rest.starts_with("0X");
    if (hex) rest.remove_prefix(2);
    if (rest.empty() || rest[0] == '-') return error;
    const auto [end, code] =
        std::from_chars(rest.data(), rest.data() + rest.size(), magnitude,
                        hex ? std::chars_format::hex : std::chars_format::general);
    if (code != std::errc() || end != rest.data() + rest.size()) return error;
  }
  return negative ? -magnitude : magnitude;
}

}  // namespace qtx::format
