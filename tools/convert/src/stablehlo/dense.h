// Elements of constants: dense<...> as lists, one value for all, or bytes in hexadecimal.
#pragma once

#include <cstdint>

#include "qtx/format/tensor.h"
#include "stablehlo/program.h"

namespace qtx::convert {

/// Limit on the elements that `dense<value>` repeats, in one program: a small text takes no
/// gigabytes.
inline constexpr std::int64_t kMaxMlirRepeated = std::int64_t{1} << 26;

/// The elements of `dense`, a kDense attribute of `text`, as a tensor of `type`, which may be
/// quantized: the elements are then stored integers. `repeated`: elements that may still be
/// repeated; it is reduced.
/// Errors: kInvalid where the elements are not those of the shape or do not fit their type,
/// kUnsupported for unknown dimensions, kTooLarge.
Result<format::Tensor> DenseTensor(MlirText& text, const MlirAttribute& dense,
                                   const format::TensorType& type, std::int64_t& repeated);

}  // namespace qtx::convert
