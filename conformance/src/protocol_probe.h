// What a server of the protocol must do that no case shows.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "process.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

inline constexpr Process::Clock::duration kTimeToExit =
    std::chrono::seconds(2);  // backend_protocol.S6

/// The process of a backend, held to the bounds of the protocol.  Errors: those of Process::Start.
Result<std::unique_ptr<Process>> StartServer(const std::vector<std::string>& words,
                                             const ProcessOptions& options);

/// The time for the first answer: starting may take long (emulators, ssh).
Process::Clock::duration TimeToStart(const ProcessOptions& options);

/// Gives the process the end of its input: an error with its clause unless it exits with status 0
/// in time and says nothing more.  Source: backend_protocol.S6.
std::optional<Error> FaultAtEnd(Process& process, std::string_view what = "the end of the input",
                                Process::Clock::duration time = kTimeToExit);

/// Starts the backend and asks it what a harness asks by mistake or not at all: the rules that it
/// breaks, each an error with its clause. What needs a model is left out without subjects.
std::vector<Error> ProbeProtocol(const std::vector<std::string>& words,
                                 const ProcessOptions& options,
                                 std::span<const ProbeSubject> subjects);

}  // namespace qtx::conformance
