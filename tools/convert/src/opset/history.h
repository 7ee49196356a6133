// The history of ONNX's operators: what each new entry of an operator changed, from opset 8 on.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qtx/format/result.h"

namespace qtx::convert {

class OpsetStep;

/// What an entry changed against the one before it.
enum class OpsetChange : std::uint8_t {
  kTypes,  // element types only
  kText,   // words only: every node means what it meant
  kAdded,  // attributes, inputs or outputs came; a node without them means what it meant
  kAxis,   // a negative axis came, which counts from the back
  kNamed,  // the operator ended; the one that `OpsetSuccessors` names does the same
  kForm,   // the form of a node, or what it means: a row of OpsetForms()
};

struct OpsetBoundary {
  std::string_view op_type;
  std::uint8_t since = 0;  // the entry's opset
  OpsetChange change = OpsetChange::kTypes;
};
/// All entries since opset 8 that follow another, by op_type, then since.
/// Source: schemas of onnx 1.23.2, to which tests/opset/history_test.py holds the table.
std::span<const OpsetBoundary> OpsetHistory();
/// nullptr where the operator has no entry of that opset, or it is the operator's first.
const OpsetBoundary* FindBoundary(std::string_view op_type, std::int64_t since);

/// A value of an attribute that is there in a range of opsets only.
struct OpsetValue {
  std::string_view op_type;
  std::uint8_t since = 0;  // came, or if `gone` went, with this opset
  std::string_view attribute, value;
  bool gone = false;
};
std::span<const OpsetValue> OpsetValues();

/// An operator that took another one's place, in the same form.
struct OpsetSuccessor {
  std::string_view old_name, name;
  std::uint8_t since = 0;
};
std::span<const OpsetSuccessor> OpsetSuccessors();

/// How a node crosses a boundary of kForm. Errors: kUnsupported, with the sentence that says what
/// the other side does not have.
struct OpsetForm {
  std::string_view op_type;
  std::uint8_t since = 0;
  Result<void> (*up)(OpsetStep&) = nullptr;    // nullptr: the node stays as it is
  Result<void> (*down)(OpsetStep&) = nullptr;  // likewise
};
/// Source: ONNX, docs/Changelog.md.
std::span<const OpsetForm> OpsetForms();

}  // namespace qtx::convert
