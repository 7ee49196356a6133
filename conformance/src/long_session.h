// A long session: one model run some thousand times, of one handle and of many.
#pragma once

#include <optional>

#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// Runs the subject kLongRuns times of one handle, then of kLongHandles handles one after the
/// other, then of several in turn; the inputs are its own and the others. The first answer that is
/// not the one before to the same inputs, or no answer, is the fault, with its clause. Ends without
/// one after kLongSeconds.
/// Source: backend_protocol.S26.
std::optional<Error> FaultOfLongSession(const BackendSource& source, const ProbeSubject& subject);
inline constexpr int kLongRuns = 4096;
inline constexpr int kLongHandles = 1024;
inline constexpr int kLongSeconds = 5;

}  // namespace qtx::conformance
