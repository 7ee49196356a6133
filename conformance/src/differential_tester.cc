#include "differential_tester.h"

#include <algorithm>
#include <utility>

#include "compare.h"
#include "guarded.h"
#include "qtx/conformance/diagnosis.h"
#include "qtx/format/check.h"
#include "qtx/reference/interpreter.h"

namespace qtx::conformance {
namespace {

using format::Tensor;

VerdictKind KindOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnsupported:
      return VerdictKind::kUnsupported;
    case ErrorCode::kTimeout:
      return VerdictKind::kTimeout;
    case ErrorCode::kProtocol:
      return VerdictKind::kProtocolError;
    case ErrorCode::kIo:
    case ErrorCode::kSystem:
      return VerdictKind::kCrash;
    case ErrorCode::kInvalid:
    case ErrorCode::kTooLarge:
    case ErrorCode::kInternal:
    case ErrorCode::kUnreadable:
    case ErrorCode::kMemory:
    case ErrorCode::kUsage:
      break;
  }
  return VerdictKind::kRefused;
}

Result<std::vector<Tensor>> Answer(backend::Backend& backend, const format::Model& model,
                                   const std::string& arithmetic,
                                   const std::vector<Tensor>& inputs) {
  return Guarded([&]() -> Result<std::vector<Tensor>> {
    QTX_ASSIGN_OR_RETURN(const auto prepared, backend.Prepare(model, arithmetic));
    return prepared->Run(inputs);
  });
}

}  // namespace

std::string_view Name(VerdictKind kind) {
  constexpr std::string_view kNames[] = {"pass",    "invalid",   "unsupported",
                                         "differs", "misshapen", "refused",
                                         "crash",   "timeout",   "protocol error"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<std::vector<Tensor>> ReferenceAnswer(const format::Model& model,
                                                   const std::vector<Tensor>& inputs,
                                                   const std::string& arithmetic) {
  if (!format::Check(model).empty()) return std::nullopt;
  auto interpreter = reference::Interpreter::Prepare(model, arithmetic);
  if (!interpreter) return std::nullopt;
  auto outputs = interpreter->Run(inputs);
  if (!outputs) return std::nullopt;
  return *std::move(outputs);
}

Result<DifferentialTester> DifferentialTester::Make(const BackendSource& source,
                                                    std::string arithmetic, const Case& tolerance) {
  QTX_ASSIGN_OR_RETURN(auto backend, source.make());
  QTX_ASSIGN_OR_RETURN(const backend::Description description, backend->Describe());
  const auto& known = description.arithmetics;
  if (arithmetic.empty() && !known.empty()) arithmetic = known.front();
  if (std::ranges::find(known, arithmetic) == known.end()) {
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    return Error{ErrorCode::kInvalid, "arithmetic '" + arithmetic + "'",
                 "backend '" + source.name + "' has " + names};
  }
  return DifferentialTester(std::move(backend), std::move(arithmetic), tolerance);
}

Tolerance DifferentialTester::tolerance() const { return ToleranceOf(tolerance_); }

bool DifferentialTester::Spent(const Budget& budget) const {
  constexpr std::int64_t kMaxTimeouts = 20;  // each costs the whole time limit
  return runs_ >= budget.max_runs || timeouts_ >= kMaxTimeouts ||
         std::chrono::steady_clock::now() >= budget.until;
}

bool DifferentialTester::Accepts(const TestModel& test) const {
  return ReferenceAnswer(ToModel(test), InputsOf(test), arithmetic_).has_value();
}

Verdict DifferentialTester::Run(const TestModel& test) {
  const std::vector<Tensor> inputs = InputsOf(test);
  auto expected = ReferenceAnswer(ToModel(test), inputs, arithmetic_);
  if (!expected) return {};
  Verdict verdict;
  verdict.expected = *std::move(expected);
  const format::Model model = ToModel(test, verdict.expected);
  if (!format::Check(model).empty()) return {};
  Ask(model, inputs, verdict);
  return verdict;
}

Verdict DifferentialTester::Run(const format::Model& model, const std::vector<Tensor>& inputs) {
  auto expected = ReferenceAnswer(model, inputs, arithmetic_);
  if (!expected) return {};
  Verdict verdict;
  verdict.expected = *std::move(expected);
  Ask(model, inputs, verdict);
  return verdict;
}

void DifferentialTester::Ask(const format::Model& model, const std::vector<Tensor>& inputs,
                             Verdict& verdict) {
  ++runs_;
  verdict.kind = VerdictKind::kPass;
  auto got = Answer(*backend_, model, arithmetic_, inputs);
  if (!got) {
    verdict.kind = KindOf(got.error().code);
    verdict.detail = got.error().Text();
    if (verdict.kind == VerdictKind::kTimeout) ++timeouts_;
    return;
  }
  verdict.got = *std::move(got);
  if (verdict.got.size() != verdict.expected.size()) {
    verdict.kind = VerdictKind::kMisshapen;
    verdict.detail = "gave " + std::to_string(verdict.got.size()) + " outputs, expected " +
                     std::to_string(verdict.expected.size());
    return;
  }
  for (std::size_t i = 0; i < verdict.got.size(); ++i) {
    const auto difference =
        Compare(tolerance_, model.graph.outputs[i].name, verdict.got[i], verdict.expected[i]);
    if (!difference) continue;
    verdict.detail += (verdict.detail.empty() ? "" : "; ") + Describe(*difference);
    verdict.kind = std::max(verdict.kind, difference->mismatch.empty() ? VerdictKind::kDiffers
                                                                       : VerdictKind::kMisshapen);
  }
}

}  // namespace qtx::conformance
