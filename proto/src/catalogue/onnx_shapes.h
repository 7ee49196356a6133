// Types and shapes of what operators of ONNX give that have no section in spec/ops/, as ONNX
// defines them.  Source: graph.C9; the definitions of the operators of ONNX.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "qtx/format/catalogue.h"
#include "qtx/format/onnx_operators.h"

namespace qtx::format::catalogue {

/// The row of an operator, for `shape`, `type` and the defaults of those attributes that these two
/// read; it has no checks, which are CheckOnnxApplication's. nullptr where there is no rule.
const OpSchema* FindOnnxShape(std::string_view op_type);

/// What follows for `a.outputs`: types and sizes that were not known.
/// REQUIRES: CheckOnnxApplication has accepted the node.
/// Errors: kInvalid, of graph.C9, where there can be no such output.
Result<void> InferOnnxOutputs(const OnnxOperator& op, Application& a);

/// Sizes that several inputs state, each by a letter; kUnknownSize until one of them is known.
class OnnxSizes {
 public:
  OnnxSizes() { sizes_.fill(kUnknownSize); }
  /// The input has one axis for each letter, and the sizes that these have so far. A digit is a
  /// size itself, '_' any. An input that is not given, or whose rank is not known, says nothing.
  Result<void> Take(const Application& a, std::size_t input, std::string_view letters);
  /// Errors: kInvalid, `where` empty, where the letter has another size.
  Result<void> Set(char letter, std::int64_t size);
  std::int64_t operator[](char letter) const { return sizes_[static_cast<std::size_t>(letter)]; }
  Dims Shape(std::string_view letters) const;

 private:
  std::array<std::int64_t, 128> sizes_;  // by the letter's code
};

using OnnxShapes = Result<std::vector<std::optional<Dims>>>;

/// The one element of an input of one element; nullopt where it is not known.
std::optional<std::int64_t> OnnxScalar(const ValueFacts& value);
/// Rank 0.
Result<void> OnnxIsScalar(const Application& a, std::size_t i);

// Rows, a function a family ----------------------------------------------------------------------

void AddOnnxElementwise(std::vector<OpSchema>& rows);
void AddOnnxGenerators(std::vector<OpSchema>& rows);
void AddOnnxMovement(std::vector<OpSchema>& rows);
void AddOnnxNetworks(std::vector<OpSchema>& rows);
void AddOnnxSignals(std::vector<OpSchema>& rows);  // and text

}  // namespace qtx::format::catalogue
