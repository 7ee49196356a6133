// Exact conversion between FLOAT and integers of 8 and 16 bits per tensor, in binary64.
#pragma once

#include <cstddef>
#include <span>

#include "engine/kernels.h"
#include "engine/ops/conversion.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::engine {

/// Converts all elements of type `from` to type `to`, whose reals `bounds` clamp. Reads the types,
/// not their bytes. False, and nothing is written, for other types and for a bound of more bits
/// than binary64 has.
bool ConvertReals(const format::Tensor& from, std::span<const std::byte> elements,
                  const format::Tensor& to, std::span<std::byte> results,
                  const RealBounds& bounds = {}, const Kernels& kernels = PortableKernels());

}  // namespace qtx::backend::engine
