// Scales and zero points that are inputs of ONNX's operators, as parameters of a quantized type.
#pragma once

#include "values.h"

namespace qtx::backend::faulty {

/// The elements to which each scale applies.
struct Layout {
  enum class Kind { kScalar, kAxis, kBlocks, kMatrix } kind = Kind::kScalar;
  std::int64_t axis = 0;
  std::int64_t block = 1;
};

/// From the attributes `axis` and `block_size` and the rank of the scale at input `scale`.
Result<Layout> LayoutOf(const Call& call, std::size_t scale, const Dims& dims);

inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// The quantized type over `storage` that the scale and zero point at these inputs make of a tensor
/// of shape `dims`; either may be kNone or absent, and is then 1 or 0.
/// Errors: kUnsupported for parameters that do not fit, or scales that are not FLOAT.
Result<OutputType> ParametersAt(const Call& call, std::size_t scale, std::size_t zero_point,
                                ElementType storage, const Dims& dims, const Layout& layout);

/// The same bytes with a quantized type, and back.
Tensor AsQuantized(Tensor tensor, const OutputType& type);
Tensor AsPlain(Tensor tensor);

}  // namespace qtx::backend::faulty
