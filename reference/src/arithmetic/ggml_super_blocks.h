// ggml's products of FLOAT rows by constant super-blocks of 256 integers: tensors Q2_K to Q6_K.
#pragma once

#include <cstddef>
#include <optional>

#include "qtx/reference/op.h"

namespace qtx::reference {

/// Output 0 of the node, or nullopt where ggml.S5 does not take w.
/// REQUIRES: IsGgml(call.arithmetic); `axis` is GgmlSummedAxis(call).
Result<std::optional<format::Tensor>> RunGgmlSuperBlocks(const Call& call, std::size_t axis);

}  // namespace qtx::reference
