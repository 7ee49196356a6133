// Formulas of the spec: fenced blocks marked `formula`, which tests compare with the reference.
//
//   ```formula
//   stored = clamp(half_even(x / scale) + offset, quant_min, quant_max)
//   ---
//   spec: exact.S1
//   op: {type: Cast, attributes: {to: int8q}}
//   inputs: {x: {type: float}}
//   expect: {y: {type: int8q, scale: [0.5], offset: [3]}}
//   ```
//
// The expressions come first; below the line of dashes are conformance cases without id, why and
// data. Source: spec/README.md, "Formulas".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/feature.h"
#include "qtx/format/result.h"
#include "qtx/spec/document.h"

namespace qtx::spec {

struct Formula {
  std::string spec;               // the clause, "exact.S1"
  std::string where;              // the file
  int line = 0;                   // of the opening fence
  std::string text;               // the expressions
  std::vector<std::string> used;  // expressions of the formulas that `use` names
  std::vector<conformance::Case> cases;
};

/// The formulas of a chapter, in order. A formula that `use` names is looked up in the chapter of
/// its stem: this one or a file in its folder.
/// Errors: kInvalid, kTooLarge at "file:line:column" of an expression or "file:line: key" of a
/// case; kUnreadable for a chapter that `use` names.
Result<std::vector<Formula>> ReadFormulas(const Document& document);

/// The result of comparing a formula with the reference on one case.
struct FormulaRun {
  std::string id;  // of the case: "exact/formula[scale=0.5]"
  std::string where;
  std::vector<std::string> arithmetics;
  std::int64_t elements = 0;  // compared, over all arithmetics
  bool exhaustive = false;    // all stored values of the inputs, or all pairs for two inputs
  std::string
      difference;  // the first one: inputs, the formula's and the reference's value; empty: none
};

/// Evaluates a formula on all its cases, up to the first difference in each.
/// Errors: as ReadFormulas; kInvalid for a case that the reference refuses, a division by zero, an
/// unknown name or invalid index; kTooLarge for an evaluation past the limits.
Result<std::vector<FormulaRun>> RunFormula(const Formula& formula,
                                           format::Features features = format::Features::Current());

/// The expressions of a `formula` block (without what follows the line of dashes) as escaped HTML:
/// for each a `div` of class "line" with `math` elements (MathML Core), between which lines may
/// break, then a `span` of class "comment". Errors: as ReadFormulas, at "line:column".
Result<std::string> FormulaToHtml(std::string_view text);

}  // namespace qtx::spec
