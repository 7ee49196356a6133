// The operators of ONNX, domain ai.onnx, as the schemas of its library state them.
// tools/scripts/onnx_operators makes the table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "qtx/format/catalogue.h"
#include "qtx/format/element_type.h"
#include "qtx/format/model.h"

namespace qtx::format::catalogue {

/// The newest opset of the table.
inline constexpr std::int64_t kNewestOpset = 28;  // set by tools/scripts/onnx_operators

enum class OnnxPresence : std::uint8_t { kRequired, kOptional, kVariadic };

/// An input or output. A variadic one is the last, and stands for all from there on.
struct OnnxParameter {
  std::string_view name;
  std::uint8_t types = 0;  // its type constraint: an index into Types()
  OnnxPresence presence = OnnxPresence::kRequired;
  bool homogeneous = true;  // one that is not: variadic, each of a type of its own
};

struct OnnxAttribute {
  std::string_view name;
  AttributeType type = AttributeType::kUndefined;
  bool required = false;
  std::string_view otherwise = {};  // its default as text: "1", "0.2", "NOTSET"; empty: none
};

/// "INTS"; the number where there is no such type.
std::string AttributeTypeName(AttributeType type);

/// What OnnxOperator::most_inputs and most_outputs are of a variadic last one: no limit.
inline constexpr std::uint8_t kOnnxNoLimit = 255;

/// An operator from opset `since` on, until its next entry.
struct OnnxOperator {
  struct List {
    std::uint16_t first = 0, count = 0;
  };

  std::string_view op_type;
  std::uint8_t since = 0;
  bool deprecated = false;
  std::uint8_t least_inputs = 0, most_inputs = 0, least_outputs = 0, most_outputs = 0;
  List inputs, outputs, types, attributes;  // of the arrays of the table

  std::span<const OnnxParameter> Inputs() const;
  std::span<const OnnxParameter> Outputs() const;
  /// Element types of each type constraint; a fixed type is one, too. The empty set: sequences,
  /// maps or optional values are allowed, and all element types of ONNX.
  std::span<const TypeSet> Types() const;
  std::span<const OnnxAttribute> Attributes() const;
};

/// All entries, by op_type, then since.
std::span<const OnnxOperator> OnnxOperators();
/// The entry in force: the newest with since <= opset. nullptr when there is none.
const OnnxOperator* FindOnnxOperator(std::string_view op_type, std::int64_t opset);

}  // namespace qtx::format::catalogue
