// TypeProto.Tensor with the two fields QTX adds to it.
#pragma once

#include <optional>
#include <string>

#include "qtx/format/element_type.h"
#include "qtx/format/quantization.h"
#include "qtx/format/shape.h"
#include "qtx/format/statistics.h"

namespace qtx::format {

struct TensorType {
  ElementType elem_type = ElementType::kUndefined;
  std::optional<Shape> shape;  // nullopt: rank unknown
  std::optional<Quantization> quantization;
  std::optional<Statistics> statistics;
  std::string unknown_fields;

  bool operator==(const TensorType&) const = default;
};

/// One line of text: "INT8Q[1,8,8,16] per-axis(1) scale 0x1p-7.. offset 0".
std::string ToString(const TensorType& type);

/// `value` as text that reads back bit for bit: "0x1.8p-3".
std::string HexFloat(double value);
/// Accepts decimal and hexadecimal forms, "nan", "inf", with a sign.  Errors: kInvalid.
Result<double> ParseFloat(std::string_view text);

}  // namespace qtx::format
