// Operators on the bits of plain integers.
#pragma once

#include <cstdint>
#include <functional>

#include "ops/common.h"

namespace qtx::reference {

/// Output 0: f(a, b) of the elements of inputs 0 and 1, broadcast as in NumPy, modulo 2^n of a type
/// of n bits. f gets two's complements, extended to 64 bits by their sign; of one input b is a.
/// Errors: kTooLarge.
Result<format::Tensor> RunOnBits(
    const Call& call, const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& f);

}  // namespace qtx::reference
