// The runner: runs cases against backends, in this process or in others, and reports each outcome.
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
#include "qtx/conformance/provenance.h"
#include "qtx/conformance/text_answers.h"
#include "qtx/format/feature.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

enum class Outcome {
  kPass,
  kFail,
  kUnsupported,     // the backend said so, with a reason
  kCrash,           // its process ended, or it threw
  kTimeout,         // no answer within ProcessOptions::timeout
  kProtocolError,   // an answer that is not the protocol
  kExpectedFail,    // failed in one of the ways above, and listed as expected
  kUnexpectedPass,  // listed as expected to fail, but passes
  kSelf,            // the reference's answer, compared with itself: neither pass nor failure
  kBadExpectation,  // the text's own computation contradicts what the case expects
  kBadGolden        // third-party data are further from `exact` than their bound allows
};
inline constexpr std::size_t kOutcomes = 11;
std::string_view Name(Outcome outcome);  // "protocol_error", the key in the JSON report
/// True if a row with such an outcome does not conform.
bool Fails(Outcome outcome);

/// Where the expected result of a case comes from. A case with several outputs has the weakest
/// (last) source of them.
enum class ExpectationSource {
  kHand,        // literal data of the case, or the clause by which it must be refused
  kThirdParty,  // files and vectors that others made
  kText,        // the reference, confirmed by the text's own computation
  kReference    // the reference alone
};
inline constexpr std::size_t kExpectationSources = 4;
std::string_view Name(ExpectationSource source);  // "third_party", the key in the JSON report

/// One line of an expected-failures file: `glob  # reason`. The glob is matched with the case's id,
/// and with "id @arithmetic".
struct ExpectedFailure {
  std::string glob;
  std::string reason;
  std::string where;  // "list.txt:12"
};
inline constexpr int kMaxGlobs = 1024;  // lines with a wildcard: each is held to every name
/// Blank lines and lines that begin with # are skipped.
/// Errors at "where:line": kInvalid for a line without a reason or given twice, kTooLarge past
/// kMaxGlobs.
Result<std::vector<ExpectedFailure>> ParseExpectedFailures(std::string_view text,
                                                           const std::string& where);

/// The lines of a list that match no case in any arithmetic, each as "list.txt:12: glob". `cases`
/// must be the whole suite, unfiltered.
std::vector<std::string> StaleExpectations(std::span<const ExpectedFailure> list,
                                           std::span<const Case> cases);

/// A model that a backend runs, for the requests of a probe.
struct ProbeSubject {
  std::string model;  // serialised
  std::string arithmetic;
  std::vector<format::Tensor> inputs;  // one or more, none empty; the first model's first is
                                       // quantized
  std::vector<format::Tensor> others;  // other inputs of the model; none where none are known
};

/// A factory of instances of one backend; each worker thread makes its own.
struct BackendSource {
  std::string name;  // as the user gave it; reports show Description::name
  std::function<Result<std::unique_ptr<backend::Backend>>()> make;
  /// As `make`, with that many threads; empty where the backend has no such option.
  std::function<Result<std::unique_ptr<backend::Backend>>(int threads)> make_with_threads;
  /// The rules of the protocol that the backend breaks and no case shows, each with its clause. The
  /// subjects are of models that differ. Empty for backends in this process.
  std::function<std::vector<Error>(std::span<const ProbeSubject>)> probe;
  std::vector<ExpectedFailure> expected_failures;
  bool is_reference = false;  // its answers are the expected ones of cases without outputs
  bool single_runs = false;   // a case is one run of it, no session
};

/// The reference interpreter as a backend: every named arithmetic, "exact" first. With the name of
/// a deployment profile the nodes that it knows have its arithmetics, whichever is asked for: such
/// a backend conforms to none. `make` fails with kInvalid for a name that no profile has.
BackendSource ReferenceSource(format::Features features = format::Features::Current(),
                              std::string_view profile = {});

