#include "long_session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "guarded.h"
#include "qtx/format/model.h"

namespace qtx::conformance {
namespace {

using Clock = std::chrono::steady_clock;
using format::Tensor;
using Outputs = std::vector<Tensor>;

constexpr std::size_t kInTurn = 3;  // handles; what a process MUST be able to hold
constexpr int kBetweenPauses = 64;  // rounds after which no handle is left

// Prepared models of one subject, and its first answers.
struct ModelInSession {
  format::Model model;
  const ProbeSubject* subject = nullptr;
  std::array<std::unique_ptr<backend::PreparedModel>, kInTurn> handles;
  std::array<std::optional<Result<Outputs>>, 2> firsts;  // answers to the own and to the others
};

class LongSession {
 public:
  LongSession(backend::Backend& backend, std::vector<ModelInSession> asked)
      : backend_(backend), asked_(std::move(asked)) {}

  std::optional<Error> Run() {
    if (auto* isolated = dynamic_cast<IsolatedBackend*>(&backend_)) isolated->BeginCase();
    for (int round = 0; round < kLongRounds && Goes(); ++round) Ask(round);
    return std::move(fault_);
  }

 private:
  static constexpr int kRuns = kLongRuns / kLongRounds;
  static constexpr int kHandles = kLongHandles / kLongRounds;

  bool Goes() const { return !fault_ && Clock::now() < end_; }

  void Ask(int round) {
    ModelInSession& own = asked_[0];
    if (round % kBetweenPauses == 0) {
      for (ModelInSession& each : asked_) each.handles = {};
      for (ModelInSession& each : asked_) Prepare(each, 0);
    }
    for (int i = 0; i < kRuns && Goes(); ++i) Ask(own, 0, i % 3 == 2);
    for (int i = 0; i < kHandles && Goes(); ++i) {
      if (Prepare(own, 1)) Ask(own, 1, i % 2 == 1);
      own.handles[1].reset();
    }
    for (std::size_t i = 1; i < kInTurn && Goes(); ++i) Prepare(own, i);
    for (int i = 0; i < kHandles && Goes(); ++i) {
      Ask(own, static_cast<std::size_t>(round + i) % kInTurn, i % 2 == 1);
    }
    for (std::size_t i = 1; i < kInTurn; ++i) own.handles[i].reset();
    for (std::size_t i = 1; i < asked_.size() && Goes(); ++i) Ask(asked_[i], 0, round % 2 == 1);
  }

  bool Prepare(ModelInSession& asked, std::size_t handle) {
    auto prepared =
        Guarded([&] { return backend_.Prepare(asked.model, asked.subject->arithmetic); });
    if (prepared) {
      asked.handles[handle] = *std::move(prepared);
      ++prepared_;
      return true;
    }
    Blame("S8", prepared.error().Text() + ", expected a handle");
    return false;
  }

  void Ask(ModelInSession& asked, std::size_t handle, bool other) {
    const ProbeSubject& subject = *asked.subject;
    if (other && subject.others.empty()) other = false;
    ++runs_;
    auto outputs = Guarded(
        [&] { return asked.handles[handle]->Run(other ? subject.others : subject.inputs); });
    // Other inputs may be declined, which every run must do.
    std::optional<Result<Outputs>>& first = asked.firsts[other ? 1 : 0];
    if (!first) {
      if (!outputs && !other) Blame("S9", outputs.error().Text() + ", expected an answer");
      first = std::move(outputs);
    } else if (first->has_value() != outputs.has_value()) {
      const Error& error = outputs ? first->error() : outputs.error();
      Blame("S9",
            (outputs ? "found an answer, before " : "") + error.Text() + ", expected the same");
    } else if (outputs && *outputs != **first) {
      Blame("S9", "found another answer than before to the same inputs, expected the same");
    }
  }

  void Blame(const std::string& clause, std::string message) {
    fault_ = Error{ErrorCode::kProtocol,
                   "run " + std::to_string(runs_) + " of " + std::to_string(prepared_) +
                       (prepared_ == 1 ? " handle" : " handles") +
                       (asked_.size() == 1 ? " of one model" : " of models in turn"),
                   std::move(message), "backend_protocol." + clause};
  }

  backend::Backend& backend_;
  std::vector<ModelInSession> asked_;
  const Clock::time_point end_ = Clock::now() + std::chrono::seconds(kLongSeconds);
  int runs_ = 0;
  int prepared_ = 0;
  std::optional<Error> fault_;
};

}  // namespace

std::optional<Error> FaultOfLongSession(const BackendSource& source,
                                        std::span<const ProbeSubject> subjects) {
  constexpr std::size_t kModels = 4;
  const auto backend = source.make();
  std::vector<ModelInSession> asked;
  for (const ProbeSubject& subject : subjects.first(std::min(kModels, subjects.size()))) {
    auto model = format::Model::Parse(subject.model);
    if (!model) return std::nullopt;  // told by the cases
    asked.push_back({*std::move(model), &subject, {}, {}});
  }
  if (!backend || asked.empty()) return std::nullopt;  // told by the cases
  return LongSession(**backend, std::move(asked)).Run();
}

}  // namespace qtx::conformance
