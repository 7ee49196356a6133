// What ScatterND and ScatterElements share: updates that come into data.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/common.h"

namespace qtx::reference {

/// Output 0: input 0, where element i of input 2 comes into element elements[i], by the attribute
/// `reduction`.  Errors: those of Operand::Make; kTooLarge, of more factors than a product takes.
/// Source: scatter_nd.S2 to scatter_nd.S6.
Result<format::Tensor> Scattered(const Call& call, const std::vector<std::int64_t>& elements);

}  // namespace qtx::reference
