// The parameters of a QONNX quantizer: a quantized type and a rounding mode.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnx/graph_index.h"

namespace qtx::convert {

/// Source: qonnx, docs/qonnx-custom-ops/intquant_v1.md, "Rounding modes".
enum class QonnxRounding {
  kHalfEven,
  kCeil,
  kFloor,
  kAwayFromZero,
  kTowardZero,
  kHalfAway,
  kHalfTowardZero
};

struct QonnxQuantizer {
  format::ElementType elem_type = format::ElementType::kUndefined;  // quantized
  format::Quantization quantization;
  QonnxRounding rounding = QonnxRounding::kHalfEven;
  std::string rounding_name = "ROUND";  // as the node spells it
  int bits = 0;
  format::Dims
      grid;  // parameters along each axis of the value, 1 where they are shared; empty: one
};

/// Reads the parameters of `node`. `preferred` is the storage type to use if it holds the node's
/// range.  Errors: kInvalid (inputs missing, a scale that is not above 0, shapes that do not fit),
/// kUnsupported (computed parameters, a non-integer offset or bit width, or one that no storage
/// type holds).
/// REQUIRES: IsQonnxQuantizer(node).
Result<QonnxQuantizer> ReadQonnxQuantizer(const GraphIndex& index, const format::Node& node,
                                          format::ElementType preferred);

/// The rounding that a node's attribute names, upper or lower case.  Errors: kUnsupported.
Result<QonnxRounding> RoundingNamed(const std::string& name);

/// Elements of a constant input, as doubles.  Errors: kInvalid when it is missing, kUnsupported
/// when it is computed or not numeric.
Result<format::Tensor> ConstantInput(const GraphIndex& index, const format::Node& node,
                                     std::size_t position, const char* name);
/// The one element of a constant input, an integer of at most 32 bits.  Errors: as above, and
/// kUnsupported for another value.
Result<std::int64_t> IntegerInput(const GraphIndex& index, const format::Node& node,
                                  std::size_t position, const char* name);

}  // namespace qtx::convert
