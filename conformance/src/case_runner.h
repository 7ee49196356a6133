// Runs one case on one backend.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "oracle.h"
#include "qtx/backend/backend.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/model.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// The inputs with their elements reversed (packed types unchanged). nullopt if other values could
/// change shapes or be indices out of range.
std::optional<std::vector<format::Tensor>> Reversed(const std::vector<format::Tensor>& inputs);

class CaseRunner {
 public:
  CaseRunner(const BackendSource& source, backend::Backend& backend, Oracle& oracle)
      : source_(source),
        backend_(backend),
        isolated_(dynamic_cast<IsolatedBackend*>(&backend)),
        oracle_(oracle) {}

  /// Fills outcome, expectation, diagnosis and differences. Reads `result.arithmetic`.
  void Run(const Case& c, std::size_t index, CaseResult& result);

  /// Why `Run` found no process; the result then says nothing about the case.
  std::optional<Error> start_fault() const {
    return isolated_ == nullptr ? std::nullopt : isolated_->StartFault();
  }

 private:
  using Outputs = std::vector<format::Tensor>;

  void RunAndJudge(const Case& c, std::size_t index, CaseResult& result);
  void RunRefusal(const Case& c, const format::Model& model, CaseResult& result);
  std::optional<Error> ErrorOf(const Case& c, const format::Model& model, bool run,
                               CaseResult& result);
  /// Results of the second run.
  struct Repeat {
    std::vector<format::Tensor> inputs;  // reversed elements
    std::optional<Outputs> others;       // the answer to `inputs`; nullopt if refused
    std::optional<Outputs>
        outputs;  // then the answer to the case's own inputs; in-process backends only
  };
  /// Fills `again`, if given, when the inputs can be reversed.
  Result<Outputs> Answer(const format::Model& model, const std::string& arithmetic,
                         const std::vector<format::Tensor>& inputs,
                         std::optional<Repeat>* again = nullptr);
  /// Like Answer, for a backend whose process may end.
  Result<Outputs> Ask(const format::Model& model, const std::string& arithmetic,
                      const std::vector<format::Tensor>& inputs, std::optional<Repeat>* again);
  void JudgeOthers(const Case& c, std::size_t index, const format::Model& model,
                   const Repeat& again, CaseResult& result);
  static void JudgeAgain(const format::Model& model, const std::vector<format::Tensor>& inputs,
                         const Outputs& outputs, const Outputs& again, CaseResult& result);
  /// Errors: no expectation, due to the case or the reference.
  Result<void> Judge(const Case& c, std::size_t index, const format::Model& model,
                     const std::vector<format::Tensor>& inputs, const Outputs& outputs,
                     CaseResult& result);

  const BackendSource& source_;
  backend::Backend& backend_;
  IsolatedBackend* isolated_;  // the same, when it is one
  Oracle& oracle_;
};

}  // namespace qtx::conformance
