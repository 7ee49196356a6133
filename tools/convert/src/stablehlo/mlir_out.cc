#include "stablehlo/mlir_out.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "errors.h"
#include "stablehlo/parser.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using format::Quantization;
using format::Tensor;

constexpr std::int64_t kMaxListed = 16;                    // elements that are written as lists
constexpr std::int64_t kMaxSplat = std::int64_t{1} << 20;  // see kMaxMlirRepeated
constexpr std::size_t kMaxNameLength = 64;                 // of a value, behind %
constexpr std::string_view kHexDigits = "0123456789ABCDEF";

bool IsNameLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNameDigit(char c) { return c >= '0' && c <= '9'; }

// A decimal number that reads back as the same binary64; MLIR wants a point in it.
std::string Decimal(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  if (text.find('.') != std::string::npos) return text;
  text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

std::string Hex(std::uint64_t bits, int width) {
  std::string text = "0x";
  for (int shift = width - 4; shift >= 0; shift -= 4) text += kHexDigits[(bits >> shift) & 15];
  return text;
}

// "i8", "u8", "i8<-127:127>"
Result<std::string> StorageText(ElementType type, const Quantization& q) {
  if (!format::IsIntegerStorage(type) || type == ElementType::kBipolar1Q)
    return Unsupported("", std::string(format::Name(type)) +
                               ": StableHLO's operators take quantized integers alone");
  const format::IntegerRange storage = format::StorageRange(type);
  std::string text = (storage.min < 0 ? "i" : "u") + std::to_string(format::BitWidth(type));
  const format::IntegerRange range = format::StoredRange(type, q);
  if (range == storage) return text;
  if (range.min == range.max)
    return Unsupported("", "a range of one value: MLIR has a least value below the largest");
  return text + "<" + std::to_string(range.min) + ":" + std::to_string(range.max) + ">";
}

std::string ParameterText(const Quantization& q, std::int64_t i) {
  std::string text = Decimal(static_cast<double>(format::ScaleAt(q, i)));
  if (const std::int32_t offset = format::OffsetAt(q, i); offset != 0)
    text += ":" + std::to_string(offset);
  return text;
}

// Lists within lists, one for each axis from `axis` on; `next` counts the parameters.
void AddLists(const Quantization& q, const Dims& counts, std::size_t axis, std::int64_t& next,
              std::string& to) {
  if (axis == counts.size()) {
    to += ParameterText(q, next++);
    return;
  }
  to += "{";
  for (std::int64_t i = 0; i < counts[axis]; ++i) {
    if (i > 0) to += ",";
    AddLists(q, counts, axis + 1, next, to);
  }
  to += "}";
}

// ", 0.5:3", ":1, {0.5,0.25}" or ":{0:1, 1:32}, {{0.5},{0.25}}"
Result<std::string> ParametersText(const HloType& type) {
  const Quantization& q = *type.quantization;
  if (q.axis.empty()) return ", " + ParameterText(q, 0);
  QTX_ASSIGN_OR_RETURN(const Dims counts, format::ParameterDims(q, type.dims));
  std::int64_t next = 0;
  std::string lists;
  if (IsPerTensorOrAxis(type)) {
    AddLists(q, counts, 0, next, lists);
    return ":" + std::to_string(q.axis[0]) + ", " + lists;
  }
  if (!std::ranges::is_sorted(q.axis)) return Unsupported("", "axes of blocks out of order");
  std::string blocks;
  Dims all(type.dims.size(), 1);
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[i];
    const auto axis = static_cast<std::size_t>(q.axis[i]);
    if (type.dims[axis] % block != 0)
      return Unsupported("", "blocks of " + std::to_string(block) + " that do not divide axis " +
                                 std::to_string(axis));
    blocks += (i > 0 ? ", " : "") + std::to_string(axis) + ":" + std::to_string(block);
    all[axis] = counts[i];
  }
  AddLists(q, all, 0, next, lists);
  return ":{" + blocks + "}, " + lists;
}

Result<std::string> ElementText(const HloType& type) {
  if (!type.quantization) {
    const std::string_view word = MlirWord(type.elem_type);
    if (!word.empty()) return std::string(word);
    return Unsupported("", "element type " + std::string(format::Name(type.elem_type)));
  }
  QTX_ASSIGN_OR_RETURN(const std::string storage, StorageText(type.elem_type, *type.quantization));
  const bool unknown = std::ranges::any_of(type.quantization->axis, [&](std::int64_t axis) {
    return type.dims[static_cast<std::size_t>(axis)] < 0;
  });
  if (unknown) return Unsupported("", "parameters along an axis of unknown size");
  const bool none = std::ranges::any_of(type.quantization->axis, [&](std::int64_t axis) {
    return type.dims[static_cast<std::size_t>(axis)] == 0;
  });
  if (none) return Unsupported("", "parameters along an axis of size 0: MLIR has no empty list");
  QTX_ASSIGN_OR_RETURN(const std::string parameters, ParametersText(type));
  return "!quant.uniform<" + storage + ":" +
         std::string(MlirWord(format::RealTypeOf(*type.quantization))) + parameters + ">";
}

std::uint64_t BitsOf(const Tensor& tensor, std::size_t i) {
  const auto width = static_cast<std::size_t>(format::BitWidth(tensor.elem_type)) / 8;
  std::uint64_t bits = 0;
  for (std::size_t k = 0; k < width; ++k)
    bits |= std::to_integer<std::uint64_t>(tensor.bytes[i * width + k]) << (8 * k);
  return bits;
}