/// A backend in a process of its own, with what the harness needs beyond the four requests.
/// RunSuite detects such backends by dynamic_cast.
class IsolatedBackend : public backend::Backend {
 public:
  /// Begins a case: the requests that follow share its time limit and its error output.
  virtual void BeginCase() = 0;
  /// From now on that is the time limit, where it is less than ProcessOptions::timeout.
  virtual void LimitTime(std::chrono::milliseconds limit) = 0;
  /// The last 4096 bytes that it wrote to standard error.
  virtual std::string TakeErrorOutput() = 0;
  /// The error of the last Release, which a destructor cannot return.
  virtual std::optional<Error> TakeReleaseFault() = 0;
  /// Why no process could be started; the result then says nothing about the case.
  virtual std::optional<Error> StartFault() const = 0;
  /// Ends its process: what it does wrong then.
  virtual std::optional<Error> Close() = 0;
};

/// The longest answer of a backend in another process, unless told otherwise.
inline constexpr std::int64_t kFrameBytes = std::int64_t{1} << 28;

/// What a backend's process may do beside answering. `on`: it writes nowhere but in a folder of its
/// own (TMPDIR) and to devices, at most 1 GiB a file, and forges no input of the terminal.
/// `strict`: it also has no sockets, and reads only the system's folders, those of the files in its
/// command and in PATH, PYTHONPATH and LD_LIBRARY_PATH, and ProcessOptions::readable.
enum class Sandbox { kOff, kOn, kStrict };

struct ProcessOptions {
  std::chrono::milliseconds timeout = std::chrono::seconds(60);  // of a case: Prepare and Run
  std::int64_t memory_limit = 0;                                 // bytes of address space; 0: none
  std::int64_t frame_limit = kFrameBytes;  // of an answer; at most backend::kMaxFrameBytes
  // Where this kernel lacks what it takes, `on` does without, and `strict` is an error (kIo).
  Sandbox sandbox = Sandbox::kOn;
  std::vector<std::string> readable;  // further files and folders, where it is strict
};

/// Splits a command line at blanks; '...' and "..." group, \ escapes the next character. Errors:
/// kInvalid for an empty command or an open quote.
Result<std::vector<std::string>> SplitCommand(std::string_view command);

/// A backend in a process of its own, started by the command `words` without a shell. A process
/// that crashed, hung or broke the protocol is killed and restarted for the next case. Error codes
/// of the instances: kIo (the process ended), kTimeout, kProtocol, kSystem; the backend's own
/// answers are kUnsupported, kInvalid, kTooLarge, and kInternal for a failure that is its own.
BackendSource ProcessSource(std::string name, std::vector<std::string> words,
                            const ProcessOptions& options);
/// `command` (after "cmd:") is split at blanks; '...' and "..." group, \ takes the next character.
/// Errors: kInvalid for an empty command or an open quote.
Result<BackendSource> ProcessSource(std::string_view command, const ProcessOptions& options = {});

/// Kills all backend processes, which have process groups of their own and so do not receive this
/// program's signals. Safe in a signal handler.
void KillBackendProcesses();

/// From now on, processes that left the group of a backend's process are killed when the last
/// backend process has ended. For programs that start no other children: this process becomes the
/// parent of all orphans below it.
void AdoptOrphans();

/// The tensors of a wrong answer, for reports and diagnosis; names are those of the model.
struct Evidence {
  struct Value {
    std::string name;
    format::Tensor tensor;
  };
  std::vector<Value> inputs;  // with the constants of an operator case, which come first
  std::vector<Value> expected;
  std::vector<Value> got;
};
/// Evidence with more elements in total is not kept.
inline constexpr std::int64_t kMaxEvidenceElements = std::int64_t{1} << 20;

/// CaseResult::diagnosis if a backend rightly refused a model but named no clause.
inline constexpr std::string_view kClauseNotNamed = "refused, clause not named";
/// The same if it answered the case and declined other inputs of the same model.
inline constexpr std::string_view kOtherInputsDeclined = "declined other inputs";

