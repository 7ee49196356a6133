// A session: runs of several prepared models of one model, in turn or at once.
// Source: conformance_cases.md, "Sessions".
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "draw.h"
#include "qtx/backend/backend.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/model.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// The answer to one run. An error of Prepare is the answer to its handle's first run.
struct SessionAnswer {
  SessionRun run;
  Result<std::vector<format::Tensor>> outputs;
};

/// kSingle: one run. kRepeated: the same inputs again, of the same handle. kUsual: the same again
/// after others and of two handles. kThorough: of the handles and draws below.
enum class SessionKind { kSingle, kRepeated, kUsual, kThorough };
struct Session {
  SessionKind kind = SessionKind::kSingle;
  std::int64_t plain_draw = kZeroDraw;  // of draw.h, the one that a usual session asks
};
inline constexpr std::int64_t kSessionHandles = 3;
inline constexpr std::array<std::int64_t, 3> kSessionThreads = {1, 2, 8};
inline constexpr std::int64_t kSessionDraws = 4;        // in turn, the case's own inputs among them
inline constexpr std::int64_t kSessionPlainDraws = 12;  // after these, kZeroDraw and so on

/// The inputs of a draw; null for one that there is not, whose place the case's own (draw 0) take.
using DrawnInputs = std::function<const std::vector<format::Tensor>*(std::int64_t draw)>;

/// Asks one after the other. Ends after an error to draw 0, and where the process has ended.
/// `threads` is noted in the answers.
std::vector<SessionAnswer> RunSession(backend::Backend& backend, const format::Model& model,
                                      const std::string& arithmetic, Session session,
                                      std::int64_t threads, const DrawnInputs& inputs);

/// Asks kSessionHandles prepared models, each in a thread of its own.
/// REQUIRES: backend.RunsAtOnce(); `inputs` may be called from several threads for the draws below
/// kSessionDraws.
std::vector<SessionAnswer> RunSessionAtOnce(backend::Backend& backend, const format::Model& model,
                                            const std::string& arithmetic, std::int64_t threads,
                                            const DrawnInputs& inputs);

/// "run 3 of handle 2 with other inputs".
std::string Describe(const SessionRun& run);

/// True if no request can follow this error: the process has ended, or is to be ended.
bool IsGone(const Error& error);

}  // namespace qtx::conformance
