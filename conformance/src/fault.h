// Known faults of real backends, each computed by the reference: from a changed row of the
// arithmetic, a changed copy of what was asked, or a changed last step.
#pragma once

#include <cstdint>
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

/// What a backend is asked: a model and its inputs.
struct Question {
  format::Model model;
  std::vector<format::Tensor> inputs;  // in the order of graph.input without initializers
};
/// Errors: those of BuildModel and BuildInputs.
Result<Question> BuildQuestion(const Case& c);

/// What the reference makes of `c` in the named arithmetic.  Errors: those of BuildQuestion and of
/// the reference.
Result<Outputs> RunReference(const Case& c, const std::string& arithmetic);

/// Where a rounded quotient is stored.
struct Slot {
  std::int64_t offset = 0;
  format::IntegerRange range;    // narrowed by quant_min and quant_max
  format::IntegerRange storage;  // of the element type
};

/// Exactly the members that the fault needs are set.
struct Fault {
  std::string_view name;  // snake_case
  std::string_view says;  // completes "the backend ..."
  void (*row)(reference::Arithmetic& row) = nullptr;
  /// Changes the question, of one node; false when there is nothing for the fault to act on.
  bool (*question)(NodeEditor& editor) = nullptr;
  /// The stored value of a rounded real / scale, in place of clamp(rounded + offset).
  std::int64_t (*store)(std::int64_t rounded, const Slot& slot) = nullptr;
  /// Changes right answers; false when there is nothing to act on.
  bool (*answers)(const Question& question, Outputs& outputs) = nullptr;
};

/// Of numbers: rounding, accumulating, storing.  Of parameters: scales, offsets, packing.  Of
/// windows: padding, strides, groups.  Of operators: attributes, tails, tables. In the order of
/// preference where several give the same.
std::span<const Fault> NumberFaults();
std::span<const Fault> ParameterFaults();
std::span<const Fault> WindowFaults();
std::span<const Fault> OperatorFaults();

/// What the reference gives for `question` in `row`, changed by `fault` (nullptr: not at all).
/// Errors: those of the reference; kUnsupported when the fault has nothing to act on, and then the
/// answer is that of no fault.
Result<Outputs> Answer(const Question& question, const reference::Arithmetic& row,
                       const Fault* fault);

}  // namespace qtx::conformance
