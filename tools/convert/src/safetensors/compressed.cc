// compressed-tensors: integers and floats of a weight [N, K], packed or one an element, whose
// scales are for all, for rows, for groups of a row or for blocks. FP8 of DeepSeek and NVFP4 of
// ModelOpt differ from it in names.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "errors.h"
#include "safetensors/reciprocal.h"
#include "safetensors/schemes.h"

namespace qtx::convert::safetensors {
namespace {

using format::Dims;
using format::ElementType;

constexpr std::int64_t kMaxRow = 4096;  // bytes of a row that is one record

// What weights with a code an element are called, behind the module's name.
struct ElementNames {
  std::string_view codes, scales, zero_point;
  bool squares = false;  // a scale for each square block
};
constexpr ElementNames kElementNames[] = {
    {".weight", ".weight_scale_inv", ".weight_zero_point", true},  // FP8 of DeepSeek
    {".weight", ".weight_scale", ".weight_zero_point"},            // compressed-tensors
    {"._weight_qdata", "._weight_scale", "._weight_zero_point"},   // torchao
};

std::int64_t Ceil(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Result<std::vector<std::int64_t>> ReadIntegers(const Tensor& tensor) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes, ReadTensor(tensor, 1 << 10));
  QTX_ASSIGN_OR_RETURN(format::Tensor values, format::MakeTensor(tensor.dtype->type, tensor.dims));
  std::memcpy(values.bytes.data(), bytes.data(), bytes.size());
  return format::UnpackIntegers(values);
}

// How many elements share a scale along each axis; an axis that one scale is for is not named.
Result<void> SetBlocks(const Tensor& scales, const Dims& dims, const Config& config,
                       Weight& weight) {
  const auto mismatch = [&] {
    return Unsupported(scales.name, "found shape " + format::ToString(std::span(scales.dims)) +
                                        " of scales for a weight of " +
                                        format::ToString(std::span(dims)) +
                                        ", expected one, or one for each row, group or block");
  };
  Dims counts = scales.dims;
  const auto count = format::ElementCount(std::span<const std::int64_t>(counts));
  if (!count.has_value()) return count.error();
  if (*count == 1) return {};
  if (counts.size() + 1 == dims.size()) counts.push_back(1);
  if (counts.size() != dims.size()) return mismatch();
  const std::size_t matrix = dims.size() - std::min<std::size_t>(dims.size(), 2);
  const bool blocks = config.block.size() == 2 && dims.size() >= 2 &&
                      std::ranges::all_of(config.block, [](std::int64_t b) { return b > 0; }) &&
                      Ceil(dims[matrix], config.block[0]) == counts[matrix] &&
                      Ceil(dims[matrix + 1], config.block[1]) == counts[matrix + 1];
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (counts[axis] < 1) return mismatch();
    const bool named = blocks && axis >= matrix;
    if (!named && dims[axis] % counts[axis] != 0) return mismatch();
    const std::int64_t block = named ? config.block[axis - matrix] : dims[axis] / counts[axis];
    if (block < 1 && counts[axis] > 1) return mismatch();
    if (counts[axis] == 1) continue;
    weight.q().axis.push_back(static_cast<std::int64_t>(axis));
    weight.q().block_shape.push_back(block);
  }
  return {};
}

// Zero points of `bits`, packed along the rows of each matrix, less 2^(bits-1) as codes are.
Result<std::vector<std::int64_t>> ReadZeroPoints(const Tensor& packed, const Dims& scales,
                                                 int bits) {
  Dims expected = scales;
  if (expected.size() < 2) return Unsupported(packed.name, "expected two dimensions of scales");
  const std::int64_t rows = expected[expected.size() - 2], columns = expected.back();
  const std::int64_t words = Ceil(rows * bits, 32);
  expected[expected.size() - 2] = words;
  if (packed.dims != expected) {
    return Unsupported(packed.name, "found shape " + format::ToString(std::span(packed.dims)) +
                                        ", expected " + format::ToString(std::span(expected)));
  }
  QTX_ASSIGN_OR_RETURN(const std::string bytes, ReadTensor(packed, kMaxRead));
  const format::BitField field = DenseBits(bits);
  std::vector<std::int64_t> zeros;
  std::string column(static_cast<std::size_t>(words * 4), '\0');
  const std::int64_t matrices = words * columns == 0 ? 0 : packed.size / 4 / (words * columns);
  for (std::int64_t m = 0; m < matrices; ++m) {
    const std::size_t begin = zeros.size();
    zeros.resize(begin + static_cast<std::size_t>(rows * columns));
    for (std::int64_t g = 0; g < columns; ++g) {
      for (std::int64_t w = 0; w < words; ++w) {
        const std::int64_t from = (m * words + w) * columns + g;
        std::memcpy(column.data() + w * 4, bytes.data() + from * 4, 4);
      }
      const auto values = UnpackBits(column, field, rows);
      for (std::int64_t n = 0; n < rows; ++n)
        zeros[begin + static_cast<std::size_t>(n * columns + g)] =
            values[static_cast<std::size_t>(n)];
    }
  }
  return zeros;
}

