// Comparing outputs, and diagnosing wrong ones: which named arithmetic or known fault reproduces
// them.
#pragma once

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

/// The likely cause of failures in one or more operators: the candidate (a named arithmetic, or one
/// with a known fault) that reproduces the backend's answers bit for bit.
struct Finding {
  std::vector<std::string> operators;  // op_types, "model"; sorted
  // "float32"; "half_away" on top of the claimed arithmetic, "float32 + half_away" on top of
  // another; or a symptom if no candidate fits: "crash", "output_shape", "unstable", "pointwise +
  // stride" (where it is wrong), "last_places"; empty: unexplained.
  std::string candidate;
  std::string says;            // one sentence for people
  std::int64_t failing = 0;    // wrong answers
  std::int64_t explained = 0;  // how many of them the candidate reproduces
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

/// The candidates that reproduce `got` bit for bit: other named arithmetics, then known faults on
/// top of `arithmetic` ("half_away"), and if there are none, faults on top of other arithmetics
/// ("float32 + half_away"). "reference" alone if the reference gives `got` too, which puts the case
/// in doubt. Each candidate costs one run of the reference, so cases of more than
/// kMaxDiagnosedElements output elements give nothing.
std::vector<std::string> Explain(const Case& c, const std::string& arithmetic,
                                 const std::vector<format::Tensor>& got);
inline constexpr std::int64_t kMaxDiagnosedElements = std::int64_t{1} << 20;

struct BackendReport;  // runner.h
/// Fills `row.findings`, and `explained_by` of failed cases. Looks for one candidate for the whole
/// row, then for one per operator; a candidate must reproduce every wrong answer, and one that also
/// keeps the right answers is preferred. Without a candidate the finding names a condition that
/// separates wrong from right answers ("where dilations are not 1"), else it is unexplained.
/// `cases` must contain the row's cases. Skips cases that the reference refuses, and wrong values
/// without evidence.
void Diagnose(std::span<const Case> cases, BackendReport& row);

}  // namespace qtx::conformance
