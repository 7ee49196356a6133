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

namespace qtx::conformance {

/// `text` for a terminal: every byte but printable ASCII becomes '?', so that no escape sequence of
/// a backend or a file gets there. Of more than `limit` bytes, the beginning and "...", `limit`
/// long.
std::string Printable(std::string_view text, std::size_t limit);

/// A table with one row per backend and arithmetic, then the cases that need attention, at most
/// `max_listed` per row. UTF-8 free: plain ASCII, at most 120 columns where names allow.
std::string ToText(const Report& report, std::size_t max_listed = 20);

/// Everything in the report, so that ParseReport gives it back; only evidence of more than 65536
/// elements is left out. Keys: suite, selected, shard?, shards?, conforms, stale_expectations[],
/// strict_expectations, backends[] {name, source, version, device, arithmetics[], arithmetic,
/// counts{pass, fail, unsupported, crash, timeout, protocol_error, expected_fail, unexpected_pass,
/// not_applicable}, seconds, error?, error_where?, error_message?, error_code?, findings[]
/// {operators[], candidate, says, failing, explained}, cases[] {id, position, arithmetic, outcome,
/// spec, why, where, op, level, tags[], diagnosis, explained_by[], differences[] {output, mismatch,
/// elements, differing, unit, tolerance{ulp, relative, absolute}, histogram{}, first[]}, evidence?
/// {inputs[], expected[], got[]}, error_output?, unstable?, unmodelled?[], reversed?, seconds}}. A
/// tensor of the evidence has name, elem_type, dims[], quantization? {scale[] as hex floats,
/// offset[], axis[], block_shape[], quant_min, quant_max, scheme, requantization} and data, its
/// bytes as hexadecimal digits.
std::string ToJson(const Report& report);

/// The report in ToJson's text. Unknown keys are skipped, counts are recomputed; `where` names the
/// text in errors. Callers bound its size by kMaxReportBytes.
/// Errors: kInvalid for text that is no such JSON, kTooLarge past limits on depth and values, and
/// for more than 4096 backends.
Result<Report> ParseReport(std::string_view json, const std::string& where);
inline constexpr std::int64_t kMaxReportBytes = std::int64_t{1} << 28;

/// The report of the whole run that `parts` are shards of, or runs on several devices. Rows of one
/// backend (name, version, device) in one arithmetic become one, its cases in the suite's order. A
/// case that two parts have is counted once: with the worse of two outcomes, and a note of the
/// other, so that a flaky answer neither hides nor stops the join. Findings of one
/// candidate that say the same are joined; times and the findings' counts are sums.
/// Errors: kInvalid when shards of a run are missing, or are of different numbers of shards.
Result<Report> MergeReports(std::vector<Report> parts);

/// One <testsuite> per backend and arithmetic; a <testcase> has the class "backend.arithmetic.op"
/// and the case's id for a name. fail and unexpected_pass are <failure>; crash, timeout and
/// protocol_error <error>; unsupported and expected_fail <skipped>. Texts are bounded.
std::string ToJunit(const Report& report);

/// One self-contained page that works offline: verdicts, findings, a matrix of operators by
/// backends, the cases with a search, and of each wrong answer its tensors, differences and the
/// command that reproduces it. About 5 MB at most: of many wrong answers the smallest keep their
/// values. Texts are bounded.
std::string ToHtml(const Report& report);

}  // namespace qtx::conformance
