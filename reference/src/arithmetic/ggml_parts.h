// What ggml's kernels of blocks and of super-blocks share.
#pragma once

#include <cstddef>
#include <optional>

#include "qtx/reference/op.h"

namespace qtx::reference {

/// The binary16 nearest to `value`.
float ToHalf(float value);

/// A base other than 0.  REQUIRES: resolved parameters.
bool HasNonzeroBase(const format::Quantization& q);

/// The axis of w that is summed; nullopt where ggml takes neither operator nor types, those of w
/// but for its storage and base: ggml.S1.
std::optional<std::size_t> GgmlSummedAxis(const Call& call);

}  // namespace qtx::reference
