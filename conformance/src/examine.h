// Examines failures on the live backend: reduces them, finds their places and confirms candidates.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "answered.h"
#include "confirm.h"
#include "place.h"

namespace qtx::conformance {

class Examiner {
 public:
  /// Asks `source` in `arithmetic`. Does nothing where no backend can be made.
  Examiner(const BackendSource& source, std::string arithmetic, const DiagnosisBudget& budget);

  /// The place of a wrong answer, found once; nullptr where it does not fail when asked alone, by a
  /// fresh instance, and depends on no run either, or the budget is spent.
  const Located* Find(const Answered& wrong);

  /// The form of the case and the positions of its wrong elements, for where nothing smaller is
  /// found; nullopt for what is wrong in a session only.
  std::optional<WrongPlace> Shown(const Answered& wrong);

  /// Replaces a failing network by its first wrong node, or the shortest run of nodes that fails;
  /// false where no part of it fails alone.
  bool Narrow(Answered& network);

  /// Of wrong answers that the candidate gives, smallest first.
  Confirmation Confirm(const Candidate& candidate, const AnsweredList& explained);

  /// Removes candidates that the backend contradicts where they answer differently from one
  /// another.
  void Eliminate(std::vector<const Candidate*>& candidates, const AnsweredList& explained);

  /// True if a fresh instance gives the same wrong answer when asked that question alone.
  bool IsWrongAlone(const Answered& wrong);

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<DifferentialTester> NewTester(const Case& tolerance) const;
  std::optional<Located> Examine(const Answered& wrong);
  std::optional<Located> ExamineRuns(const Answered& wrong) const;
  /// Of one examination, from now.
  Budget Share(const DifferentialTester& tester) const;
  const TestModel* Witness(const Answered& wrong);
  std::vector<TestModel> Witnesses(const AnsweredList& explained);
  Budget ForConfirmation() const;

  const BackendSource& source_;
  std::string arithmetic_;
  DiagnosisBudget budget_;
  Clock::time_point end_;
  std::map<const Answered*, std::optional<Located>> located_;
  std::map<const Answered*, std::optional<TestModel>> witnesses_;
  std::optional<DifferentialTester> tester_;  // for candidates
};

}  // namespace qtx::conformance
