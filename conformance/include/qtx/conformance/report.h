// A report of a run, for people and for programs. Everything that came from a case or a backend is
// escaped; apart from times the texts depend on the report alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"
#include "qtx/format/text.h"

namespace qtx::conformance {

/// A table with one row per backend and arithmetic: outcomes (those that occur), passes by source
/// of the expectation; then the cases that need attention, at most `max_listed` per row. At most
/// 120 columns if names and outcomes allow.
format::Printable ToText(const Report& report, std::size_t max_listed = 20);

/// The whole report, readable by ParseReport, except evidence of more than 65536 elements: a
/// document of tools/cli/schema/validate.schema.json.
std::string ToJson(const Report& report);

/// The inverse of ToJson. Unknown keys are skipped, counts are recomputed; `where` names the text
/// in errors. Callers limit its size to kMaxReportBytes.
/// Errors: kInvalid for malformed text; kTooLarge past limits on depth and values, and for more
/// than 4096 backends.
Result<Report> ParseReport(std::string_view json, const std::string& where);
inline constexpr std::int64_t kMaxReportBytes = std::int64_t{1} << 28;

/// Merges reports of shards of one run, or of runs on several devices. Rows of one backend (name,
/// version, device) and arithmetic become one row with the cases in the suite's order. A case that
/// occurs twice counts once, with the worse outcome and a note of the other. Equal findings are
/// merged; times and their counts are added.
/// The result has the provenance of each; the caller sets its own.
/// Errors: kInvalid when a shard is missing, numbers of shards differ, or shards are of different
/// commits or suites.
Result<Report> MergeReports(std::vector<Report> parts);

/// One <testsuite> per backend and arithmetic; a <testcase> has the class "backend.arithmetic.op"
/// and the case's id as its name. fail, unexpected_pass, bad_expectation and bad_golden are
/// <failure>; crash, timeout and protocol_error <error>; unsupported, expected_fail and self
/// <skipped>. Texts are bounded in length.
std::string ToJunit(const Report& report);

/// A self-contained page that works offline: verdicts, findings, a matrix of operators by backends,
/// searchable cases, and for each wrong answer the tensors, differences and the command that
/// reproduces it. At most about 5 MB: if there are too many wrong answers, only the smallest keep
/// their values. Texts are bounded.
std::string ToHtml(const Report& report);

}  // namespace qtx::conformance
