// QONNX: ONNX with quantizers of any bit width as operators on FLOAT values.
// Source: fastmachinelearning/qonnx, docs/qonnx-custom-ops.
#pragma once

#include <string_view>

#include "qtx/convert/convert.h"

namespace qtx::convert {

/// The domain that is written; Brevitas and FINN spell it otherwise.
inline constexpr std::string_view kQonnxDomain = "qonnx.custom_op.general";
inline constexpr std::string_view kQonnxFramework = "qonnx";

/// Of QONNX, Brevitas or FINN.
bool IsQonnxDomain(std::string_view domain);
/// Quant, its newer name IntQuant, BipolarQuant or FloatQuant.
bool IsQonnxQuantizer(const format::Node& node);
bool IsQonnx(const Source& source);

}  // namespace qtx::convert
