#include "safetensors/weight.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "errors.h"
#include "qtx/format/limits.h"

namespace qtx::convert::safetensors {
namespace {

using format::ElementType;

// The storages of integers, from narrow to wide.
constexpr std::array kSigned = {ElementType::kInt2, ElementType::kInt4, ElementType::kInt8,
                                ElementType::kInt16};
constexpr std::array kUnsigned = {ElementType::kUint2, ElementType::kUint4, ElementType::kUint8,
                                  ElementType::kUint16};

// The first element of `values` that no factor may be.
Result<void> CheckFactors(const Tensor& scales, ElementType type) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes,
                       ReadTensor(scales, format::kMaxParameters * std::int64_t{4}));
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::MakeTensor(type, scales.dims));
  std::ranges::transform(bytes, tensor.bytes.begin(), [](char c) { return std::byte(c); });
  const std::vector<double> values = format::StoredValues(tensor);
  const auto bad = std::ranges::find_if(values, [](double v) { return !std::isfinite(v); });
  if (bad == values.end()) return {};
  return Unsupported(scales.name, "element " + std::to_string(bad - values.begin()) + " is " +
                                      format::HexFloat(*bad) + ", which no scale is");
}

bool MayBeScale(ElementType type) {
  using enum ElementType;
  return type == kFloat || type == kFloat16 || type == kBfloat16 || type == kFloat8E8M0 ||
         type == kFloat8E4M3FN || type == kFloat8E5M2;
}

}  // namespace

Result<const Tensor*> Need(const Container& files, const std::string& stem, std::string_view suffix,
                           std::initializer_list<std::string_view> dtypes) {
  const std::string name = stem + std::string(suffix);
  const Tensor* tensor = files.Find(name);
  if (tensor == nullptr) return Unsupported(name, "found no such tensor");
  if (std::ranges::find(dtypes, tensor->dtype->name) != dtypes.end()) return tensor;
  std::string expected;
  for (const std::string_view dtype : dtypes)
    expected += (expected.empty() ? "" : " or ") + std::string(dtype);
  return Unsupported(name, "found " + std::string(tensor->dtype->name) + ", expected " + expected);
}

CodeStorage StorageFor(const Codes& codes) {
  const std::int64_t values = std::int64_t{1} << codes.bits;
  const std::int64_t low = codes.centred ? -values / 2 : 0;
  const std::int64_t high = low + values - 1;
  CodeStorage storage{.bias = low};
  for (const ElementType type : codes.centred ? kSigned : kUnsigned) {
    const format::IntegerRange range = format::StorageRange(type);
    if (low < range.min || high > range.max || codes.offset > range.max) continue;
    storage.type = type;
    if (low != range.min) storage.quant_min = low;
    if (high != range.max) storage.quant_max = high;
    break;
  }
  return storage;
}

Weight IntegerWeight(std::string name, const CodeStorage& storage, const format::Dims& dims) {
  Weight weight{.name = std::move(name)};
  weight.type.elem_type = *format::QuantizedOf(storage.type);
  weight.type.shape = format::ToShape(dims);
  weight.type.quantization.emplace();
  weight.q().quant_min = storage.quant_min;
  weight.q().quant_max = storage.quant_max;
  return weight;
}

void SetRecords(const Tensor& tensor, format::Encoding encoding, Weight& weight) {
  weight.tensor = tensor.name;
  weight.carrier = ElementType::kUint8;
  weight.carrier_dims = {tensor.size};
  weight.q().encoding = std::move(encoding);
}

void SetInPlace(const Tensor& tensor, ElementType carrier, Weight& weight) {
  weight.tensor = tensor.name;
  weight.carrier = carrier;
  weight.carrier_dims = *format::FixedDims(*weight.type.shape);
}

