// The operators of ONNX, domain ai.onnx, as the schemas of its library state them: for nodes whose
// operator has no section in spec/ops/. The table is tools/scripts/onnx_operators's.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qtx/format/catalogue.h"
#include "qtx/format/element_type.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"

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
};

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

/// Whether its attributes are those of the entry. Those that begin with "__" are an
/// implementation's own, as ONNX's checker has it.  Errors: kInvalid, of graph.C6.
Result<void> CheckOnnxAttributes(const OnnxOperator& op, const Node& node, std::int64_t opset);

/// Whether `node` is what the entry allows; kUndefined is a type that is not known, and types past
/// the end of a list are not, either. `opset` is for the message.
/// Errors: kInvalid, `where` below the node; its clause graph.C4 (deprecated), graph.C5 (number of
/// inputs and outputs), graph.C6 (attributes), graph.C7 (types).
Result<void> CheckOnnxApplication(const OnnxOperator& op, const Node& node, std::int64_t opset,
                                  std::span<const ElementType> input_types,
                                  std::span<const ElementType> output_types);

}  // namespace qtx::format::catalogue
