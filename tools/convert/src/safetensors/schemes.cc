#include "safetensors/schemes.h"

#include <array>

namespace qtx::convert::safetensors {
namespace {

// The tensor of the codes by the end of its name and its dtype, and one beside it, which tells
// schemes apart. The first row that fits counts.
struct Row {
  std::string_view scheme;
  std::string_view codes, dtype;
  std::string_view beside;
  MakeWeight make;
};

// GPTQ packs codes along the rows of qweight, AWQ along its columns.
Result<Weight> MakeQweight(const Container& files, const Config& config, const std::string& stem) {
  const Tensor* qweight = files.Find(stem + ".qweight");
  const Tensor* scales = files.Find(stem + ".scales");
  const bool rows =
      qweight->dims.size() == 2 && scales->dims.size() == 2 && qweight->dims[1] == scales->dims[1];
  return (rows ? MakeGptq : MakeAwq)(files, config, stem);
}

constexpr std::array kRows = {
    Row{"gptq or awq", ".qweight", "I32", ".scales", MakeQweight},
    Row{"pack-quantized", ".weight_packed", "I32", ".weight_scale", MakePackedIntegers},
    Row{"fp4", ".weight_packed", "U8", ".weight_scale", MakePackedFloats},
    Row{"fp4", ".weight", "U8", ".weight_scale_2", MakePackedFloats},
    Row{"nf4", ".weight", "", ".weight.quant_state.bitsandbytes__nf4", MakeFourBits},
    Row{"fp4", ".weight", "", ".weight.quant_state.bitsandbytes__fp4", MakeFourBits},
    Row{"int8", ".weight", "I8", ".SCB", MakeInt8Rows},
    Row{"int8", ".weight", "I8", ".weight_scale", MakeElements},
    Row{"fp8", ".weight", "F8_E4M3", ".weight_scale_inv", MakeElements},
    Row{"fp8", ".weight", "F8_E4M3", ".weight_scale", MakeElements},
    Row{"fp8", ".weight", "F8_E5M2", ".weight_scale", MakeElements},
    Row{"int8", "._weight_qdata", "I8", "._weight_scale", MakeElements},
    Row{"fp8", "._weight_qdata", "F8_E4M3", "._weight_scale", MakeElements},
    Row{"mxfp4", "_blocks", "U8", "_scales", MakeMxBlocks},
};

}  // namespace

std::optional<Found> SchemeOf(const Container& files, const Tensor& tensor) {
  for (const Row& row : kRows) {
    if (!tensor.name.ends_with(row.codes) || (!row.dtype.empty() && !tensor.Is(row.dtype)))
      continue;
    const std::string stem = tensor.name.substr(0, tensor.name.size() - row.codes.size());
    if (files.Find(stem + std::string(row.beside)) == nullptr) continue;
    return Found{std::string(row.scheme), stem, row.make};
  }
  return std::nullopt;
}

}  // namespace qtx::convert::safetensors
