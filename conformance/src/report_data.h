// What the page of the HTML report shows, as compact JSON inside its <script> element.
#pragma once

#include <string>

#include "qtx/conformance/runner.h"

namespace qtx::conformance {

/// Keys: suite, conforms, outcomes[] (names), stale_expectations[], strings[], cases[] (each [id,
/// spec, why, where, op, level, tags[]]), rows[] (one per BackendReport; results[] each [case,
/// outcome, microseconds, diagnosis?, detail?]). What repeats is kept once in strings[] and named
/// by its index. Values of wrong answers are kept for the smallest ones, up to kMaxValueBytes of
/// the page. Safe inside <script>: no `<` is left, no control character, all of it UTF-8; every
/// text from a backend is bounded.
std::string ToPageData(const Report& report);

/// Bounds of the page, in bytes of its text (estimated) or elements of one tensor.
inline constexpr std::int64_t kMaxValueBytes = std::int64_t{3} << 20;
inline constexpr std::int64_t kMaxErrorOutputBytes = std::int64_t{1} << 20;
inline constexpr std::size_t kMaxShownElements = 4096;
inline constexpr std::size_t kMaxShownText = 1024;
inline constexpr std::size_t kMaxShownErrorOutput = 4096;

}  // namespace qtx::conformance
