// Computes a model by formulas of the text, node by node.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/check.h"
#include "qtx/format/levels.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"
#include "qtx/formula/computation.h"
#include "qtx/formula/text.h"

namespace qtx::formula {

/// The types of values that an overlay adds: value -> ElementTable::name.
using AddedTypes = std::map<std::string, std::string, std::less<>>;

class Interpreter {
 public:
  /// Checks the model, but for the nodes of operators that an overlay adds, and reads its
  /// constants. Which nodes break a constraint that formulas state say these alone. `text` must
  /// outlive the interpreter. Values of `types` are declared with the carriers of these. Errors:
  /// kUnsupported for an arithmetic that the text does not have; kInvalid for a type that it does
  /// not have; those of CheckFirst and LoadInitializer.
  static Result<Interpreter> Prepare(const Text& text, format::Model model, std::string arithmetic,
                                     const AddedTypes& types = {});

  /// `inputs` in the order of graph.input without initializers; outputs in that of graph.output.
  /// Errors: those of Compute, at the node.
  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) const;

 private:
  using Values = std::map<std::string, const format::Tensor*, std::less<>>;
  Interpreter(const Text& text, format::Model model, std::string arithmetic);
  Result<void> ReadTypes(const AddedTypes& types);
  Result<void> ReadFactors(const format::ModelView& view, const std::string& name);
  Result<void> CheckNodes() const;
  Result<ValueType> TypeOf(const format::ModelView& view, const std::string& name) const;
  const ElementTable* TableOf(const std::string& name) const;
  Call CallOf(std::size_t node, const Values& values) const;

  const Text* text_;
  format::Model model_;
  std::string arithmetic_;
  format::Inference inference_;
  std::map<std::string, const ElementTable*, std::less<>> tables_;  // of values
  std::map<std::string, format::Tensor, std::less<>> constants_;
  std::map<std::string, format::Factors, std::less<>> factors_;  // of constants with levels
  std::vector<std::optional<format::Quantization>> inputs_;      // parameters inline
  std::vector<std::vector<ValueType>> types_;                    // of each node's outputs
};

}  // namespace qtx::formula
