// The formulas of the text: fenced blocks marked `formula`, which the tests hold to the reference.
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
// Above the line of dashes stand the expressions, below it one or more conformance cases without
// id, why and data. Source: spec/README.md, "Formulas".
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
  std::string text;               // the expressions alone
  std::vector<std::string> used;  // the expressions of the formulas that `use` names
  std::vector<conformance::Case> cases;
};

/// The formulas of a chapter, in its order. Those that `use` names are looked up in the chapter of
/// their stem: this one, or a file of its folder.
/// Errors: kInvalid, kTooLarge at "file:line:column" of the expressions or "file:line: key" of the
/// cases, what was found and what expected; kIo for a chapter that `use` names.
Result<std::vector<Formula>> ReadFormulas(const Document& document);

/// One case of a formula, evaluated and compared.
struct FormulaRun {
  std::string id;  // of the case: "exact/formula[scale=0.5]"
  std::string where;
  std::vector<std::string> arithmetics;
  std::int64_t elements = 0;  // compared, in all arithmetics together
  bool exhaustive = false;    // over all stored values of the inputs, and all pairs of two
  std::string difference;     // the first: inputs, formula's value, reference's; empty: none
};

/// Evaluates a formula on all its cases, to the first difference in each.
/// Errors: as ReadFormulas; kInvalid for a case that the reference refuses, a division by zero, a
/// name or an index without a meaning; kTooLarge for an evaluation beyond all bounds.
Result<std::vector<FormulaRun>> RunFormula(const Formula& formula,
                                           format::Features features = format::Features::Current());

/// The expressions of a `formula` block (what follows a line of dashes is left out) as HTML,
/// escaped: a `div` of class "line" for each, of `math` elements (MathML Core) between which it may
/// be broken, and at its end the comment, a `span` of that class. Errors: as ReadFormulas, at
/// "line:column".
Result<std::string> FormulaToHtml(std::string_view text);

}  // namespace qtx::spec
