// A report of a run, for people and for programs. Everything that came from a case or a backend is
// escaped; apart from times the texts depend on the report alone.
#pragma once

#include <string>

#include "qtx/conformance/runner.h"

namespace qtx::conformance {

/// A table with one row per backend and arithmetic, then the cases that need attention, at most
/// `max_listed` per row. UTF-8 free: plain ASCII, at most 120 columns where names allow.
std::string ToText(const Report& report, std::size_t max_listed = 20);

/// Keys: suite, conforms, backends[] {name, source, version, device, arithmetic, counts{pass, fail,
/// unsupported, crash, timeout, protocol_error, expected_fail, unexpected_pass, not_applicable},
/// seconds, error?, cases[] {id, arithmetic, outcome, spec, why, where, diagnosis, explained_by[],
/// differences[] {output, mismatch, elements, differing, unit, histogram{}, first[]}, seconds}}.
std::string ToJson(const Report& report);

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
