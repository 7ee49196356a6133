// Comparing outputs, and diagnosing wrong ones: which named arithmetic or known fault reproduces
// them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// One differing element as text: integers in decimal, floats as hex floats.
struct ElementDifference {
  std::int64_t index = 0;  // row-major
  std::string got;
  std::string expected;
};

/// Two float elements count as equal if either rule holds.
struct Tolerance {
  std::int64_t ulp = 0;
  double relative = 0;  // |got - expected| <= absolute + relative * |expected|
  double absolute = 0;
};

/// How one output differs from what was expected.
struct Difference {
  std::string output;
  std::string mismatch;       // if element type, dims or count disagree; the rest is then empty
  std::int64_t elements = 0;  // compared
  std::int64_t differing = 0;
  std::vector<ElementDifference> first;            // at most kFirstDifferences
  std::map<std::int64_t, std::int64_t> histogram;  // got - expected -> elements
  std::string unit;                                // of the histogram: "LSB" or "ulp"
  Tolerance tolerance;                             // that was applied
};
inline constexpr std::size_t kFirstDifferences = 8;
inline constexpr std::size_t kMaxHistogram = 32;  // entries; further distances are not counted

/// Where an operator is wrong: its smallest failing form, and what that hangs on. Each thing that
/// is said was confirmed by changed questions to the backend.
struct WrongPlace {
  std::string op;    // op_type
  std::string form;  // "AveragePool(x: INT8Q [1,1,1,257], ...): output 'y' differs in 1 of 257 ..."
  std::string
      says;  // "only in column 256 of 0 to 256; right with 256 on axis 3 of x"; may be empty
};

/// What is wrong in one or more operators, and the cause where one is known: the candidate (a named
/// arithmetic, or one with a known fault) that reproduces the backend's wrong answers bit for bit
/// and has predicted its answers to fresh questions.
struct Finding {
  std::vector<std::string> operators;  // op_types, "model"; sorted
  // "float32"; "half_away" on top of the claimed arithmetic, "float32 + half_away" on top of
  // another; or a symptom if no candidate fits: "crash", "output_shape", "unstable", "pointwise +
  // stride" (where it is wrong), "last_places"; empty: the cause is unknown.
  std::string candidate;
  std::string says;                // one sentence for people
  std::int64_t failing = 0;        // wrong answers
  std::int64_t explained = 0;      // how many of them the candidate reproduces
  std::int64_t confirmed = 0;      // fresh questions whose answers the candidate predicted
  std::vector<WrongPlace> places;  // at most one of each operator
};

/// nullopt when `got` matches: equal element type, dims and bytes, NaN equal to NaN, float elements
/// within `ulp` (nullopt: 0).
std::optional<Difference> Compare(const std::string& output, const format::Tensor& got,
                                  const format::Tensor& expected, std::optional<std::int64_t> ulp);

/// As above, with the case's tolerance.
std::optional<Difference> Compare(const Case& c, const std::string& output,
                                  const format::Tensor& got, const format::Tensor& expected);

/// "3 of 40 elements differ by -1 LSB", "dims [2,3], expected [3,2]".
std::string Describe(const Difference& difference);

struct BackendReport;  // runner.h
struct BackendSource;

/// What the diagnosis of one row may cost.
struct DiagnosisBudget {
  std::chrono::duration<double> time = std::chrono::seconds(20);  // wall clock, for what it asks
  std::int64_t max_runs = 4000;                                   // of the backend, an operator
};

/// Fills `row.findings`, and `explained_by` of failed cases. Reduces the smallest failing case of
/// each operator and asks the backend changed questions, which give the place: what the failure
/// hangs on. Then looks for one candidate for the whole row, and for one per operator; a candidate
/// must reproduce every wrong answer and predict the answers to fresh questions, and one that also
/// keeps the right answers is preferred. Without a candidate the finding names a condition that
/// separates wrong from right answers ("where dilations are not 1"), of cases and of changed
/// questions, else the cause is unknown. A network counts to the operator of its first wrong node.
/// `cases` must contain the row's cases. Skips cases that the reference refuses, and wrong values
/// without evidence.
void Diagnose(std::span<const Case> cases, const BackendSource& source,
              const DiagnosisBudget& budget, BackendReport& row);

}  // namespace qtx::conformance
