// Types of MLIR: tensors of plain and quantized elements.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "errors.h"
#include "qtx/format/limits.h"
#include "stablehlo/parser.h"

namespace qtx::convert {
namespace {

using format::ElementType;

constexpr std::array<std::pair<std::string_view, ElementType>, 30> kElementTypes = {{
    {"f32", ElementType::kFloat},
    {"f64", ElementType::kDouble},
    {"f16", ElementType::kFloat16},
    {"bf16", ElementType::kBfloat16},
    {"f8E4M3FN", ElementType::kFloat8E4M3FN},
    {"f8E4M3FNUZ", ElementType::kFloat8E4M3FNUZ},
    {"f8E5M2", ElementType::kFloat8E5M2},
    {"f8E5M2FNUZ", ElementType::kFloat8E5M2FNUZ},
    {"f4E2M1FN", ElementType::kFloat4E2M1},
    {"f8E8M0FNU", ElementType::kFloat8E8M0},
    {"i1", ElementType::kBool},
    {"i2", ElementType::kInt2},
    {"i4", ElementType::kInt4},
    {"i8", ElementType::kInt8},
    {"i16", ElementType::kInt16},
    {"i32", ElementType::kInt32},
    {"i64", ElementType::kInt64},
    {"index", ElementType::kInt64},
    {"si2", ElementType::kInt2},
    {"si4", ElementType::kInt4},
    {"si8", ElementType::kInt8},
    {"si16", ElementType::kInt16},
    {"si32", ElementType::kInt32},
    {"si64", ElementType::kInt64},
    {"ui2", ElementType::kUint2},
    {"ui4", ElementType::kUint4},
    {"ui8", ElementType::kUint8},
    {"ui16", ElementType::kUint16},
    {"ui32", ElementType::kUint32},
    {"ui64", ElementType::kUint64},
}};

// The narrowest quantized type that has the stored integers of `bits` bits.
std::optional<ElementType> StorageFor(bool is_unsigned, std::int64_t bits) {
  constexpr std::array<std::pair<std::int64_t, ElementType>, 5> kSigned = {{
      {2, ElementType::kInt2Q},
      {4, ElementType::kInt4Q},
      {8, ElementType::kInt8Q},
      {16, ElementType::kInt16Q},
      {32, ElementType::kInt32Q},
  }};
  constexpr std::array<std::pair<std::int64_t, ElementType>, 5> kUnsigned = {{
      {2, ElementType::kUint2Q},
      {4, ElementType::kUint4Q},
      {8, ElementType::kUint8Q},
      {16, ElementType::kUint16Q},
      {31, ElementType::kInt32Q},
  }};
  for (const auto& [width, type] : is_unsigned ? kUnsigned : kSigned) {
    if (bits >= 1 && bits <= width) return type;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ElementType> MlirElementType(std::string_view word) {
  const auto* found =
      std::ranges::find(kElementTypes, word, &std::pair<std::string_view, ElementType>::first);
  if (found == kElementTypes.end()) return std::nullopt;
  return found->second;
}

std::string_view MlirWord(ElementType type) {
  const auto* found =
      std::ranges::find(kElementTypes, type, &std::pair<std::string_view, ElementType>::second);
  return found == kElementTypes.end() ? std::string_view() : found->first;
}

Result<format::TensorType> MlirParser::Type(int depth) {
  if (depth > kMaxMlirDepth) return text_.Fail("types at most 32 deep");
  format::TensorType type;
  if (text_.Peek() == '!') {
    const std::size_t begin = text_.at();
    text_.Advance();
    const std::string name(text_.Name());
    const auto definition = AliasOf("!" + name);
    if (!definition.has_value())
      return Unsupported(text_.Place(begin), "type '!" + name + "', expected a tensor");
    const std::size_t behind = text_.at();
    text_.Seek(*definition);
    QTX_ASSIGN_OR_RETURN(type, Type(depth + 1));
    text_.Seek(behind);
    return type;
  }
  const std::size_t begin = text_.at();
  const std::string word(text_.Word());
  if (word != "tensor") {
    text_.Seek(begin);
    return text_.Fail("a tensor type");
  }
  QTX_RETURN_IF_ERROR(text_.Expect("<"));
  QTX_RETURN_IF_ERROR(Dimensions(type));
  QTX_RETURN_IF_ERROR(Element(type, depth));
  if (text_.Take(",")) QTX_RETURN_IF_ERROR(Attribute(true, depth + 1));  // bounds, encodings
  QTX_RETURN_IF_ERROR(text_.Expect(">"));
  if (type.quantization) QTX_RETURN_IF_ERROR(CheckParameters(type));
  return type;
}

// Any type, of which nothing is wanted: `i64`, `!a.b<...>`, `tensor<...>`, `(...) -> ...`.
Result<void> MlirParser::TypeText() {
  if (text_.Peek() == '(') {
    QTX_RETURN_IF_ERROR(text_.SkipBalanced());
    QTX_RETURN_IF_ERROR(text_.Expect("->"));
    if (text_.Peek() == '(') return text_.SkipBalanced();
  }
  const bool dialect = text_.Take("!");
  if ((dialect ? text_.Name() : text_.Word()).empty()) return text_.Fail("a type");
  return text_.Peek() == '<' ? text_.SkipBalanced() : Result<void>();
}

// 2x?x3x, before the element type.
Result<void> MlirParser::Dimensions(format::TensorType& type) {
  type.shape.emplace();
  for (;;) {
    const char c = text_.Peek();
    format::Dimension dimension;
    if (c >= '0' && c <= '9') {
      std::int64_t value = 0;
      for (; text_.Raw() >= '0' && text_.Raw() <= '9'; text_.Advance()) {
        value = value * 10 + (text_.Raw() - '0');
        if (value > format::kMaxElements)
          return Error{ErrorCode::kTooLarge, text_.Place(text_.at()), "a dimension above 2^32"};
      }
      dimension.value = value;
    } else if (c == '?') {
      text_.Advance();
    } else {
      return {};
    }
    if (text_.Raw() != 'x') return text_.Fail("'x' behind a dimension");
    text_.Advance();
    if (type.shape->size() == format::kMaxRank)
      return Error{ErrorCode::kTooLarge, text_.Place(text_.at()), "more than 16 dimensions"};
    type.shape->push_back(dimension);
  }
}

Result<void> MlirParser::Element(format::TensorType& type, int depth) {
  if (depth > kMaxMlirDepth) return text_.Fail("types at most 32 deep");
  const std::size_t begin = text_.at();
  if (!text_.Take("!")) {
    const std::string word(text_.Word());
    const auto elem_type = MlirElementType(word);
    if (!elem_type && word.empty()) return text_.Fail("an element type");
    if (!elem_type) return Unsupported(text_.Place(begin), "element type '" + word + "'");
    type.elem_type = *elem_type;
    return {};
  }
  const std::string name(text_.Name());
  if (name == "quant.uniform") return Uniform(type);
  const auto definition = AliasOf("!" + name);
  if (!definition.has_value())
    return Unsupported(text_.Place(begin), "element type '!" + name + "'");
  const std::size_t behind = text_.at();
  text_.Seek(*definition);
  QTX_RETURN_IF_ERROR(Element(type, depth + 1));
  text_.Seek(behind);
  return {};
}

// <i8<-127:127>:f32:1, {0.5:3, ...}>
Result<void> MlirParser::Uniform(format::TensorType& type) {
  format::Quantization& q = type.quantization.emplace();
  QTX_RETURN_IF_ERROR(text_.Expect("<"));
  QTX_RETURN_IF_ERROR(Storage(type));
  QTX_RETURN_IF_ERROR(text_.Expect(":"));
  const std::size_t begin = text_.at();
  const std::string expressed(text_.Word());
  const auto real = MlirElementType(expressed);
  if (!real || !format::IsRealType(*real))
    return Unsupported(text_.Place(begin),
                       "expressed type '" + expressed + "', expected f32, f16 or bf16");
  if (*real != ElementType::kFloat) q.real_type = *real;
  if (text_.Take(":")) QTX_RETURN_IF_ERROR(Axes(q));
  QTX_RETURN_IF_ERROR(text_.Expect(","));
  QTX_RETURN_IF_ERROR(Parameters(q, 0));
  if (std::ranges::all_of(q.offset, [](std::int32_t offset) { return offset == 0; }))
    q.offset.clear();
  return text_.Expect(">");
}

Result<void> MlirParser::Storage(format::TensorType& type) {
  format::Quantization& q = *type.quantization;
  const std::size_t begin = text_.at();
  const std::string word(text_.Word());
  const auto plain = MlirElementType(word);
  std::int64_t bits = 0;
  const std::size_t letters = word.find_first_of("0123456789");
  const std::string_view kind = std::string_view(word).substr(0, letters);
  const bool is_unsigned = kind == "u" || kind == "ui";
  if (is_unsigned || kind == "i" || kind == "si") {
    for (const char c : word.substr(kind.size()))
      bits = c >= '0' && c <= '9' && bits < 1000 ? bits * 10 + (c - '0') : 1000;
  }
  auto found = StorageFor(is_unsigned, bits);
  if (!found && plain && format::IsSmallFloat(*plain)) found = format::QuantizedOf(*plain);
  if (!found) return Unsupported(text_.Place(begin), "storage type '" + word + "'");
  type.elem_type = *found;
  const format::IntegerRange range = format::StorageRange(*found);
  format::IntegerRange bounds = range;
  if (bits > 0) {
    bounds.min = is_unsigned ? 0 : -(std::int64_t{1} << (bits - 1));
    bounds.max = (std::int64_t{1} << (is_unsigned ? bits : bits - 1)) - 1;
  }
  if (text_.Take("<")) {
    const format::IntegerRange storage = bounds;
    QTX_ASSIGN_OR_RETURN(bounds.min, text_.Integer());
    QTX_RETURN_IF_ERROR(text_.Expect(":"));
    QTX_ASSIGN_OR_RETURN(bounds.max, text_.Integer());
    QTX_RETURN_IF_ERROR(text_.Expect(">"));
    if (bounds.min < storage.min || bounds.max > storage.max || bounds.min >= bounds.max)
      return Invalid(text_.Place(begin), "storage bounds <" + std::to_string(bounds.min) + ":" +
                                             std::to_string(bounds.max) + "> of '" + word + "'");
  }
  if (bounds.min != range.min) q.quant_min = bounds.min;
  if (bounds.max != range.max) q.quant_max = bounds.max;
  return {};
}

// 1, or {0:1, 1:32}: axes and their block sizes.
Result<void> MlirParser::Axes(format::Quantization& q) {
  if (!text_.Take("{")) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t axis, text_.Integer());
    q.axis = {axis};
    return {};
  }
  std::map<std::int64_t, std::int64_t> blocks;
  do {
    QTX_ASSIGN_OR_RETURN(const std::int64_t axis, text_.Integer());
    QTX_RETURN_IF_ERROR(text_.Expect(":"));
    QTX_ASSIGN_OR_RETURN(const std::int64_t block, text_.Integer());
    if (axis < 0 || axis >= format::kMaxRank || block < 1 || !blocks.emplace(axis, block).second)
      return text_.Fail("other axes than before, with blocks of at least 1");
  } while (text_.Take(","));
  for (const auto& [axis, block] : blocks) {
    q.axis.push_back(axis);
    q.block_shape.push_back(block);
  }
  if (std::ranges::all_of(q.block_shape, [](std::int64_t block) { return block == 1; }))
    q.block_shape.clear();
  return text_.Expect("}");
}

// scale[:zero point], or lists of them.
Result<void> MlirParser::Parameters(format::Quantization& q, int depth) {
  if (depth > format::kMaxRank) return text_.Fail("lists at most 16 deep");
  if (text_.Take("{")) {
    do {
      QTX_RETURN_IF_ERROR(Parameters(q, depth + 1));
    } while (text_.Take(","));
    return text_.Expect("}");
  }
  QTX_RETURN_IF_ERROR(Spend(parameters_left_, 1, "scales"));
  const std::size_t begin = text_.at();
  QTX_ASSIGN_OR_RETURN(const MlirNumber scale, text_.Number());
  const auto rounded = static_cast<float>(scale.real);
  if (scale.form == MlirNumber::Form::kBits || !(rounded > 0) || !std::isfinite(rounded))
    return Invalid(text_.Place(begin), "a scale that is no positive binary32 number");
  if (static_cast<double>(rounded) != scale.real) ++rounded_scales_;
  std::int64_t offset = 0;
  if (text_.Take(":")) {
    QTX_ASSIGN_OR_RETURN(offset, text_.Integer());
  }
  if (offset != static_cast<std::int32_t>(offset))
    return Unsupported(text_.Place(begin), "a zero point of more than 32 bits");
  q.scale.push_back(rounded);
  q.offset.push_back(static_cast<std::int32_t>(offset));
  return {};
}

Result<void> MlirParser::CheckParameters(const format::TensorType& type) {
  const auto dims = format::FixedDims(*type.shape);
  if (!dims) return {};
  const format::Quantization& q = *type.quantization;
  const auto counts = format::ParameterDims(q, *dims);
  if (!counts.has_value()) return At(text_.Place(text_.at()), counts.error());
  const auto count = format::ElementCount(*counts);
  if (!count.has_value()) return At(text_.Place(text_.at()), count.error());
  if (static_cast<std::int64_t>(q.scale.size()) == *count) return {};
  return Invalid(text_.Place(text_.at()), "found " + std::to_string(q.scale.size()) +
                                              " scales, expected " + std::to_string(*count));
}

}  // namespace qtx::convert