Result<void> SetOwn(const std::vector<std::uint8_t>& codes, std::int64_t bias, Weight& weight) {
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor,
                       format::MakeTensor(format::StorageOf(weight.type.elem_type),
                                          *format::FixedDims(*weight.type.shape)));
  constexpr std::size_t kChunk = 1 << 16;  // fills whole bytes
  auto to = tensor.bytes.begin();
  for (std::size_t at = 0; at < codes.size(); at += kChunk) {
    const auto some = std::span(codes).subspan(at, std::min(kChunk, codes.size() - at));
    std::vector<std::int64_t> stored;
    for (const std::uint8_t code : some) stored.push_back(code + bias);
    QTX_ASSIGN_OR_RETURN(format::Tensor chunk,
                         format::MakeTensor(tensor.elem_type, {std::ssize(stored)}));
    format::PackIntegers(stored, chunk);
    to = std::ranges::copy(chunk.bytes, to).out;
  }
  weight.made.emplace_back(weight.name, std::move(tensor));
  return {};
}

format::EncodedField CodeField(int bits, std::int64_t bias, std::vector<std::int32_t> count,
                               std::vector<std::int32_t> stride, std::int32_t record_bit) {
  return {.role = format::EncodedRole::kCode,
          .elem_type = ElementType::kUint8,
          .bias = static_cast<std::int32_t>(bias),
          .bits = {format::BitSpan{.width = bits,
                                   .record_bit = record_bit,
                                   .count = std::move(count),
                                   .stride = std::move(stride)}}};
}

Result<void> AddScale(const Tensor& scales, Weight& weight, std::vector<std::int64_t> block_shape) {
  ElementType type = scales.dtype->type;
  if (type == ElementType::kUint8) {
    type = ElementType::kFloat8E8M0;
    weight.retyped.emplace_back(scales.name, type);
  }
  if (!MayBeScale(type)) {
    return Unsupported(scales.name, "found scales of " + std::string(scales.dtype->name) +
                                        ", expected a float type of at most 32 bits");
  }
  QTX_RETURN_IF_ERROR(CheckFactors(scales, type));
  weight.q().scale_levels.push_back({.tensor = scales.name, .block_shape = std::move(block_shape)});
  return {};
}

void AddScale(float factor, Weight& weight) {
  const format::Dims dims = *format::FixedDims(*weight.type.shape);
  std::vector<std::int64_t> whole;
  for (const std::int64_t axis : weight.q().axis)
    whole.push_back(std::max<std::int64_t>(dims[static_cast<std::size_t>(axis)], 1));
  weight.q().scale_levels.push_back({.value = {factor}, .block_shape = std::move(whole)});
}

Result<void> SetOffsets(const std::vector<std::int64_t>& offsets, const format::Dims& dims,
                        Weight& weight) {
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor,
                       format::MakeTensor(format::StorageOf(weight.type.elem_type), dims));
  format::PackIntegers(offsets, tensor);
  weight.q().offset_tensor = weight.name + "_offset";
  weight.made.emplace_back(weight.q().offset_tensor, std::move(tensor));
  return {};
}

format::BitField DenseBits(int bits) {
  return {CodeField(bits, 0, {8}, {bits}).bits, bits};  // eight values fill whole bytes
}

std::vector<std::uint8_t> UnpackBits(std::string_view bytes, const format::BitField& field,
                                     std::int64_t count) {
  std::vector<std::uint8_t> values;
  std::vector<std::uint32_t> some(field.size());
  const auto all = std::as_bytes(std::span(bytes));
  std::vector<std::byte> record(field.record_bytes());
  for (std::size_t at = 0; std::ssize(values) < count; at += record.size()) {
    std::ranges::fill(record, std::byte{0});
    std::ranges::copy(all.subspan(at, std::min(record.size(), all.size() - at)), record.begin());
    field.Read(record, some);
    values.insert(values.end(), some.begin(), some.end());
  }
  values.resize(static_cast<std::size_t>(count));
  return values;
}

std::int64_t RowsOf(const format::Dims& dims) {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) rows *= dims[i];
  return rows;
}

}  // namespace qtx::convert::safetensors
