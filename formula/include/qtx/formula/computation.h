// Computes one node of a model by formulas of the text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtx/format/catalogue.h"
#include "qtx/format/levels.h"
#include "qtx/format/model.h"
#include "qtx/format/tensor.h"
#include "qtx/formula/text.h"

namespace qtx::formula {

inline constexpr std::int64_t kMaxSteps = std::int64_t{1} << 22;  // of one element
inline constexpr std::int64_t kMaxNodeSteps = std::int64_t{1}
                                              << 24;  // of all elements, beside 2^12 for each

/// The type of a value, and its sizes where the model declares them.
struct ValueType {
  bool given = false;
  format::ElementType type = format::ElementType::kUndefined;
  std::optional<format::Quantization> quantization;  // parameters inline
  std::optional<format::Dims> dims;                  // none: an open shape
  const ElementTable* table = nullptr;  // of a type that an overlay adds; `type` is its carrier
};

/// A node, its tensors and types. Borrows all that it points to.
struct Call {
  const format::Node* node = nullptr;
  const format::OpSchema* schema = nullptr;  // nullptr: an operator without a section
  std::int64_t opset = 0;
  std::vector<const format::Tensor*> inputs;  // nullptr: not given, or not known
  std::vector<ValueType> input_types;  // of inputs that are not known; missing ones: not given
  std::vector<ValueType> outputs;
  std::vector<bool> initializers;                    // which inputs are; missing ones are not
  std::vector<const ElementTable*> tables = {};      // of inputs, as ValueType::table
  std::vector<const format::Factors*> factors = {};  // of inputs; nullptr: one level, or not known
  bool scales_are_inputs = false;  // of the node that this one stands for: not of its types
};

/// Holds the node to the constraints that its section states as `require` lines alone.
/// Errors: kInvalid with the clause that it breaks, without one where an input is not known whose
/// sizes or elements decide, or where a formula has no meaning for the node.
Result<void> CheckNode(const Text& text, const Call& call);

/// The outputs of a node in an arithmetic, by the formulas of the text that hold for it; an empty
/// tensor for one that is not given.
/// Errors: those of CheckNode; kUnsupported where no formula says what it computes, and past
/// kMaxNodeSteps; kInvalid, with the clause, where a `require` does not hold, and at
/// "file:line:column" where a formula has no meaning for the node; kTooLarge past the other limits.
Result<std::vector<format::Tensor>> Compute(const Text& text, const Call& call,
                                            const std::string& arithmetic);

/// The outputs by one formula, whatever it holds for; as Compute for one of functions alone.
/// `inputs` and `outputs` are the names of the tensors in it; empty: those of the operator's
/// section or of the formula's `for`. Errors: as Compute.
Result<std::vector<format::Tensor>> ComputeBy(const Text& text, const Formula& formula,
                                              const Call& call, const std::string& arithmetic,
                                              std::span<const std::string> inputs = {},
                                              std::span<const std::string> outputs = {});

/// Where a condition holds, in row-major order of the shape to which the inputs broadcast.
struct Conditions {
  format::Dims dims;
  std::vector<bool> holds;
};
/// The condition that defines the first output by `stored = CONDITION`. Errors: as ComputeBy;
/// kInvalid where the line is no condition.
Result<Conditions> HoldsBy(const Text& text, const Formula& formula, const Call& call,
                           const std::string& arithmetic, std::span<const std::string> inputs,
                           std::span<const std::string> outputs);

}  // namespace qtx::formula
