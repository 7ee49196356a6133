// Scales that are no finite number: quantizers of others write them where a mask is -3.4e38.
#pragma once

#include <optional>

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// `model` (flat) with nodes on reals and plain integers in the place of each QuantizeLinear and
/// DequantizeLinear whose one scale is infinite or NaN; an operator on integers that reads such a
/// scale becomes these around ONNX's operator on reals. They compute what ONNX says of the scale:
/// every integer is the zero point, and every real infinite or NaN. nullopt where there is none.
Result<std::optional<format::Model>> WithoutBoundlessScales(const format::Model& model,
                                                            Ledger& ledger);

}  // namespace qtx::convert
