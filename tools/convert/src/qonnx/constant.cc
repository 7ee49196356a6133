#include "qonnx/constant.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Tensor;

float Rounded(float value, QonnxRounding rounding) {
  switch (rounding) {
    case QonnxRounding::kHalfEven:
      return std::nearbyint(value);
    case QonnxRounding::kCeil:
      return std::ceil(value);
    case QonnxRounding::kFloor:
      return std::floor(value);
    case QonnxRounding::kAwayFromZero:
      return std::copysign(std::ceil(std::abs(value)), value);
    case QonnxRounding::kTowardZero:
      return std::trunc(value);
    case QonnxRounding::kHalfAway:  // the sum may round, as it does there
      return std::copysign(std::floor(std::abs(value) + 0.5F), value);
    case QonnxRounding::kHalfTowardZero:
      return std::copysign(std::ceil(std::abs(value) - 0.5F), value);
  }
  return value;
}

// One element: `scale` and `offset` are those that its coordinates select.
struct Element {
  float real = 0, scale = 1;
  std::int32_t offset = 0;
};

// True when scale * (stored - offset) is the binary32 product that QONNX gives.
bool IsExact(const Element& element, std::int64_t stored, float computed) {
  const auto steps = static_cast<double>(stored - element.offset);
  const auto there =
      static_cast<double>((computed - static_cast<float>(element.offset)) * element.scale);
  // fma gives the rounding error of the product in binary64.
  return std::fma(static_cast<double>(element.scale), steps, -there) == 0;
}

std::int64_t StoredInteger(const Element& element, const format::IntegerRange& range,
                           QonnxRounding rounding, bool& exact) {
  // QONNX rounds 32-bit ranges to binary32, too.
  const auto low = static_cast<float>(range.min);
  const auto high = static_cast<float>(range.max);
  float value = element.real / element.scale + static_cast<float>(element.offset);
  value = Rounded(std::clamp(value, low, high), rounding);
  const std::int64_t stored = std::clamp(static_cast<std::int64_t>(value), range.min, range.max);
  exact = IsExact(element, stored, value);
  return stored;
}

std::int64_t StoredSign(const Element& element, bool& exact) {
  exact = true;
  return element.real / element.scale >= 0 ? 1 : -1;
}

// QONNX's steps give the format's nearest value too: each is a power of two times an integer.
std::uint32_t StoredCode(const Element& element, ElementType storage, bool& exact) {
  const std::uint32_t code = format::EncodeSmallFloat(storage, element.real / element.scale);
  const double product =
      format::DecodeSmallFloat(storage, code) * static_cast<double>(element.scale);
  exact = static_cast<double>(static_cast<float>(product)) == product;
  return code;
}

// Stored integers, or codes of a small float; counts in `rounded` those that are not exact.
Result<std::vector<std::int64_t>> StoredOf(const Tensor& real, const QonnxQuantizer& quantizer,
                                           std::int64_t& rounded) {
  const format::Quantization& q = quantizer.quantization;
  const ElementType storage = format::StorageOf(quantizer.elem_type);
  const bool is_float = format::IsSmallFloat(storage);
  const format::IntegerRange range =
      is_float ? format::IntegerRange{} : format::StoredRange(quantizer.elem_type, q);
  const auto values = real.As<float>();
  const format::ParameterMap map(q, real.dims);
  std::vector<std::int64_t> stored(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t parameter = map(static_cast<std::int64_t>(i));
    const Element element{values[i], format::ScaleAt(q, parameter), format::OffsetAt(q, parameter)};
    if (std::isnan(element.real)) {
      return Error{ErrorCode::kInvalid, "element " + std::to_string(i), "NaN has no stored value"};
    }
    bool exact = true;
    if (is_float) {
      stored[i] = StoredCode(element, storage, exact);
    } else if (storage == ElementType::kBipolar1) {
      stored[i] = StoredSign(element, exact);
    } else {
      stored[i] = StoredInteger(element, range, quantizer.rounding, exact);
    }
    rounded += exact ? 0 : 1;
  }
  return stored;
}

}  // namespace

Result<QuantizedConstant> QuantizeConstant(const Tensor& real, const QonnxQuantizer& quantizer) {
  if (real.elem_type != ElementType::kFloat)
    return Error{ErrorCode::kUnsupported, "",
                 "found " + std::string(format::Name(real.elem_type)) + ", expected FLOAT"};
  const format::Quantization& q = quantizer.quantization;
  QTX_ASSIGN_OR_RETURN(const format::Dims counts, format::ParameterDims(q, real.dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(counts));
  if (count != static_cast<std::int64_t>(q.scale.size()))
    return Error{ErrorCode::kInvalid, "scale",
                 "found " + std::to_string(q.scale.size()) + ", expected " + std::to_string(count) +
                     " for shape " + format::ToString(real.dims)};
  const ElementType storage = format::StorageOf(quantizer.elem_type);
  QuantizedConstant constant;
  QTX_ASSIGN_OR_RETURN(constant.tensor, format::MakeTensor(quantizer.elem_type, real.dims, q));
  if (format::IsSmallFloat(storage) && quantizer.rounding != QonnxRounding::kHalfEven)
    return Error{ErrorCode::kUnsupported, "rounding_mode",
                 "'" + quantizer.rounding_name + "' of a small float"};
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> stored,
                       StoredOf(real, quantizer, constant.rounded));
  if (storage == ElementType::kFloat4E2M1) {  // packed as UINT4 codes are
    Tensor codes{ElementType::kUint4, real.dims, std::nullopt, std::move(constant.tensor.bytes)};
    format::PackIntegers(stored, codes);
    constant.tensor.bytes = std::move(codes.bytes);
  } else if (format::IsSmallFloat(storage)) {
    std::ranges::transform(stored, constant.tensor.bytes.begin(),
                           [](std::int64_t code) { return static_cast<std::byte>(code); });
  } else {
    format::PackIntegers(stored, constant.tensor);
  }
  return constant;
}

}  // namespace qtx::convert
