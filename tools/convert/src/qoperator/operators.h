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

/// Positions among a node's inputs of a value and of what says how it is quantized.
struct OperandSlots {
  std::size_t value = 0, scale = 0, zero_point = 0;
};

struct QOperatorLayout {
  std::string_view plain;              // the operator of ONNX that computes so on reals
  std::vector<std::size_t> untouched;  // inputs that are not quantized, in the plain order
  std::vector<OperandSlots> operands;
  std::optional<OperandSlots> result;  // `value` is of no meaning
  std::optional<std::size_t> bias;     // INT32, in units of the accumulator
};

/// nullopt for an operator that no such row describes. Files are found with com.microsoft's
/// operators in the default domain, so the domain is not looked at beyond these two.
std::optional<QOperatorLayout> LayoutOf(const format::Node& node);

/// The domain whose operator on integers this is: "" for ONNX's own.
std::string_view DomainOf(std::string_view op_type);

/// In ONNX's or com.microsoft's domain.
bool IsContrib(const format::Node& node, std::string_view op_type);
/// One of the operators this folder speaks of, whether it can be lifted or not.
bool IsQOperator(const format::Node& node);
/// The source has such a node.
bool HasQOperator(const Source& source);

/// Input `i`, "" where there is none.
inline const std::string& InputOf(const format::Node& node, std::size_t i) {
  static const std::string kNone;
  return i < node.inputs.size() ? node.inputs[i] : kNone;
}

}  // namespace qtx::convert
