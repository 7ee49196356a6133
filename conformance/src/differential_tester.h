// Differential testing: runs a model on a backend and on the reference, and compares the outputs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/conformance/runner.h"
#include "session.h"
#include "test_model.h"

namespace qtx::conformance {

/// How a run ended; from kDiffers on the backend is at fault.
enum class VerdictKind {
  kPass,
  kInvalid,      // the checker or the reference refuses the model: the backend is not run
  kUnsupported,  // the backend says so
  kDiffers,      // elements differ
  kMisshapen,    // number, types or shapes of the outputs differ
  kRefused,      // the backend calls it invalid
  kUnstable,     // the backend answers the same request in another way than before
  kCrash,
  kTimeout,
  kProtocolError,
};
inline bool IsFault(VerdictKind kind) { return kind >= VerdictKind::kDiffers; }
std::string_view Name(VerdictKind kind);  // "differs", "protocol error"

struct Verdict {
  VerdictKind kind = VerdictKind::kInvalid;
  std::string detail;  // one sentence; empty for a pass
  std::vector<format::Tensor> expected;
  std::vector<format::Tensor> got;
  // Of a session that went wrong after its first run: the run, and the inputs it was asked with.
  std::optional<SessionRun> run;
  std::vector<format::Tensor> inputs;
};

/// The outputs of the reference; nullopt where it or the checker refuses the model.
std::optional<std::vector<format::Tensor>> ReferenceAnswer(
    const format::Model& model, const std::vector<format::Tensor>& inputs,
    const std::string& arithmetic);

/// Every value of the model outside of bodies, as the reference computes it.
/// Errors: those of the interpreter.
Result<Observed> Observe(const format::Model& model, const std::vector<format::Tensor>& inputs,
                         const std::string& arithmetic);

/// What a search may cost: runs of the backend, counted from the tester's first, and time.
struct Budget {
  std::int64_t max_runs = 0;
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
};

/// Runs models in one arithmetic and counts the runs. Deterministic if the backend is.
class DifferentialTester {
 public:
  /// Errors: those of the source and of Describe; kInvalid when the backend lacks the arithmetic.
  /// An empty `arithmetic` is the backend's first. `tolerance` is read for its ulp and close.
  static Result<DifferentialTester> Make(const BackendSource& source, std::string arithmetic,
                                         const Case& tolerance = {});

  const std::string& arithmetic() const { return arithmetic_; }
  const Case& tolerance_case() const { return tolerance_; }
  Tolerance tolerance() const;
  std::int64_t runs() const { return runs_; }
  /// Called after each run with runs().
  void set_progress(std::function<void(std::int64_t)> progress) { progress_ = std::move(progress); }
  /// True if nothing of the budget is left, or too many runs were timeouts.
  bool Spent(const Budget& budget) const;

  /// From now on a process has at most that long for a request.
  void LimitTime(std::chrono::milliseconds limit);

  /// From now on each run is a session of that kind: what it asks beyond the first run is judged,
  /// too. `at_once`: handles in several threads besides, where the backend declares it.
  void AskSessions(Session session, bool at_once) {
    session_ = session;
    at_once_ = at_once;
  }

  Verdict Run(const TestModel& test);
  Verdict Run(const format::Model& model, const std::vector<format::Tensor>& inputs);
  /// Of a test whose answers are known to be `expected`.
  Verdict Run(const TestModel& test, std::vector<format::Tensor> expected);
  /// True if the checker and the reference accept it. Does not run the backend.
  bool Accepts(const TestModel& test) const;

 private:
  class Draws;

  DifferentialTester(std::unique_ptr<backend::Backend> backend, std::string arithmetic,
                     Case tolerance)
      : backend_(std::move(backend)),
        arithmetic_(std::move(arithmetic)),
        tolerance_(std::move(tolerance)) {}
  void Ask(const format::Model& model, const std::vector<format::Tensor>& inputs, Verdict& verdict);
  void AskSession(const format::Model& model, const std::vector<format::Tensor>& inputs,
                  Verdict& verdict);
  std::vector<SessionAnswer> AskAll(const format::Model& model, Draws& draws);
  void JudgeAnswer(const format::Model& model, const Result<std::vector<format::Tensor>>& got,
                   const std::vector<format::Tensor>& expected, Verdict& verdict);

  std::unique_ptr<backend::Backend> backend_;
  std::string arithmetic_;
  Case tolerance_;
  Session session_;
  bool at_once_ = false;
  std::int64_t runs_ = 0;
  std::function<void(std::int64_t)> progress_;
  std::int64_t timeouts_ = 0;
};

}  // namespace qtx::conformance
