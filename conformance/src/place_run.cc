// Places that the number of the run, other inputs, other prepared models or threads decide.
#include <algorithm>
#include <optional>
#include <utility>

#include "candidate.h"
#include "differential_tester.h"
#include "draw.h"
#include "place.h"
#include "session.h"

namespace qtx::conformance {
namespace {

using format::Tensor;

// What a backend is asked in each attempt: inputs by their draw, with the expected outputs.
struct Asking {
  const format::Model& model;
  const std::string& arithmetic;
  std::vector<std::vector<Tensor>> inputs;
  std::vector<Outputs> expected;

  DrawnInputs Drawn() const {
    return [this](std::int64_t draw) {
      return draw < std::ssize(inputs) ? &inputs[static_cast<std::size_t>(draw)] : nullptr;
    };
  }
  bool IsWrong(const SessionAnswer& answer) const {
    return !answer.outputs ||
           !SameOutputs(*answer.outputs, expected[static_cast<std::size_t>(answer.run.draw)]);
  }
};

using MakeBackend = std::function<Result<std::unique_ptr<backend::Backend>>()>;

// The first wrong answer of a session on a fresh instance.
std::optional<SessionRun> FirstWrong(const MakeBackend& make, SessionKind kind, bool at_once,
                                     const Asking& asking) {
  const auto backend = make();
  if (!backend || (at_once && !(*backend)->RunsAtOnce())) return std::nullopt;
  if (auto* isolated = dynamic_cast<IsolatedBackend*>(backend->get())) isolated->BeginCase();
  const auto answers =
      at_once ? RunSessionAtOnce(**backend, asking.model, asking.arithmetic, 0, asking.Drawn())
              : RunSession(**backend, asking.model, asking.arithmetic, {kind}, 0, asking.Drawn());
  const auto wrong =
      std::ranges::find_if(answers, [&](const auto& answer) { return asking.IsWrong(answer); });
  return wrong == answers.end() ? std::nullopt : std::optional(wrong->run);
}

// The same place of two attempts.
std::optional<SessionRun> Twice(const MakeBackend& make, SessionKind kind, bool at_once,
                                const Asking& asking) {
  const auto first = FirstWrong(make, kind, at_once, asking);
  if (!first) return first;
  const auto second = FirstWrong(make, kind, at_once, asking);
  const bool same =
      second && (at_once || (second->run == first->run && second->handle == first->handle));
  return same ? first : std::nullopt;
}

std::string RunText(const SessionRun& run, SessionKind kind) {
  if (kind == SessionKind::kRepeated) {
    return "right on the first run of a prepared model, wrong on run " + std::to_string(run.run) +
           " with the same inputs";
  }
  if (run.handle > 1) {
    return "right in the first prepared model, wrong in run " + std::to_string(run.run) +
           " of prepared model " + std::to_string(run.handle);
  }
  if (run.run == 1) return "not always right on the first run of a prepared model";
  return "right on the first run of a prepared model, wrong on run " + std::to_string(run.run) +
         (run.draw == 0 ? ", after runs with other inputs" : ", with other inputs");
}

}  // namespace

std::string LocateRun(const BackendSource& source, const format::Model& model,
                      const std::vector<Tensor>& inputs, const std::string& arithmetic) {
  Asking asking{model, arithmetic, {}, {}};
  const auto add = [&](const std::vector<Tensor>& some) {
    auto expected = ReferenceAnswer(model, some, arithmetic);
    if (!expected) return false;
    asking.inputs.push_back(some);
    asking.expected.push_back(*std::move(expected));
    return true;
  };
  if (!add(inputs)) return "";
  for (std::int64_t draw = 1; draw < kSessionDraws; ++draw) {
    for (const auto& drawn : DrawAgain(model, inputs, draw)) {
      if (add(drawn)) break;
    }
  }
  if (FirstWrong(source.make, SessionKind::kSingle, false, asking)) return "";
  for (const SessionKind kind :
       {SessionKind::kRepeated, SessionKind::kUsual, SessionKind::kThorough}) {
    if (const auto run = Twice(source.make, kind, false, asking)) return RunText(*run, kind);
  }
  for (const std::int64_t threads : kSessionThreads) {
    if (!source.make_with_threads) break;
    const MakeBackend make = [&] { return source.make_with_threads(static_cast<int>(threads)); };
    if (FirstWrong(make, SessionKind::kThorough, false, asking)) {
      return "in a session with " + std::to_string(threads) + " thread" + (threads > 1 ? "s" : "");
    }
  }
  if (Twice(source.make, SessionKind::kThorough, true, asking)) {
    return "only while other prepared models run at the same time";
  }
  return "";
}

}  // namespace qtx::conformance