// Writes elements of one tensor.
class ElementWriter {
 public:
  explicit ElementWriter(const Tensor& tensor) : tensor_(tensor) {
    const ElementType type = format::StorageOf(tensor.elem_type);
    is_integer_ = format::IsIntegerStorage(type) || type == ElementType::kBool;
    if (is_integer_) {
      integers_ = format::UnpackIntegers(tensor);
    } else if (type != ElementType::kDouble) {
      reals_ = format::StoredValues(tensor);
    }
  }

  std::string Text(std::size_t i) const {
    if (tensor_.elem_type == ElementType::kBool) return integers_[i] != 0 ? "true" : "false";
    if (is_integer_ && tensor_.elem_type == ElementType::kUint64)
      return std::to_string(static_cast<std::uint64_t>(integers_[i]));
    if (is_integer_) return std::to_string(integers_[i]);
    const double value = reals_.empty() ? tensor_.As<double>()[i] : reals_[i];
    const int width = format::BitWidth(tensor_.elem_type);
    if (std::isfinite(value) && width >= 8) return Decimal(value);
    return width < 8 ? Decimal(value) : Hex(BitsOf(tensor_, i), width);
  }
  bool AllEqual() const {
    if (is_integer_)
      return std::ranges::adjacent_find(integers_, std::not_equal_to<>()) == integers_.end();
    const auto count = static_cast<std::size_t>(format::ElementCount(tensor_));
    const std::size_t width = tensor_.bytes.size() / count;
    for (std::size_t i = width; i < tensor_.bytes.size(); ++i) {
      if (tensor_.bytes[i] != tensor_.bytes[i - width]) return false;
    }
    return width > 0;
  }
  // Bytes, little-endian; integers narrower than a byte have one each.
  std::string Bytes() const {
    std::string text = "\"0x";
    const auto put = [&](unsigned byte) {
      text += kHexDigits[(byte >> 4) & 15];
      text += kHexDigits[byte & 15];
    };
    if (format::BitWidth(tensor_.elem_type) >= 8) {
      text.reserve(2 * tensor_.bytes.size() + 4);
      for (const std::byte byte : tensor_.bytes) put(std::to_integer<unsigned>(byte));
    } else {
      for (const std::int64_t value : integers_) put(static_cast<unsigned>(value & 255));
    }
    return text + "\"";
  }
  bool HasBytes() const {
    return tensor_.elem_type != ElementType::kBool &&
           (is_integer_ || format::BitWidth(tensor_.elem_type) >= 8);
  }

 private:
  const Tensor& tensor_;
  bool is_integer_ = false;
  std::vector<std::int64_t> integers_;
  std::vector<double> reals_;
};

void AddElements(const ElementWriter& elements, const Dims& dims, std::size_t axis,
                 std::size_t& next, std::string& to) {
  if (axis == dims.size()) {
    to += elements.Text(next++);
    return;
  }
  to += "[";
  for (std::int64_t i = 0; i < dims[axis]; ++i) {
    if (i > 0) to += ", ";
    AddElements(elements, dims, axis + 1, next, to);
  }
  to += "]";
}

}  // namespace

HloType RealsOf(HloType type) {
  if (!type.quantization) return type;
  type.elem_type = format::RealTypeOf(*type.quantization);
  type.quantization.reset();
  return type;
}

bool IsPerTensorOrAxis(const HloType& type) {
  if (!type.quantization) return true;
  const Quantization& q = *type.quantization;
  return q.axis.size() <= 1 && (q.block_shape.empty() || q.block_shape[0] == 1);
}

Result<std::string> MlirType(const HloType& type) {
  std::string text = "tensor<";
  for (const std::int64_t dim : type.dims) text += (dim < 0 ? "?" : std::to_string(dim)) + "x";
  QTX_ASSIGN_OR_RETURN(const std::string element, ElementText(type));
  return text + element + ">";
}

std::string MlirString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '"' && c != '\\') {
      quoted += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    quoted += '\\';
    quoted += kHexDigits[byte >> 4];
    quoted += kHexDigits[byte & 15];
  }
  return quoted + "\"";
}

Result<std::string> MlirDense(const Tensor& tensor) {
  Tensor stored = tensor;
  stored.elem_type = format::StorageOf(tensor.elem_type);
  stored.quantization.reset();
  QTX_ASSIGN_OR_RETURN(std::string type, MlirType({stored.elem_type, stored.dims, std::nullopt}));
  // The elements of a quantized constant have a type without sign, whatever the storage's.
  if (const std::size_t at = type.find("xui"); tensor.quantization && at != std::string::npos)
    type.erase(at + 1, 1);
  if (tensor.quantization && type.starts_with("tensor<ui")) type.erase(7, 1);
  const std::int64_t count = format::ElementCount(stored);
  if (count == 0) return "dense<> : " + type;
  const ElementWriter elements(stored);
  if (count > 1 && count <= kMaxSplat && elements.AllEqual())
    return "dense<" + elements.Text(0) + "> : " + type;
  if (count > kMaxListed && elements.HasBytes()) return "dense<" + elements.Bytes() + "> : " + type;
  std::string text = "dense<";
  std::size_t next = 0;
  AddElements(elements, stored.dims, 0, next, text);
  return text + "> : " + type;
}

std::string MlirNames::Unique(std::string_view wanted) {
  std::string name;
  for (const char c : wanted.substr(0, kMaxNameLength))
    name += IsNameLetter(c) || IsNameDigit(c) || c == '.' || c == '$' || c == '-' ? c : '_';
  const bool number = !name.empty() && std::ranges::all_of(name, IsNameDigit);
  if (name.empty() || (IsNameDigit(name[0]) && !number)) name.insert(0, "v");
  if (next_.emplace(name, 2).second) return name;
  const std::string stem = (number ? "v" : "") + name + "_";
  for (;;) {
    std::string unique = stem + std::to_string(next_[name]++);
    if (next_.emplace(unique, 2).second) return unique;
  }
}

}  // namespace qtx::convert
