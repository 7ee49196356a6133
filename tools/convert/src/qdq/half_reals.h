// Reals of FLOAT16 and BFLOAT16 in QuantizeLinear, DequantizeLinear and what is beside them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::convert {

/// The type that an attribute with a code names; kUndefined for none.
format::ElementType TypeIn(const format::Node& node, const char* attribute);

/// The values as a tensor of FLOAT16 or BFLOAT16; nullopt for any other type, or where one is none
/// of it.
std::optional<format::Tensor> ToHalves(format::ElementType type, std::span<const float> values,
                                       format::Dims dims);

/// True for a QuantizeLinear that rounds its quotient to 16 bits: by `precision` or, from opset 23
/// on, by the type of its scale.
bool DividesInHalf(std::int64_t opset, const format::Node& node, format::ElementType scale);

/// The smallest opset in which the pair of a type has its type of reals: 19 for scales of 16 bits,
/// 23 for others beside them.
std::int64_t OpsetForReals(const format::Quantization& q);

/// A model with reals of 16 bits, lowered: each node has them in the model's opset.  Errors:
/// kUnsupported, naming the first that has not.
Result<void> CheckHalves(const format::Model& lowered);

}  // namespace qtx::convert
