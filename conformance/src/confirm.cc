#include "confirm.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "redraw.h"

namespace qtx::conformance {
namespace {

constexpr std::uint64_t kDraws = 32;          // of one witness, in one pass over all
constexpr std::uint64_t kPasses = 8;          // while no draw tells candidate and claim apart
constexpr std::int64_t kQuestions = 3;        // fresh ones about one witness
constexpr std::int64_t kEnoughQuestions = 9;  // about all
constexpr std::int64_t kRightQuestions = 12;  // fresh ones on which the candidate is right
constexpr std::uint64_t kRivalDraws = 4;      // of one witness, to tell candidates apart
constexpr std::int64_t kRivalQuestions = 6;   // on which candidates differ
constexpr std::size_t kRivals = 8;            // compared with one another

bool IsSame(const TestModel& a, const TestModel& b) {
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    if (a.data[i].tensor != b.data[i].tensor) return false;
  }
  return true;
}

class Questioner {
 public:
  Questioner(const Candidate& candidate, DifferentialTester& tester, const Budget& budget)
      : candidate_(candidate), tester_(tester), budget_(budget) {}

  void AskAbout(const TestModel& witness, std::uint64_t pass) {
    std::int64_t asked = 0;
    for (std::uint64_t i = 1; i <= kDraws && asked < kQuestions; ++i) {
      const std::uint64_t draw = pass * kDraws + i;
      if (confirmation_.is_refuted || tester_.Spent(budget_)) return;
      const TestModel drawn = Redraw(witness, draw);
      if (!IsSame(drawn, witness) && Ask(drawn)) ++asked;
    }
  }
  const Confirmation& confirmation() const { return confirmation_; }

 private:
  // False where the question would tell nothing.
  bool Ask(const TestModel& test) {
    const auto right = ReferenceAnswer(ToModel(test), InputsOf(test), tester_.arithmetic());
    if (!right) return false;
    const auto given =
        Answer({ToModel(test, *right), InputsOf(test)}, *candidate_.base, candidate_.fault);
    if (!given) return false;
    if (SameOutputs(*given, *right)) {
      if (asked_right_++ < kRightQuestions) {
        confirmation_.is_refuted = tester_.Run(test).kind == VerdictKind::kDiffers;
      }
      return false;
    }
    const Verdict verdict = tester_.Run(test);
    if (verdict.kind == VerdictKind::kUnsupported) return false;
    confirmation_.is_refuted = !SameOutputs(verdict.got, *given);
    if (!confirmation_.is_refuted) ++confirmation_.predicted;
    return true;
  }

  const Candidate& candidate_;
  DifferentialTester& tester_;
  const Budget& budget_;
  Confirmation confirmation_;
  std::int64_t asked_right_ = 0;
};

// Asks the backend if the candidates answer differently; false if that would tell nothing.
bool AskRivals(std::vector<const Candidate*>& candidates, const TestModel& test,
               DifferentialTester& tester) {
  const auto right = ReferenceAnswer(ToModel(test), InputsOf(test), tester.arithmetic());
  if (!right) return false;
  const Question question{ToModel(test, *right), InputsOf(test)};
  std::vector<std::pair<const Candidate*, Outputs>> given;
  for (const Candidate* candidate : candidates) {
    auto answer = Answer(question, *candidate->base, candidate->fault);
    if (answer) given.emplace_back(candidate, *std::move(answer));
  }
  const auto differs = [&given](const auto& one) {
    return !SameOutputs(one.second, given.front().second);
  };
  if (std::ranges::none_of(given, differs)) return false;
  const Verdict verdict = tester.Run(test);
  if (verdict.kind == VerdictKind::kUnsupported) return false;
  for (const auto& [candidate, outputs] : given) {
    if (!SameOutputs(verdict.got, outputs)) std::erase(candidates, candidate);
  }
  return true;
}

}  // namespace

void Eliminate(std::vector<const Candidate*>& candidates, std::span<const TestModel> witnesses,
               DifferentialTester& tester, const Budget& budget) {
  std::int64_t asked = 0;
  for (std::uint64_t draw = 1; draw <= kRivalDraws; ++draw) {
    for (const TestModel& witness : witnesses) {
      if (candidates.size() < 2 || asked == kRivalQuestions || tester.Spent(budget)) return;
      if (AskRivals(candidates, Redraw(witness, draw), tester)) ++asked;
    }
  }
}

bool Fits(const Candidate& candidate, const std::string& claimed, std::span<const Trial> draws) {
  return std::ranges::all_of(draws, [&](const Trial& trial) {
    const auto right = ReferenceAnswer(ToModel(trial.test), InputsOf(trial.test), claimed);
    if (!right) return true;
    const auto given = Answer({ToModel(trial.test, *right), InputsOf(trial.test)}, *candidate.base,
                              candidate.fault);
    return (given && !SameOutputs(*given, *right)) == trial.fails;
  });
}

Question QuestionOf(const TestModel& test) { return {ToModel(test), InputsOf(test)}; }

Confirmation Confirm(const Candidate& candidate, std::span<const TestModel> witnesses,
                     DifferentialTester& tester, const Budget& budget) {
  Questioner questioner(candidate, tester, budget);
  const Confirmation& confirmation = questioner.confirmation();
  for (std::uint64_t pass = 0; pass < kPasses && confirmation.predicted == 0; ++pass) {
    for (const TestModel& witness : witnesses) {
      questioner.AskAbout(witness, pass);
      if (confirmation.is_refuted || tester.Spent(budget)) return confirmation;
      if (confirmation.predicted >= kEnoughQuestions) return confirmation;
    }
  }
  return confirmation;
}

std::optional<Cause> FindCause(std::span<const Wrong> wrongs, DifferentialTester& tester,
                               const Budget& budget) {
  std::vector<TestModel> witnesses;
  for (const Wrong& wrong : wrongs) witnesses.push_back(wrong.test);
  const std::vector<Candidate> candidates = Candidates(tester.arithmetic());
  std::vector<const Candidate*> explaining;
  for (const Candidate& candidate : candidates) {
    if (tester.Spent(budget) || explaining.size() == kRivals) break;
    const bool explains = std::ranges::all_of(wrongs, [&](const Wrong& wrong) {
      return Explains(candidate, QuestionOf(wrong.test), wrong.got);
    });
    if (explains) explaining.push_back(&candidate);
  }
  Eliminate(explaining, witnesses, tester, budget);
  for (const Candidate* candidate : explaining) {
    const Confirmation confirmation = Confirm(*candidate, witnesses, tester, budget);
    if (!confirmation.holds()) continue;
    return Cause{Name(*candidate, tester.arithmetic()), Says(*candidate), confirmation.predicted};
  }
  return std::nullopt;
}

}  // namespace qtx::conformance
