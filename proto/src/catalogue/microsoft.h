// Operators of com.microsoft, the domain of ONNX Runtime, as its schemas state them: those that
// have no section in spec/ops/, and what a stock model may have of those that have one.
#pragma once

#include <string_view>
#include <vector>

#include "qtx/format/catalogue.h"

namespace qtx::format::catalogue {

inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

/// The row of an operator; its checks are of graph.C7, its shape rule of graph.C9. nullptr where
/// there is none: such a node is not checked.
const OpSchema* FindMicrosoftOperator(std::string_view op_type);

/// Whether ONNX Runtime has its operator in ONNX's own domain: graph.C4.
inline bool IsRuntimesInOnnxDomain(std::string_view op_type) {
  return op_type == "SimplifiedLayerNormalization";
}

/// The rows of operators that language models have, without domain and clause of the shape rule.
void AddLanguageModelRows(std::vector<OpSchema>& rows);

}  // namespace qtx::format::catalogue
