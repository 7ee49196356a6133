// Who else than the reference says what an operator computes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::spec {

/// The answers to what an operator computes. Cases are counted once per arithmetic.
struct OperatorAnswers {
  std::int64_t hand = 0;         // expectations derived by hand
  std::int64_t third_party = 0;  // expectations that others made
  std::int64_t text = 0;         // expectations that the text's formulas confirm
  std::int64_t reference = 0;    // expectations of the reference alone
  std::int64_t checks = 0;       // constraints that the catalogue judges; no answer to a value
  bool python = false;           // backends/python has the operator
  bool golden = false;           // golden data of others hold the reference in a test

  /// The independent ones of hand, third party, text and Python, 0 to 4.
  int sources() const {
    return int{hand > 0} + int{third_party > 0 || golden} + int{text > 0} + int{python};
  }
};
/// By op_type; whole networks are "model".
using AnswersByOperator = std::map<std::string, OperatorAnswers>;

/// Every operator needs as many sources that are independent of the reference.
inline constexpr int kLeastSources = 2;

/// A row for each operator of the reference and of the report of a run of the suite. Where `root`
/// is a source tree, its lists of operators say what Python and golden data have; an empty `root`
/// has none.  Errors: those of ReadFile, for a list.
Result<AnswersByOperator> CountAnswers(const conformance::Report& report, const std::string& root);

}  // namespace qtx::spec