// Codes along rows, bit by bit from the lowest of each row's first byte on.
Result<void> SetRows(const Tensor& packed, const Dims& dims, int bits, std::int64_t bias,
                     Weight& weight) {
  const std::int64_t width = dims.back();
  const std::int64_t row = packed.dims.back() * 4;  // bytes
  const bool dense = width * bits == row * 8;
  const auto in_groups = [&] { return width % 32 == 0 ? 32 : 8 / std::gcd(8, bits); };
  const std::int64_t codes = dense ? in_groups() : width;
  const std::int64_t bytes = dense ? codes * bits / 8 : row;
  if (width % codes == 0 && bytes <= kMaxRow && codes <= 8 * kMaxRow) {
    Dims record(dims.size(), 1);
    record.back() = codes;
    SetRecords(packed,
               {.record_bytes = static_cast<std::int32_t>(bytes),
                .record_shape = std::move(record),
                .fields = {CodeField(bits, bias, {static_cast<std::int32_t>(codes)}, {bits})}},
               weight);
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const std::string data, ReadTensor(packed, kMaxRead));
  const format::BitField field = DenseBits(bits);
  std::vector<std::uint8_t> all;
  for (std::size_t at = 0; at < data.size(); at += static_cast<std::size_t>(row)) {
    const auto values =
        UnpackBits(std::string_view(data).substr(at, static_cast<std::size_t>(row)), field, width);
    all.insert(all.end(), values.begin(), values.end());
  }
  return SetOwn(all, bias, weight);
}

// The bits of a code, by the words of a row; a config decides between several that fit.
Result<int> BitsOf(const Tensor& packed, std::int64_t width, const Config& config) {
  std::vector<int> fits;
  for (int bits = 1; bits <= 8; ++bits) {
    if (Ceil(width * bits, 32) == packed.dims.back()) fits.push_back(bits);
  }
  if (fits.size() == 1) return fits[0];
  const auto given =
      std::ranges::find(fits, static_cast<int>(std::clamp<std::int64_t>(config.bits, 0, 9)));
  if (given != fits.end()) return *given;
  return Unsupported(packed.name, "found " + std::to_string(packed.dims.back()) +
                                      " words for rows of " + std::to_string(width) +
                                      ", expected those of 1 to 8 bits a code");
}

Result<float> ReadFloat(const Tensor& tensor) {
  if (tensor.size != 4) return Unsupported(tensor.name, "expected one value");
  QTX_ASSIGN_OR_RETURN(const std::string bytes, ReadTensor(tensor, 4));
  float value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  if (std::isfinite(value) && value > 0) return value;
  return Unsupported(tensor.name, "found " + format::HexFloat(static_cast<double>(value)) +
                                      ", expected a finite value above 0");
}

// The scale of NVFP4 is a quotient in binary32 of compressed-tensors, a product of ModelOpt.
Result<void> AddGlobalScale(const Container& files, const std::string& stem, bool has_divisor,
                            Weight& weight) {
  if (!has_divisor) {
    QTX_ASSIGN_OR_RETURN(const Tensor* factor, Need(files, stem, ".weight_scale_2", {"F32"}));
    QTX_RETURN_IF_ERROR(ReadFloat(*factor));
    AddScale(0, weight);
    format::BlockFactors& level = weight.q().scale_levels.back();
    level.value.clear();
    level.tensor = factor->name;
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const Tensor* divisor, Need(files, stem, ".weight_global_scale", {"F32"}));
  QTX_ASSIGN_OR_RETURN(const float value, ReadFloat(*divisor));
  const auto factors = FactorsOfQuotient(value);
  if (!factors)
    return Unsupported(divisor->name, "found no factors that give all quotients by " +
                                          format::HexFloat(static_cast<double>(value)));
  for (const float factor : *factors) AddScale(factor, weight);
  return {};
}

}  // namespace

