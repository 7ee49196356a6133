#include "differential_tester.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "compare.h"
#include "draw.h"
#include "guarded.h"
#include "qtx/conformance/diagnosis.h"
#include "qtx/format/check.h"
#include "qtx/format/scopes.h"
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
  constexpr std::string_view kNames[] = {"pass",      "invalid",       "unsupported", "differs",
                                         "misshapen", "refused",       "unstable",    "crash",
                                         "timeout",   "protocol error"};
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

Result<Observed> Observe(const format::Model& model, const std::vector<Tensor>& inputs,
                         const std::string& arithmetic) {
  Observed observed;
  std::size_t next = 0;
  for (const format::ValueInfo& info : model.graph.inputs) {
    if (model.graph.FindInitializer(info.name) == nullptr && next < inputs.size()) {
      observed[info.name] = inputs[next++];
    }
  }
  QTX_ASSIGN_OR_RETURN(auto interpreter, reference::Interpreter::Prepare(model, arithmetic));
  interpreter.set_observer([&observed](const std::string& name, const Tensor& tensor) {
    if (!format::IsOfBody(name)) observed[name] = tensor;
  });
  QTX_RETURN_IF_ERROR(interpreter.Run(inputs));
  return observed;
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

void DifferentialTester::LimitTime(std::chrono::milliseconds limit) {
  if (auto* isolated = dynamic_cast<IsolatedBackend*>(backend_.get())) isolated->LimitTime(limit);
}

bool DifferentialTester::Accepts(const TestModel& test) const {
  return ReferenceAnswer(ToModel(test), InputsOf(test), arithmetic_).has_value();
}

Verdict DifferentialTester::Run(const TestModel& test) {
  auto expected = ReferenceAnswer(ToModel(test), InputsOf(test), arithmetic_);
  return expected ? Run(test, *std::move(expected)) : Verdict{};
}

Verdict DifferentialTester::Run(const TestModel& test, std::vector<Tensor> expected) {
  const format::Model model = ToModel(test, expected);
  if (!format::Check(model).empty()) return {};
  Verdict verdict;
  verdict.expected = std::move(expected);
  Ask(model, InputsOf(test), verdict);
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

// The draws of a model's inputs that the reference computes.
class DifferentialTester::Draws {
 public:
  Draws(const format::Model& model, const std::string& arithmetic,
        const std::vector<Tensor>& inputs, const std::vector<Tensor>& expected)
      : model_(model), interpreter_(reference::Interpreter::Prepare(model, arithmetic)) {
    known_.emplace(0, Draw{inputs, expected});
  }

  /// nullptr: there is none.
  const std::vector<Tensor>* Inputs(std::int64_t draw) {
    if (!known_.contains(draw)) known_.emplace(draw, Make(draw));
    const auto& found = known_.at(draw);
    return found ? &found->inputs : nullptr;
  }
  /// REQUIRES: Inputs(draw) has found it.
  const std::vector<Tensor>& Expected(std::int64_t draw) const { return known_.at(draw)->expected; }

 private:
  struct Draw {
    std::vector<Tensor> inputs, expected;
  };
  std::optional<Draw> Make(std::int64_t draw) {
    if (!interpreter_) return std::nullopt;
    for (std::vector<Tensor>& drawn : DrawAgain(model_, known_.at(0)->inputs, draw)) {
      auto expected = interpreter_->Run(drawn);
      if (expected) return Draw{std::move(drawn), *std::move(expected)};
    }
    return std::nullopt;
  }

  const format::Model& model_;
  Result<reference::Interpreter> interpreter_;
  std::map<std::int64_t, std::optional<Draw>> known_;
};

std::vector<SessionAnswer> DifferentialTester::AskAll(const format::Model& model, Draws& draws) {
  if (auto* isolated = dynamic_cast<IsolatedBackend*>(backend_.get())) isolated->BeginCase();
  const auto drawn = [&draws](std::int64_t draw) { return draws.Inputs(draw); };
  auto answers = RunSession(*backend_, model, arithmetic_, session_, 0, drawn);
  if (at_once_ && answers.front().outputs && backend_->RunsAtOnce()) {
    for (std::int64_t draw = 1; draw < kSessionDraws; ++draw) (void)draws.Inputs(draw);
    auto others = RunSessionAtOnce(*backend_, model, arithmetic_, 0, drawn);
    std::ranges::move(others, std::back_inserter(answers));
  }
  runs_ += std::ssize(answers);
  return answers;
}

// The verdict on the first answer that is wrong: in itself, or as it differs from the first to the
// same inputs. Other inputs may be declined, if they always are.
void DifferentialTester::AskSession(const format::Model& model, const std::vector<Tensor>& inputs,
                                    Verdict& verdict) {
  Draws draws(model, arithmetic_, inputs, verdict.expected);
  std::map<std::int64_t, VerdictKind> firsts;
  const std::vector<SessionAnswer> answers = AskAll(model, draws);
  for (const SessionAnswer& answer : answers) {
    const std::int64_t draw = answer.run.draw;
    JudgeAnswer(model, answer.outputs, draws.Expected(draw), verdict);
    const auto [first, is_first] = firsts.emplace(draw, verdict.kind);
    if (first->second != verdict.kind && verdict.kind < VerdictKind::kCrash) {
      if (verdict.detail.empty()) verdict.detail = "answers what it declined before";
      verdict.kind = VerdictKind::kUnstable;
    } else if (verdict.kind == VerdictKind::kUnsupported && draw != 0) {
      verdict.kind = VerdictKind::kPass;
    }
    if (verdict.kind == VerdictKind::kPass) continue;
    if (&answer == &answers.front()) return;
    verdict.run = answer.run;
    verdict.inputs = *draws.Inputs(draw);
    verdict.detail = Describe(answer.run) + ": " + verdict.detail;
    verdict.got.clear();  // of other inputs than those of `expected`
    return;
  }
}

void DifferentialTester::Ask(const format::Model& model, const std::vector<Tensor>& inputs,
                             Verdict& verdict) {
  if (session_.kind == SessionKind::kSingle) {
    ++runs_;
    JudgeAnswer(model, Answer(*backend_, model, arithmetic_, inputs), verdict.expected, verdict);
  } else {
    AskSession(model, inputs, verdict);
  }
  if (progress_) progress_(runs_);
}

void DifferentialTester::JudgeAnswer(const format::Model& model,
                                     const Result<std::vector<Tensor>>& got,
                                     const std::vector<Tensor>& expected, Verdict& verdict) {
  verdict.kind = VerdictKind::kPass;
  verdict.detail.clear();
  if (!got) {
    verdict.kind = KindOf(got.error().code);
    verdict.detail = got.error().Text();
    if (verdict.kind == VerdictKind::kTimeout) ++timeouts_;
    return;
  }
  verdict.got = *got;
  if (got->size() != expected.size()) {
    verdict.kind = VerdictKind::kMisshapen;
    verdict.detail = "gave " + std::to_string(got->size()) + " outputs, expected " +
                     std::to_string(expected.size());
    return;
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto difference =
        Compare(tolerance_, model.graph.outputs[i].name, (*got)[i], expected[i]);
    if (!difference) continue;
    verdict.detail += (verdict.detail.empty() ? "" : "; ") + Describe(*difference);
    verdict.kind = std::max(verdict.kind, difference->mismatch.empty() ? VerdictKind::kDiffers
                                                                       : VerdictKind::kMisshapen);
  }
}

}  // namespace qtx::conformance
