// A long session: models run some thousand times, of one handle and of many.
#pragma once

#include <optional>
#include <span>

#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// Runs the first subject kLongRuns times of one handle; between them, in kLongRounds rounds, it
/// runs it of kLongHandles handles prepared one after the other, of several in turn, and the second
/// subject, if there is one; now and then no handle is left. The inputs are a subject's own and the
/// others. The first answer that is not the one before to the same inputs, or no answer, is the
/// fault, with its clause. Ends without one after kLongSeconds.
/// Source: backend_protocol.S26.
std::optional<Error> FaultOfLongSession(const BackendSource& source,
                                        std::span<const ProbeSubject> subjects);
inline constexpr int kLongRuns = 4096;
inline constexpr int kLongHandles = 1024;
inline constexpr int kLongRounds = 256;
inline constexpr int kLongSeconds = 5;

}  // namespace qtx::conformance
