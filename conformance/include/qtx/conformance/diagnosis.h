// What a wrong result looks like, and which known behaviour reproduces it.
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

/// One element that differs, printed: integers in decimal, floats as hex floats.
struct ElementDifference {
  std::int64_t index = 0;  // row-major
  std::string got;
  std::string expected;
};

/// How far apart two float elements may be and count as equal: by either rule.
struct Tolerance {
  std::int64_t ulp = 0;
  double relative = 0;  // |got - expected| <= absolute + relative * |expected|
  double absolute = 0;
};

/// How one output differs from what was expected.
struct Difference {
  std::string output;
  std::string mismatch;       // element type, dims or count disagree; the rest is then empty
  std::int64_t elements = 0;  // compared
  std::int64_t differing = 0;
  std::vector<ElementDifference> first;            // at most kFirstDifferences
  std::map<std::int64_t, std::int64_t> histogram;  // got - expected -> elements
  std::string unit;                                // of the histogram: "LSB" or "ulp"
  Tolerance tolerance;                             // by which elements counted as equal
};
inline constexpr std::size_t kFirstDifferences = 8;
inline constexpr std::size_t kMaxHistogram = 32;  // entries; further distances are not counted

/// What a failing backend most likely does, over the cases of one or more operators: the candidate
/// (a named arithmetic, or one with a known fault) that gives the backend's answers bit for bit.
struct Finding {
  std::vector<std::string> operators;  // op_types, "model"; sorted
  // "float32"; "half_away" on top of the claimed arithmetic, "float32 + half_away" of another; or
  // what is known short of a reason: "crash", "output_shape", "unstable", "pointwise + stride"
  // (where it is wrong), "last_places"; empty: unexplained.
  std::string candidate;
  std::string says;            // one sentence for people
  std::int64_t failing = 0;    // answers that differ from the expected ones
  std::int64_t explained = 0;  // of those, how many the candidate gives
};

/// nullopt when `got` is what was expected: element type, dims and bytes equal,
/// NaN equal to NaN, float elements within `ulp` (0 without a value).
std::optional<Difference> Compare(const std::string& output, const format::Tensor& got,
                                  const format::Tensor& expected, std::optional<std::int64_t> ulp);

/// As above, by the tolerance that `c` gives its float outputs.
std::optional<Difference> Compare(const Case& c, const std::string& output,
                                  const format::Tensor& got, const format::Tensor& expected);

/// "3 of 40 elements differ by -1 LSB", "dims [2,3], expected [3,2]".
std::string Describe(const Difference& difference);

/// The names of what gives `got`, bit for bit, where `arithmetic` gives something else: other named
/// arithmetics, then known faults on top of `arithmetic` ("half_away"), and where there is neither,
/// on top of another ("float32 + half_away"). Empty when nothing tried does; "reference" alone when
/// the reference gives it too, which puts the case in doubt. Each name tried is one run of the
/// reference, so only cases of at most kMaxDiagnosedElements output elements are tried.
std::vector<std::string> Explain(const Case& c, const std::string& arithmetic,
                                 const std::vector<format::Tensor>& got);
inline constexpr std::int64_t kMaxDiagnosedElements = std::int64_t{1} << 20;

struct BackendReport;  // runner.h
/// Fills `row.findings`, and `explained_by` of the cases that failed. One candidate for the whole
/// row is looked for first, then one for each operator; it must give every wrong answer, and is
/// preferred when it leaves the right ones alone. Where none does, a condition that tells wrong
/// from right answers is one ("where dilations are not 1"), else the finding is unexplained.
/// `cases` holds the row's cases, by id. What the reference refuses, and wrong values without
/// evidence, are passed over.
void Diagnose(std::span<const Case> cases, BackendReport& row);

}  // namespace qtx::conformance
