// What ONNX's schema of an operator says, as the template of a section has it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qtx::spec {

/// The marks of a template, without @, and the text of each.
using Fields = std::vector<std::pair<std::string, std::string>>;

/// The marks of templates/op.md but for the operator's name. An operator that ONNX does not have
/// gets an input x and an output y.
Fields OnnxFields(std::string_view op_type);

}  // namespace qtx::spec
