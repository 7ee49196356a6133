// The operators of ONNX and com.microsoft on plain integers whose quantization is in their inputs.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "qtx/convert/convert.h"
#include "qtx/format/model.h"

namespace qtx::convert {

inline constexpr std::string_view kMicrosoft = "com.microsoft";

/// Input positions of a value and its parameters.
struct OperandSlots {
  std::size_t value = 0, scale = 0, zero_point = 0;
};

struct QOperatorLayout {
  std::string_view plain;              // ONNX's operator on reals
  std::vector<std::size_t> untouched;  // inputs that are not quantized, in the plain order
  std::vector<OperandSlots> operands;
  std::optional<OperandSlots> result;  // `value` is unused
  std::optional<std::size_t> bias;     // INT32, in units of the accumulator
};

/// The row of a node's operator, or nullopt. Some files have com.microsoft's operators in the
/// default domain, so the two domains are not distinguished.
std::optional<QOperatorLayout> LayoutOf(const format::Node& node);

/// The domain of an operator on integers; "" for ONNX.
std::string_view DomainOf(std::string_view op_type);

/// True for ONNX's and com.microsoft's domains.
bool IsContrib(const format::Node& node, std::string_view op_type);
/// True for the operators handled in this folder, liftable or not.
bool IsQOperator(const format::Node& node);
/// True if the source has such a node.
bool HasQOperator(const Source& source);

/// Input `i`, or "".
inline const std::string& InputOf(const format::Node& node, std::size_t i) {
  static const std::string kNone;
  return i < node.inputs.size() ? node.inputs[i] : kNone;
}

}  // namespace qtx::convert
