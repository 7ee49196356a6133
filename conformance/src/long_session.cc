#include "long_session.h"

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

constexpr int kInTurn = 3;  // handles; what a process MUST be able to hold

class LongSession {
 public:
  LongSession(backend::Backend& backend, format::Model model, const ProbeSubject& subject)
      : backend_(backend), model_(std::move(model)), subject_(subject) {}

  std::optional<Error> Run() {
    if (auto* isolated = dynamic_cast<IsolatedBackend*>(&backend_)) isolated->BeginCase();
    if (!Prepare(0)) return std::move(fault_);
    for (int i = 0; i < kLongRuns && Goes(); ++i) Ask(0, i % 3 == 2);
    for (int i = 0; i < kLongHandles && Goes(); ++i) {
      if (Prepare(1)) Ask(1, i % 2 == 1);
      handles_[1].reset();
    }
    for (std::size_t i = 1; i < kInTurn && Goes(); ++i) Prepare(i);
    for (int i = 0; i < kLongHandles && Goes(); ++i)
      Ask(static_cast<std::size_t>(i) % kInTurn, i % 2 == 1);
    return std::move(fault_);
  }

 private:
  bool Goes() const { return !fault_ && Clock::now() < end_; }

  bool Prepare(std::size_t handle) {
    auto prepared = Guarded([&] { return backend_.Prepare(model_, subject_.arithmetic); });
    if (prepared) {
      handles_[handle] = *std::move(prepared);
      ++prepared_;
      return true;
    }
    Blame(prepared.error().Text() + ", expected a handle");
    return false;
  }

  void Ask(std::size_t handle, bool other) {
    if (other && subject_.others.empty()) other = false;
    ++runs_;
    auto outputs =
        Guarded([&] { return handles_[handle]->Run(other ? subject_.others : subject_.inputs); });
    // Other inputs may be declined, which every run must do.
    std::optional<Result<Outputs>>& first = firsts_[other ? 1 : 0];
    if (!first) {
      if (!outputs && !other) Blame(outputs.error().Text() + ", expected an answer");
      first = std::move(outputs);
    } else if (first->has_value() != outputs.has_value()) {
      const Error& error = outputs ? first->error() : outputs.error();
      Blame((outputs ? "found an answer, before " : "") + error.Text() + ", expected the same");
    } else if (outputs && *outputs != **first) {
      Blame("found another answer than before to the same inputs, expected the same");
    }
  }

  void Blame(std::string message) {
    fault_ = Error{ErrorCode::kProtocol,
                   "run " + std::to_string(runs_) + " of " + std::to_string(prepared_) +
                       (prepared_ == 1 ? " handle" : " handles") + " of one model",
                   std::move(message), "backend_protocol.S9"};
  }

  backend::Backend& backend_;
  format::Model model_;
  const ProbeSubject& subject_;
  const Clock::time_point end_ = Clock::now() + std::chrono::seconds(kLongSeconds);
  std::array<std::unique_ptr<backend::PreparedModel>, kInTurn> handles_;
  std::array<std::optional<Result<Outputs>>, 2> firsts_;  // answers to the own and to the others
  int runs_ = 0;
  int prepared_ = 0;
  std::optional<Error> fault_;
};

}  // namespace

std::optional<Error> FaultOfLongSession(const BackendSource& source, const ProbeSubject& subject) {
  auto model = format::Model::Parse(subject.model);
  const auto backend = source.make();
  if (!model || !backend) return std::nullopt;  // told by the cases
  return LongSession(**backend, *std::move(model), subject).Run();
}

}  // namespace qtx::conformance
