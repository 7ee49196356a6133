// Fault models of real backends, computed by the reference with a changed arithmetic row, changed
// inputs and model, or a changed output.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"
#include "qtx/reference/arithmetic.h"

namespace qtx::conformance {

using Outputs = std::vector<format::Tensor>;

class NodeEditor;  // node_editor.h

/// A model with the inputs that a backend runs.
struct Question {
  format::Model model;
  std::vector<format::Tensor> inputs;  // in the order of graph.input without initializers
};
/// Errors: those of BuildModel and BuildInputs.
Result<Question> BuildQuestion(const Case& c);

/// Runs `c` on the reference in the named arithmetic.  Errors: those of BuildQuestion and of the
/// reference.
Result<Outputs> RunReference(const Case& c, const std::string& arithmetic);

/// The offset and ranges with which a rounded quotient is stored.
struct Slot {
  std::int64_t offset = 0;
  format::IntegerRange range;    // narrowed by quant_min and quant_max
  format::IntegerRange storage;  // of the element type
};

/// A fault model; unused members are nullptr.
struct Fault {
  std::string_view name;  // snake_case
  std::string_view says;  // completes "the backend ..."
  void (*row)(reference::Arithmetic& row) = nullptr;
  /// Edits the node or its values; false if the fault does not apply.
  bool (*question)(NodeEditor& editor) = nullptr;
  /// Replaces clamp(rounded + offset), where `rounded` is the rounded real / scale, clamped to
  /// INT32Q; nullopt where that does not tell what the fault gives.
  std::optional<std::int64_t> (*store)(std::int64_t rounded, const Slot& slot) = nullptr;
  /// Edits the right answers; false if the fault does not apply.
  bool (*answers)(const Question& question, Outputs& outputs) = nullptr;
};

/// Fault models of numbers (rounding, accumulating, storing), parameters (scales, offsets,
/// packing), codes (signs of scales, code books, reals of 16 bits), windows (padding, strides,
/// groups), pools (averages, comparisons), operators (attributes, tails, tables) and operands
/// (rounded at run time, of another group or operand), each in order of preference.
std::span<const Fault> NumberFaults();
std::span<const Fault> ParameterFaults();
std::span<const Fault> CodeFaults();
std::span<const Fault> WindowFaults();
std::span<const Fault> PoolFaults();
std::span<const Fault> OperatorFaults();
std::span<const Fault> OperandFaults();

/// The reference's answer to `question` in `row` with `fault` (nullptr: none).
/// Errors: those of the reference; kUnsupported if the fault does not apply, so that the answer is
/// unchanged.
Result<Outputs> Answer(const Question& question, const reference::Arithmetic& row,
                       const Fault* fault);

}  // namespace qtx::conformance
