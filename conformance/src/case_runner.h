// One case on one backend, and the results of the reference that several backends are held to.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/feature.h"
#include "qtx/format/model.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// What the reference answers, computed once per case and arithmetic. Safe to share among threads.
class ReferenceResults {
 public:
  using Outputs = std::vector<format::Tensor>;
  explicit ReferenceResults(format::Features features) : features_(features) {}
  format::Features features() const { return features_; }
  /// `index` is the case's; `arithmetic` may have a word after it, for other inputs of the case.
  /// Errors: those of Interpreter::Prepare and Run.
  Result<Outputs> Get(std::size_t index, const std::string& arithmetic, const format::Model& model,
                      const std::vector<format::Tensor>& inputs);
  /// What the reference itself, run as a backend, has just answered.
  void Put(std::size_t index, const std::string& arithmetic, const Outputs& outputs);

 private:
  format::Features features_;
  std::mutex mutex_;
  std::map<std::pair<std::size_t, std::string>, Outputs> outputs_;
};

/// Other values of the same types: the elements back to front, packed ones as they are. nullopt
/// where other values might ask for another shape, or be indices out of range.
std::optional<std::vector<format::Tensor>> Reversed(const std::vector<format::Tensor>& inputs);

class CaseRunner {
 public:
  CaseRunner(const BackendSource& source, backend::Backend& backend, ReferenceResults& references)
      : source_(source),
        backend_(backend),
        isolated_(dynamic_cast<IsolatedBackend*>(&backend)),
        references_(references) {}

  /// Fills outcome, diagnosis and differences; `result.arithmetic` says in which arithmetic.
  void Run(const Case& c, std::size_t index, CaseResult& result);

  /// False when there was no process to ask, so that `Run` found out nothing of the case.
  bool reached() const { return isolated_ == nullptr || isolated_->Reached(); }

 private:
  using Outputs = std::vector<format::Tensor>;

  void RunAndJudge(const Case& c, std::size_t index, CaseResult& result);
  void RunRefusal(const Case& c, const format::Model& model, CaseResult& result);
  std::optional<Error> ErrorOf(const Case& c, const format::Model& model, bool run,
                               CaseResult& result);
  /// What came of asking again.
  struct Repeat {
    std::vector<format::Tensor> inputs;  // the elements back to front
    std::optional<Outputs> others;       // the answer to those; nullopt when they were refused
    std::optional<Outputs> outputs;      // to the case's own, after them; in this process only
  };
  /// `again`, where given, is filled when the inputs have other values of the same types.
  Result<Outputs> Answer(const format::Model& model, const std::string& arithmetic,
                         const std::vector<format::Tensor>& inputs,
                         std::optional<Repeat>* again = nullptr);
  /// Answer, of a backend that may end its process.
  Result<Outputs> Ask(const format::Model& model, const std::string& arithmetic,
                      const std::vector<format::Tensor>& inputs, std::optional<Repeat>* again);
  void JudgeOthers(const Case& c, std::size_t index, const format::Model& model,
                   const Repeat& again, CaseResult& result);
  static void JudgeAgain(const format::Model& model, const std::vector<format::Tensor>& inputs,
                         const Outputs& outputs, const Outputs& again, CaseResult& result);
  /// Errors: the expectation cannot be had, which is the case's fault or the reference's.
  Result<void> Judge(const Case& c, std::size_t index, const format::Model& model,
                     const std::vector<format::Tensor>& inputs, const Outputs& outputs,
                     CaseResult& result);

  const BackendSource& source_;
  backend::Backend& backend_;
  IsolatedBackend* isolated_;  // the same, when it is one
  ReferenceResults& references_;
};

}  // namespace qtx::conformance
