// Compiles a formula for the tensors of a case: resolves names and distinguishes conditions from
// numbers.
#pragma once

#include <climits>
#include <span>
#include <string>
#include <vector>

#include "formula/functions.h"
#include "formula/number.h"
#include "formula/operand.h"
#include "formula/tree.h"
#include "qtx/conformance/case.h"
#include "qtx/format/result.h"

namespace qtx::spec {

inline constexpr int kMaxCallDepth = 512;  // of expressions within expressions and calls

struct Code {
  enum class Op {
    kConstant,
    kLocal,       // index: slot of an argument or of an index of a sum
    kCoordinate,  // index: axis of the output
    kRoutine,     // index: of the routine; children: arguments
    kPart,        // of operand `index`; children: coordinates, or the number of the parameter
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
    kFold,
  };
  enum class Part { kReal, kStored, kScale, kOffset, kMin, kMax };

  Op op = Op::kConstant;
  Part part = Part::kReal;
  Function function = Function::kAbs;
  int index = 0;
  Number constant;
  std::vector<Code> children;
  Place place;

  bool is_truth = false;
  bool varies = false;         // from element to element
  int lowest_local = INT_MAX;  // slot
  int depth = 1;
  int cache = -1;  // number of the cache of what is the same for all elements; -1: none
};

struct Routine {
  std::string name;
  int parameters = 0;
  Code body;
};

struct Program {
  std::vector<Routine> routines;  // each uses only earlier ones
  int caches = 0;

  struct Result {
    int routine = 0;
    int output = 0;       // of the outputs
    bool stored = false;  // it is the stored value, not a real to be mapped
  };
  std::vector<Result> results;
};

/// The tensors of a case, inputs first, and the attributes of its operator.
struct Scope {
  std::span<const Operand> operands;
  int first_output = 0;
  std::span<const format::Attribute> attributes;
};

/// `used` are the statements of other formulas, whose functions this one may call.
/// Errors: kInvalid or kTooLarge at "where:line:column".
Result<Program> Compile(std::span<const Statement> used, std::span<const Statement> statements,
                        const Scope& scope, const std::string& where);

}  // namespace qtx::spec
