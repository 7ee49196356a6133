// QONNX: an ONNX dialect with quantizers of any bit width as operators on FLOAT values.
// Source: fastmachinelearning/qonnx, docs/qonnx-custom-ops.
#pragma once

#include <string_view>

#include "qtx/convert/convert.h"

namespace qtx::convert {

/// The domain of exported nodes; Brevitas and FINN use others.
inline constexpr std::string_view kQonnxDomain = "qonnx.custom_op.general";
inline constexpr std::string_view kQonnxFramework = "qonnx";

/// True for the domains of QONNX, Brevitas and FINN.
bool IsQonnxDomain(std::string_view domain);
/// True for Quant, IntQuant (its newer name), BipolarQuant and FloatQuant.
bool IsQonnxQuantizer(const format::Node& node);
bool IsQonnx(const Source& source);

}  // namespace qtx::convert
