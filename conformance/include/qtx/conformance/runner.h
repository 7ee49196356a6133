// Runs cases against backends, in this process or in others, and says what came of each.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/diagnosis.h"
#include "qtx/format/feature.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

enum class Outcome {
  kPass,
  kFail,
  kUnsupported,    // the backend said so, with a reason
  kCrash,          // its process ended, or it threw
  kTimeout,        // no answer within ProcessOptions::timeout
  kProtocolError,  // an answer that is not the protocol
  kExpectedFail,   // one of the four above or a failure, and listed
  kUnexpectedPass  // listed, but it passes
};
inline constexpr std::size_t kOutcomes = 8;
std::string_view Name(Outcome outcome);  // "protocol_error", the key in the JSON report

/// One line of an expected-failures file: `glob  # reason`. The glob is matched with the case's id,
/// and with "id @arithmetic".
struct ExpectedFailure {
  std::string glob;
  std::string reason;
  std::string where;  // "list.txt:12"
};
/// Blank lines and lines that begin with # are skipped.
/// Errors: kInvalid at "where:line" for a line without a reason.
Result<std::vector<ExpectedFailure>> ParseExpectedFailures(std::string_view text,
                                                           const std::string& where);

/// The lines of a list that no case of the suite matches in any of its arithmetics, each as
/// "list.txt:12: glob". `cases` is the whole suite, so that no filter or shard makes a line stale.
std::vector<std::string> StaleExpectations(std::span<const ExpectedFailure> list,
                                           std::span<const Case> cases);

/// A way to get instances of one backend; each worker thread has its own.
struct BackendSource {
  std::string name;  // as the user gave it; reports show the one the backend describes itself with
  std::function<Result<std::unique_ptr<backend::Backend>>()> make;
  std::vector<ExpectedFailure> expected_failures;
  bool is_reference = false;  // its answers are the expected ones where a case leaves them open
};

/// The reference interpreter as a backend: every named arithmetic, "exact" first.
BackendSource ReferenceSource(format::Features features = format::Features::Current());

/// A backend whose faults cannot reach this process, and what the harness asks of it beyond the
/// four requests. RunSuite finds out which backends are such.
class IsolatedBackend : public backend::Backend {
 public:
  /// From now on requests share one case's time, and error output is that of the case.
  virtual void BeginCase() = 0;
  /// What it wrote to its standard error, the end of it: at most 4096 bytes.
  virtual std::string TakeErrorOutput() = 0;
  /// What went wrong when a model was released, since the last call: destructors cannot say it.
  virtual std::optional<Error> TakeReleaseFault() = 0;
  /// False when the case found no process to ask: such a result says nothing of the case.
  virtual bool Reached() const = 0;
};

struct ProcessOptions {
  std::chrono::milliseconds timeout = std::chrono::seconds(60);  // of a case: Prepare and Run
  std::int64_t memory_limit = 0;                                 // bytes of address space; 0: none
};

/// A backend in a process of its own, which `words` start; no shell is involved. One that crashed,
/// hung or broke the protocol is killed and a new one started for the next case. Error codes of the
/// instances: kIo the process ended, kTimeout, kProtocol; what the backend itself answers is
/// kUnsupported or kInvalid.
BackendSource ProcessSource(std::string name, std::vector<std::string> words,
                            const ProcessOptions& options);
/// `command` (after "cmd:") is split at blanks; '...' and "..." group, \ takes the next character.
/// Errors: kInvalid for an empty command or an open quote.
Result<BackendSource> ProcessSource(std::string_view command, const ProcessOptions& options = {});

/// Kills the processes of all backends there are. Safe in a signal handler: they are in groups of
/// their own, so what interrupts this program does not reach them.
void KillBackendProcesses();

/// The values of a case that went wrong, for reports and diagnosis; names are those of the model.
struct Evidence {
  struct Value {
    std::string name;
    format::Tensor tensor;
  };
  std::vector<Value> inputs;  // constants of an operator case too, before the others
  std::vector<Value> expected;
  std::vector<Value> got;
};
/// Evidence of more elements than this, over all its values, is not kept.
inline constexpr std::int64_t kMaxEvidenceElements = std::int64_t{1} << 20;

/// What CaseResult::diagnosis is where a backend refused a model as it must, but named no clause.
inline constexpr std::string_view kClauseNotNamed = "refused, clause not named";

struct CaseResult {
  std::string id;
  std::int64_t position = 0;  // of the case in its suite
  std::string arithmetic;
  std::string spec;
  std::string why;
  std::string where;
  std::string op;  // op_type of an operator case, "model" of a network
  std::string level;
  std::vector<std::string> tags;
  Outcome outcome = Outcome::kPass;
  /// Of a pass empty or kClauseNotNamed; else one or more sentences, a reason, or an error.
  std::string diagnosis;
  std::vector<std::string> explained_by;  // what reproduces a wrong answer: "float32", "half_away"
  std::vector<Difference> differences;
  std::optional<Evidence> evidence;     // of answers that differ
  bool unstable = false;                // asked again, it answered otherwise
  bool reversed = false;                // wrong only on the case's elements back to front
  std::vector<std::string> unmodelled;  // nodes of a network that `arithmetic` computes exactly
                                        // for want of a clause: reference::FindUnmodelled
  std::string error_output;  // the end of what its process wrote to standard error; not of a pass
  double seconds = 0;
};

/// One backend in one arithmetic.
struct BackendReport {
  std::string source;  // BackendSource::name
  backend::Description description;
  std::string arithmetic;
  std::vector<CaseResult> cases;                 // in the order of the suite
  std::vector<Finding> findings;                 // empty when nothing fails
  std::array<std::int64_t, kOutcomes> counts{};  // by Outcome
  std::int64_t not_applicable = 0;               // cases that do not hold for this arithmetic
  double seconds = 0;                            // wall clock
  std::optional<Error> error;                    // it could not even be described; nothing was run

  std::int64_t count(Outcome outcome) const { return counts[static_cast<std::size_t>(outcome)]; }
};

struct Report {
  std::string suite;          // its folder
  std::int64_t selected = 0;  // cases that were to be run, in whatever arithmetic
  std::int64_t shard = 1;     // of `shards` that are the whole run, from 1
  std::int64_t shards = 1;
  std::vector<BackendReport> backends;
  std::vector<std::string> stale_expectations;  // of StaleExpectations
  bool strict_expectations = false;             // stale ones count as failures
};

class Journal;

/// The callbacks are called from one thread at a time.
struct RunOptions {
  std::vector<std::string> arithmetics;      // empty = each that the case and the backend both name
  int jobs = 1;                              // worker threads per backend
  std::function<void(std::size_t)> planned;  // once, how many results there will be
  std::function<void(const std::string&)> started;          // the id of a case
  std::function<void(const CaseResult&)> progress;          // what came of it
  format::Features features = format::Features::Current();  // of the spec that cases are held to
  Journal* journal = nullptr;  // results in it are taken over, others added to it
};

/// Runs every case in every arithmetic that it and the backend share, backend after backend. What
/// an in-process backend takes for ever over is not interrupted. Expected results that a case
/// leaves open are computed by the reference once, for all backends.
Report RunSuite(const std::string& suite, std::span<const Case> cases,
                std::span<const BackendSource> backends, const RunOptions& options);

/// True when there is no fail, crash, timeout, protocol error, unexpected pass or error.
bool Conforms(const BackendReport& row);
/// True when every backend does, and no expectation is stale where that counts.
bool Conforms(const Report& report);

}  // namespace qtx::conformance
