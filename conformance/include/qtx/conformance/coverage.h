// What of the specification, the operators and the arithmetics the cases show.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// A rule of the specification: a paragraph, list item or table row that begins with its bold id.
struct Clause {
  std::string id;             // "conv.S2"
  std::string place;          // "ops/conv.md:12", below the folder of the specification
  bool held_by_test = false;  // marked "(tests)": it binds readers, writers or tools, and no case
                              // of a backend can show it
};

/// Every clause of every *.md below `spec_folder`, by path and line.  Errors: kIo, kTooLarge.
Result<std::vector<Clause>> ReadClauses(const std::string& spec_folder);

struct Coverage {
  std::int64_t cases = 0;
  std::vector<Clause> uncovered;                 // no case cites it or expects it as its error
  std::vector<Clause> held_by_tests;             // those marked so, and without a case
  std::int64_t clauses = 0;                      // all of them
  std::vector<std::string> operators_without;    // of the reference, without a case
  std::vector<std::string> arithmetics_without;  // named ones, aliases too, without a case
  /// op_type -> arithmetic -> cases; whole networks are "model".
  std::map<std::string, std::map<std::string, std::int64_t>> counts;

  bool complete() const {
    return uncovered.empty() && operators_without.empty() && arithmetics_without.empty();
  }
};

/// Each case counts once for each arithmetic it holds in.
Coverage MeasureCoverage(std::span<const Case> cases, std::span<const Clause> clauses);

}  // namespace qtx::conformance