Result<Weight> MakePackedIntegers(const Container& files, const Config& config,
                                  const std::string& stem) {
  QTX_ASSIGN_OR_RETURN(const Tensor* packed, Need(files, stem, ".weight_packed", {"I32"}));
  QTX_ASSIGN_OR_RETURN(const Tensor* shape, Need(files, stem, ".weight_shape", {"I64", "I32"}));
  QTX_ASSIGN_OR_RETURN(const Tensor* scales,
                       Need(files, stem, ".weight_scale", {"F16", "BF16", "F32"}));
  QTX_ASSIGN_OR_RETURN(const Dims dims, ReadIntegers(*shape));
  const bool fits = dims.size() >= 2 && dims.size() == packed->dims.size() &&
                    std::equal(dims.begin(), dims.end() - 1, packed->dims.begin()) &&
                    std::ranges::all_of(dims, [](std::int64_t d) { return d > 0 && d < 1 << 30; });
  if (!fits) {
    return Unsupported(shape->name, "found " + format::ToString(std::span(dims)) + " for packed " +
                                        format::ToString(std::span(packed->dims)));
  }
  QTX_ASSIGN_OR_RETURN(const int bits, BitsOf(*packed, dims.back(), config));
  const Tensor* zero_point = files.Find(stem + ".weight_zero_point");
  const CodeStorage storage = StorageFor({.bits = bits, .centred = zero_point == nullptr});
  Weight weight = IntegerWeight(stem + ".weight", storage, dims);
  QTX_RETURN_IF_ERROR(SetBlocks(*scales, dims, config, weight));
  QTX_RETURN_IF_ERROR(AddScale(*scales, weight));
  if (zero_point != nullptr) {
    if (!zero_point->Is("I32")) return Unsupported(zero_point->name, "expected I32");
    QTX_ASSIGN_OR_RETURN(const auto zeros, ReadZeroPoints(*zero_point, scales->dims, bits));
    QTX_RETURN_IF_ERROR(SetOffsets(zeros, scales->dims, weight));
  }
  QTX_RETURN_IF_ERROR(SetRows(*packed, dims, bits, storage.bias, weight));
  return weight;
}

Result<Weight> MakePackedFloats(const Container& files, const Config& config,
                                const std::string& stem) {
  const bool own_name = files.Find(stem + ".weight_packed") != nullptr;
  QTX_ASSIGN_OR_RETURN(const Tensor* packed,
                       Need(files, stem, own_name ? ".weight_packed" : ".weight", {"U8"}));
  QTX_ASSIGN_OR_RETURN(const Tensor* scales,
                       Need(files, stem, ".weight_scale", {"U8", "F8_E8M0", "F8_E4M3"}));
  if (packed->dims.empty()) return Unsupported(packed->name, "expected a matrix");
  Dims dims = packed->dims;
  dims.back() *= 2;
  if (scales->dims.size() == dims.size() && scales->dims.back() * 16 != dims.back() &&
      scales->dims.back() * 32 != dims.back()) {
    return Unsupported(packed->name,
                       "found " + std::to_string(packed->dims.back()) + " bytes a row for " +
                           std::to_string(scales->dims.back()) +
                           " scales, expected two codes a byte in groups of 16 or 32");
  }
  Weight weight{.name = stem + ".weight"};
  weight.type.elem_type = ElementType::kFloat4E2M1Q;
  weight.type.shape = format::ToShape(dims);
  weight.type.quantization.emplace();
  QTX_RETURN_IF_ERROR(SetBlocks(*scales, dims, config, weight));
  QTX_RETURN_IF_ERROR(AddScale(*scales, weight));
  const bool has_divisor = files.Find(stem + ".weight_global_scale") != nullptr;
  if (has_divisor || files.Find(stem + ".weight_scale_2") != nullptr)
    QTX_RETURN_IF_ERROR(AddGlobalScale(files, stem, has_divisor, weight));
  SetInPlace(*packed, ElementType::kFloat4E2M1, weight);
  return weight;
}

Result<Weight> MakeElements(const Container& files, const Config& config, const std::string& stem) {
  const auto* const names = std::ranges::find_if(kElementNames, [&](const ElementNames& each) {
    return files.Find(stem + std::string(each.codes)) != nullptr &&
           files.Find(stem + std::string(each.scales)) != nullptr;
  });
  if (names == std::end(kElementNames)) return Unsupported(stem, "found no scales");
  QTX_ASSIGN_OR_RETURN(const Tensor* codes,
                       Need(files, stem, names->codes, {"I8", "F8_E4M3", "F8_E5M2"}));
  QTX_ASSIGN_OR_RETURN(const Tensor* scales,
                       Need(files, stem, names->scales, {"F16", "BF16", "F32", "U8", "F8_E8M0"}));
  Weight weight{.name = stem + ".weight"};
  weight.type.elem_type = *format::QuantizedOf(codes->dtype->type);
  weight.type.shape = format::ToShape(codes->dims);
  weight.type.quantization.emplace();
  Config blocks = config;
  if (names->squares && blocks.block.empty()) blocks.block = {128, 128};  // of DeepSeek-V3
  QTX_RETURN_IF_ERROR(SetBlocks(*scales, codes->dims, blocks, weight));
  QTX_RETURN_IF_ERROR(AddScale(*scales, weight));
  const Tensor* zero_point = files.Find(stem + std::string(names->zero_point));
  if (zero_point != nullptr) {
    if (!zero_point->Is("I8") || !codes->Is("I8") || zero_point->dims != scales->dims)
      return Unsupported(zero_point->name, "expected I8 in the shape of the scales, of integers");
    weight.q().offset_tensor = zero_point->name;
  }
  SetInPlace(*codes, codes->dtype->type, weight);
  return weight;
}

}  // namespace qtx::convert::safetensors
