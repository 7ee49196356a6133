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
#include "qtx/formula/text.h"
#include "qtx/spec/document.h"

namespace qtx::spec {

struct Formula {
  std::string spec;   // the clause, "exact.S1"
  std::string where;  // the file
  int line = 0;       // of the opening fence
  std::string text;   // the expressions
  std::vector<conformance::Case> cases;
};

/// The formulas of a chapter, in order.
/// Errors: kInvalid, kTooLarge at "file:line:column" of an expression or "file:line: key" of a
/// case.
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

/// The text that a chapter belongs to: all chapters of its specification; for a chapter elsewhere
/// that of this version, and the chapter. Errors: those of formula::Text.
Result<formula::Text> TextAround(const Document& document);

/// Evaluates a formula of `text` on all its cases, up to the first difference in each.
/// Errors: those of formula::ComputeBy; kInvalid for a case that the reference refuses.
Result<std::vector<FormulaRun>> RunFormula(const Formula& formula, const formula::Text& text,
                                           format::Features features = format::Features::Current());

/// The expressions of a `formula` block (without what follows the line of dashes) as escaped HTML:
/// for each a `div` of class "line" with `math` elements (MathML Core), between which lines may
/// break, then a `span` of class "comment". Errors: as ReadFormulas, at "line:column".
Result<std::string> FormulaToHtml(std::string_view text);

}  // namespace qtx::spec
