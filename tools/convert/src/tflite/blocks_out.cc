// Constants that are quantized in blocks: a tensor of their own holds the scales.
#include <algorithm>
#include <cmath>

#include "errors.h"
#include "tflite/writer.h"

namespace qtx::convert {
namespace {

using format::ElementType;

// The scales as FLOAT16, the only type that LiteRT's kernel reads, of the shape of the blocks.
Result<format::Tensor> HalfScales(const format::Tensor& constant) {
  const format::Quantization& q = *constant.quantization;
  format::Tensor scales{ElementType::kFloat16, constant.dims, {}, {}};
  scales.dims.back() /= q.block_shape.back();
  scales.bytes.resize(2 * q.scale.size());
  for (std::size_t i = 0; i < q.scale.size(); ++i) {
    const auto scale = static_cast<double>(q.scale[i]);
    const std::uint32_t half = format::EncodeSmallFloat(ElementType::kFloat16, scale);
    if (format::DecodeSmallFloat(ElementType::kFloat16, half) != scale) {
      return Unsupported("scale " + format::HexFloat(q.scale[i]) +
                         " of a block, expected one of FLOAT16");
    }
    scales.As<std::uint16_t>()[i] = static_cast<std::uint16_t>(half);
  }
  return scales;
}

// Errors: kUnsupported unless blocks lie along the last axis and each row has its own.
Result<void> CheckBlocks(const format::Tensor& constant) {
  const format::Quantization& q = *constant.quantization;
  const bool offsets = std::ranges::any_of(q.offset, [](std::int32_t o) { return o != 0; });
  bool rows = std::ssize(q.axis) == std::ssize(constant.dims);
  for (std::size_t i = 0; rows && i < q.axis.size(); ++i) {
    rows = q.axis[i] == static_cast<std::int64_t>(i) &&
           (i + 1 == q.axis.size() || q.block_shape[i] == 1);
  }
  if (!rows || offsets || constant.dims.back() % q.block_shape.back() != 0) {
    return Unsupported("blocks other than whole ones of the last axis, without offsets");
  }
  return {};
}

}  // namespace

bool HasBlocks(const format::Quantization& q) {
  return std::ranges::any_of(q.block_shape, [](std::int64_t block) { return block != 1; });
}

Result<int> TfliteWriter::AddBlocks(const std::string& name, const format::Tensor& constant) {
  if (auto checked = CheckBlocks(constant); !checked.has_value())
    return At(Quoted(name), checked.error());
  auto scales = HalfScales(constant);
  if (!scales.has_value()) return At(Quoted(name), scales.error());
  QTX_ASSIGN_OR_RETURN(const int at, AddStored(name + "/scales", *scales));
  format::Tensor plain = constant;
  plain.elem_type = format::StorageOf(constant.elem_type);
  plain.quantization.reset();
  QTX_ASSIGN_OR_RETURN(const int index, AddStored(name, plain));
  schema::BlockwiseQuantizationT record;
  record.scales = at;
  record.zero_points = -1;
  record.block_size = static_cast<std::int32_t>(constant.quantization->block_shape.back());
  tensor(index).quantization = std::make_unique<schema::QuantizationParametersT>();
  tensor(index).quantization->details.Set(std::move(record));
  return index;
}

}  // namespace qtx::convert
