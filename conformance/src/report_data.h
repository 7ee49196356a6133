// The data of the HTML report: compact JSON for its <script> element.
#pragma once

#include <string>

#include "qtx/conformance/runner.h"

namespace qtx::conformance {

/// Keys: runs[] (each the pairs of Facts), suite, conforms, outcomes[] and
/// expectations[] (names), stale_expectations[], strings[], cases[] (each [id, spec, why, where,
/// op, level, tags[]]), rows[] (one per BackendReport; passes[] by expectation, results[] each
/// [case, outcome, microseconds, expectation, diagnosis?, detail?]). Repeated texts are stored once
/// in strings[] and referred to by index. Tensors are included for the smallest wrong answers, up
/// to kMaxValueBytes in total. Safe inside <script>, as format::JsonString is; texts are bounded in
/// length.
std::string ToPageData(const Report& report);

/// Limits of the page, in bytes (estimated) or elements of one tensor.
inline constexpr std::int64_t kMaxValueBytes = std::int64_t{3} << 20;
inline constexpr std::int64_t kMaxErrorOutputBytes = std::int64_t{1} << 20;
inline constexpr std::size_t kMaxShownElements = 4096;
inline constexpr std::size_t kMaxShownText = 1024;
inline constexpr std::size_t kMaxShownErrorOutput = 4096;

}  // namespace qtx::conformance
