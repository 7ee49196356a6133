// Attributes of nodes, with the defaults that the catalogue gives them, and since when ONNX has
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "qtx/format/model.h"

namespace qtx::format {

/// The node's attribute, or its default in the newest opset; 0 or "" where the row of its operator
/// gives none.
std::int64_t IntOf(const Node& node, std::string_view attribute);
float FloatOf(const Node& node, std::string_view attribute);
std::string StringOf(const Node& node, std::string_view attribute);

/// The first opset of ai.onnx that has the operator, or where an operator has the attribute or that
/// input; 0 where none has.
std::int64_t OpsetOf(std::string_view op_type);
std::int64_t OpsetOfAttribute(std::string_view op_type, std::string_view attribute);
std::int64_t OpsetOfInput(std::string_view op_type, std::size_t input);

}  // namespace qtx::format