/// A run of a model after the first of its case. Source: conformance_cases.md, "Sessions".
struct SessionRun {
  std::int64_t run = 1;      // among those of its handle
  std::int64_t handle = 1;   // a prepared model of the case
  std::int64_t threads = 0;  // that the backend was told to use; 0: nothing was said
  std::int64_t draw = 0;     // of the inputs; 0: those of the case
  bool at_once = false;      // while other threads ran the other handles
};

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
  ExpectationSource expectation = ExpectationSource::kReference;
  TextVerdict text = TextVerdict::kAbsent;  // of the text's own computation, on the expectation
  bool within_bound = false;  // a pass that only the tolerance or bound of the case allows
  /// One or more sentences, a reason, or an error; for a pass, empty or one of the above.
  std::string diagnosis;
  std::vector<std::string> explained_by;  // candidates that reproduce it: "float32", "half_away"
  std::vector<Difference> differences;
  std::optional<Evidence> evidence;     // of answers that differ
  bool unstable = false;                // a second run gave another answer
  std::optional<SessionRun> session;    // the run that failed, where the case's first was right
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
  std::vector<Error> protocol_faults;            // rules that no case shows, each with its clause
  double seconds = 0;                            // wall clock
  std::optional<Error> error;  // Describe failed, or the system starts no process; then no cases

  std::int64_t count(Outcome outcome) const { return counts[static_cast<std::size_t>(outcome)]; }
  /// Passes by ExpectationSource.
  std::array<std::int64_t, kExpectationSources> Passes() const;
};

struct Report {
  Provenance provenance;           // of this report
  std::vector<Provenance> merged;  // of the runs that it was merged from; none: it is of one run
  std::string suite;               // its folder
  std::string suite_digest;        // Suite::digest
  std::int64_t selected = 0;       // number of cases selected
  std::int64_t shard = 1;          // 1 .. shards
  std::int64_t shards = 1;
  std::vector<BackendReport> backends;
  std::vector<std::string> stale_expectations;  // of StaleExpectations
  bool strict_expectations = false;             // stale lines count as failures
  double min_coverage = 0;                      // percent of the cases that a backend must run

  /// The runs that the results come from.
  std::vector<Provenance> runs() const { return merged.empty() ? std::vector{provenance} : merged; }
};

class Journal;

/// The callbacks are called from one thread at a time.
struct RunOptions {
  std::vector<std::string> arithmetics;      // empty: all that the case and the backend share
  int jobs = 1;                              // worker threads per backend
  std::function<void(std::size_t)> planned;  // called once with the number of results
  std::function<void(const std::string&)> started;  // called with a case's id
  std::function<void(const CaseResult&)> progress;  // called with its result
  format::Features features =
      format::Features::Current();            // features of the spec that cases are held to
  Journal* journal = nullptr;                 // recorded results are reused, new ones are added
  const TextAnswers* text_answers = nullptr;  // what expectations are held to; may be null
  DiagnosisBudget diagnosis;                  // of each row
};

/// Runs every case in every arithmetic that it and the backend share, backend after backend. The
/// reference computes missing expected results once for all backends. In-process backends are not
/// interrupted by the timeout.
Report RunSuite(const std::string& suite, std::span<const Case> cases,
                std::span<const BackendSource> backends, const RunOptions& options);

/// How many cases of a backend, in all its arithmetics, were run: it did not decline them.
struct Coverage {
  std::string name;
  std::int64_t run = 0;
  std::int64_t cases = 0;
  bool conforms = true;  // its rows conform, and enough was run; of a shard any number is enough
  double percent() const;
};
/// Of each backend, in the order of the report.
std::vector<Coverage> CoverageOf(const Report& report);

/// True when there is no outcome that Fails, no fault of the protocol, and no error.
bool Conforms(const BackendReport& row);
/// True when every backend conforms, one case or more and min_coverage percent of each one's cases
/// were run, and with strict_expectations no expectation is stale.
bool Conforms(const Report& report);

}  // namespace qtx::conformance
