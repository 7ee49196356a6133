// What a wrong result looks like, and which known behaviour reproduces it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

/// How one output differs from what was expected.
struct Difference {
  std::string output;
  std::string mismatch;       // element type, dims or count disagree; the rest is then empty
  std::int64_t elements = 0;  // compared
  std::int64_t differing = 0;
  std::vector<ElementDifference> first;            // at most kFirstDifferences
  std::map<std::int64_t, std::int64_t> histogram;  // got - expected -> elements, at most 32 entries
  std::string unit;                                // of the histogram: "LSB" or "ulp"
};
inline constexpr std::size_t kFirstDifferences = 8;

/// What a failing backend most likely does, over the cases of one or more operators: the candidate
/// (a named arithmetic, or one with a known fault) that gives the backend's answers bit for bit.
struct Finding {
  std::vector<std::string> operators;  // op_types, "model"; sorted
  std::string candidate;               // "float32", "exact + pairs16"; empty: unexplained
  std::string says;                    // one sentence for people
  std::int64_t failing = 0;            // answers that differ from the expected ones
  std::int64_t explained = 0;          // of those, how many the candidate gives
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
/// arithmetics, then known faults ("half_away", "wrap_instead_of_clamp", ...). Empty when nothing
/// tried does; "reference" alone when the reference gives it too, which puts the case in doubt.
/// Each name tried is one run of the reference on the case or a changed copy of it, so only cases
/// of at most kMaxDiagnosedElements output elements are tried.
std::vector<std::string> Explain(const Case& c, const std::string& arithmetic,
                                 const std::vector<format::Tensor>& got);
inline constexpr std::int64_t kMaxDiagnosedElements = std::int64_t{1} << 20;

}  // namespace qtx::conformance
