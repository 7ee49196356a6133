// MXFP4 of mixtures of experts: blocks [.., G, 16] of 32 codes each, and an exponent for each
// block.
#include "errors.h"
#include "safetensors/schemes.h"

namespace qtx::convert::safetensors {

Result<Weight> MakeMxBlocks(const Container& files, const Config&, const std::string& stem) {
  QTX_ASSIGN_OR_RETURN(const Tensor* blocks, Need(files, stem, "_blocks", {"U8"}));
  QTX_ASSIGN_OR_RETURN(const Tensor* scales, Need(files, stem, "_scales", {"U8", "F8_E8M0"}));
  format::Dims dims = blocks->dims;
  if (dims.size() < 2 || dims.back() != 16 ||
      !std::equal(scales->dims.begin(), scales->dims.end(), dims.begin(), dims.end() - 1)) {
    return Unsupported(blocks->name, "found shape " + format::ToString(std::span(blocks->dims)) +
                                         " with scales " +
                                         format::ToString(std::span(scales->dims)) +
                                         ", expected blocks of 16 bytes, and a scale for each");
  }
  // [.., G * 32]: the codes of a row follow one another.
  dims.pop_back();
  dims.back() *= 32;
  Weight weight{.name = stem};
  weight.type.elem_type = format::ElementType::kFloat4E2M1Q;
  weight.type.shape = format::ToShape(dims);
  weight.type.quantization.emplace();
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    weight.q().axis.push_back(static_cast<std::int64_t>(axis));
    weight.q().block_shape.push_back(axis + 1 == dims.size() ? 32 : 1);
  }
  QTX_RETURN_IF_ERROR(AddScale(*scales, weight));
  SetInPlace(*blocks, format::ElementType::kFloat4E2M1, weight);
  return weight;
}

}  // namespace qtx::convert::safetensors
