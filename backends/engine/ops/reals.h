// Whole tensors as exact reals, and back: the slow path of operators on types that have no kernel.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/exact.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::engine {

/// True for FLOAT and quantized integers of at most 16 bits, any granularity: their product still
/// is a Term.
bool HasShortReals(const format::Tensor& tensor);
/// True for FLOAT and quantized integers of at most 32 bits, any granularity.
bool HasReals(const format::Tensor& tensor);

/// One Term for each element.  REQUIRES: HasReals; a FLOAT element is finite.
std::vector<Term> RealsOf(const format::Tensor& tensor);

/// True when no element is a NaN or an infinity.
bool AllFinite(const format::Tensor& tensor);

/// Rounds element i, the sum of terms[i * count .. (i + 1) * count), to `to`'s type: once, half to
/// even. REQUIRES: HasReals(to), other than BIPOLAR1Q.
void StoreReals(std::span<const Term> terms, std::size_t count, format::Tensor& to);

}  // namespace qtx::backend::engine
