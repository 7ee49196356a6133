// A formula compiled for one node: names are resolved to tensors, attributes, lines and indices.
#pragma once

#include <climits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "functions.h"
#include "qtx/format/result.h"
#include "qtx/formula/tree.h"
#include "scope.h"
#include "value.h"

namespace qtx::formula {

inline constexpr int kMaxCallDepth = 512;  // of expressions within expressions and calls

struct Code {
  enum class Op {
    kConstant,
    kError,       // a name without a meaning for this node
    kLocal,       // index: slot of an argument or of an index of a sum
    kCoordinate,  // index: slot of a coordinate of an output
    kRoutine,     // index: of the routine; children: arguments
    kReading,     // index: in kReadings; children: arguments
    kTensor,      // tensors
    kOutput,      // the output that is computed
    kPart,        // part of tensors, or of the output that is computed; children: coordinates
    kIndex,       // first child [other children]
    kList,        // [children]
    kRest,        // child...
    kApply,       // function
    kNegate,
    kNot,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kModulo,
    kPower,
    kShiftLeft,
    kShiftRight,
    kEqual,
    kUnequal,
    kLess,
    kAtMost,
    kGreater,
    kAtLeast,
    kAnd,
    kOr,
    kSum,
    kProduct,
    kLeast,
    kGreatest,
    kListOf,
    kAll,
    kAny,
    kCount,
    kFold,
  };

  Op op = Op::kConstant;
  Part part = Part::kValue;
  Function function = Function::kAbs;
  int index = 0;
  Tensors tensors;
  Value constant;
  std::vector<bool> rest;  // of a range: whether each index is a list
  std::vector<Code> children;
  std::shared_ptr<const Error> error;
  const std::string* where = nullptr;  // the file
  Place place;

  bool rounds = false;         // `operation` is applied
  bool varies = false;         // from element to element
  bool of_output = false;      // from output to output
  int lowest_local = INT_MAX;  // slot
  int depth = 1;
  int cache = -1;  // number of the cache of what is the same for all elements, or for all indices
                   // of sums and arguments (`varies`); -1: none
};

inline Code Make(Code::Op op, int index = 0) {
  Code code;
  code.op = op;
  code.index = index;
  return code;
}
inline Code Make(Value constant) {
  Code code;
  code.constant = std::move(constant);
  return code;
}

struct Routine {
  std::string name;
  int parameters = 0;
  std::vector<bool> rest;  // whether each parameter takes a list of the remaining arguments
  Code body;
};

struct Program {
  std::vector<Routine> routines;  // each uses only earlier ones
  int caches = 0;
  int coordinates = 0;  // slots

  /// How the elements of an output are computed.
  struct Result {
    int routine = 0;
    bool stored = false;           // it is the stored value, not a real to be mapped
    bool of_base = false;          // the operator's own formula defines it
    std::vector<int> coordinates;  // slots; empty where the formula has no indices
    std::vector<bool> rest;        // whether each of these is a list
  };
  std::vector<std::optional<Result>> results;  // of each output of the scope
  std::vector<std::optional<int>> shapes;      // routine of each output
  std::optional<int> operand, operation, result, movement;

  struct Requirement {
    std::string clause;
    int routine = -1;                     // either this holds,
    std::optional<std::size_t> declared;  // or this output has the sizes that it is declared with
  };
  std::vector<Requirement> requirements;
};

}  // namespace qtx::formula
