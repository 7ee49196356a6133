#include "qtx/format/description.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace qtx::format {
namespace {

constexpr std::string_view kSeparator = "\n\n";  // between a doc string and the description

// The shortest decimal form that reads back as the same value.
template <typename Number>
std::string Decimal(Number value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end.ptr};
}

// "0.25", or "0.25 to 3" of several.
template <typename Number>
std::string Extent(const std::vector<Number>& values) {
  const auto [least, greatest] = std::ranges::minmax(values);
  return least == greatest ? Decimal(least) : Decimal(least) + " to " + Decimal(greatest);
}

std::string AxisText(const std::vector<std::int64_t>& axes) {
  std::string text = axes.size() == 1 ? "axis" : "axes";
  for (std::size_t i = 0; i < axes.size(); ++i) text += (i == 0 ? " " : ", ") + Decimal(axes[i]);
  return text;
}

std::string ScaleText(const Quantization& q) {
  if (!q.scale_tensor.empty()) return "scale in '" + q.scale_tensor + "'";
  if (q.scale.empty()) return q.scale_levels.empty() ? "no scale" : "scale in levels";
  return "scale " + Extent(q.scale);
}

std::string QuantizationText(ElementType type, const Quantization& q) {
  std::string text(Name(type));
  text += ", " + ScaleText(q);
  if (!q.offset_tensor.empty()) {
    text += ", offset in '" + q.offset_tensor + "'";
  } else {
    text += ", offset " + (q.offset.empty() ? "0" : Extent(q.offset));
  }
  if (!q.base_levels.empty()) text += ", with a base";
  if (!q.code_book.empty()) text += ", by a code book";
  if (!q.code_book_tensor.empty()) text += ", by the code book in '" + q.code_book_tensor + "'";
  if (!q.axis.empty()) text += ", along " + AxisText(q.axis);
  for (std::size_t i = 0; i < q.block_shape.size(); ++i) {
    text += (i == 0 ? ", in blocks of " : " x ") + Decimal(q.block_shape[i]);
  }
  if (q.quant_min) text += ", stored at least " + Decimal(*q.quant_min);
  if (q.quant_max) text += ", stored at most " + Decimal(*q.quant_max);
  return text;
}

std::string StatisticsText(const Statistics& s) {
  std::string text;
  const auto add = [&text](const char* name, const std::vector<double>& values) {
    if (!values.empty()) text += (text.empty() ? "" : ", ") + (name + (' ' + Extent(values)));
  };
  add("min", s.min);
  add("max", s.max);
  add("mean", s.mean);
  add("std", s.std);
  if (!s.axis.empty()) text += " along " + AxisText(s.axis);
  if (s.count == 0) return text;
  return text + (text.empty() ? "" : " ") + "of " + Decimal(s.count) + " values";
}

}  // namespace

std::string Description(const TensorType& type) {
  std::string text;
  if (type.quantization && IsQuantized(type.elem_type)) {
    text = QuantizationText(type.elem_type, *type.quantization);
  } else if (IsAnnotated(type)) {
    text = QuantizationText(*QuantizedOf(type.quantization->storage_type), *type.quantization);
  }
  const std::string statistics = type.statistics ? StatisticsText(*type.statistics) : "";
  return text + (text.empty() || statistics.empty() ? "" : "; ") + statistics;
}

void Describe(ValueInfo& value) {
  const std::string text = value.type ? Description(*value.type) : "";
  if (text.empty()) return;
  value.doc_string += (value.doc_string.empty() ? "" : std::string(kSeparator)) + text;
}

bool Undescribe(ValueInfo& value) {
  const std::string text = value.type ? Description(*value.type) : "";
  if (text.empty() || !value.doc_string.ends_with(text)) return false;
  std::string_view rest = value.doc_string;
  rest.remove_suffix(text.size());
  if (!rest.empty() && !rest.ends_with(kSeparator)) return false;
  rest.remove_suffix(std::min(rest.size(), kSeparator.size()));
  value.doc_string = std::string(rest);
  return true;
}

}  // namespace qtx::format
