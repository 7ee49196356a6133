// Runs one case on one backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oracle.h"
#include "qtx/backend/backend.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/model.h"
#include "qtx/format/tensor.h"
#include "session.h"

namespace qtx::conformance {

/// How the diagnosis of an error that is no decline begins.
inline constexpr std::string_view kRefusedText = "refused: ";

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

  /// The draws of a case's inputs that the reference computes, each made when it is first asked
  /// for.
  class Draws {
   public:
    Draws(ReferenceResults& references, std::size_t index, const format::Model& model,
          std::string arithmetic, const std::vector<format::Tensor>& own)
        : references_(references),
          index_(index),
          model_(model),
          arithmetic_(std::move(arithmetic)),
          own_(own) {}
    /// nullptr: there is none. Draw 0 is the case's own.
    const std::vector<format::Tensor>* Inputs(std::int64_t draw);
    const std::vector<format::Tensor>* Inputs(std::int64_t draw) const;
    /// REQUIRES: draw > 0, and Inputs(draw) has found it.
    const Outputs& Expected(std::int64_t draw) const { return draws_.at(draw)->expected; }

   private:
    struct Draw {
      std::vector<format::Tensor> inputs;
      Outputs expected;
    };
    std::optional<Draw> Make(std::int64_t draw);

    ReferenceResults& references_;
    std::size_t index_;
    const format::Model& model_;
    std::string arithmetic_;
    const std::vector<format::Tensor>& own_;
    std::map<std::int64_t, std::optional<Draw>> draws_;
  };

  Session SessionOf(const Case& c) const;
  /// The answers of this instance and, in a thorough session, of instances with other threads. The
  /// first is that to the case itself.
  std::vector<SessionAnswer> AskAll(Session session, const format::Model& model,
                                    const std::string& arithmetic, Draws& draws);
  static void JudgeSession(const Case& c, const format::Model& model, const Draws& draws,
                           std::span<const SessionAnswer> answers, CaseResult& result);
  static void TellChange(const format::Model& model, const Draws& draws, const SessionAnswer& first,
                         const SessionAnswer& answer, CaseResult& result);
  static void JudgeDraw(const Case& c, const format::Model& model, const Draws& draws,
                        const SessionAnswer& answer, CaseResult& result);
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
