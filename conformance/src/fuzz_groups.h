// Failures of fuzzing, grouped by their cause.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bisect.h"
#include "candidate.h"
#include "differential_tester.h"
#include "qtx/conformance/fuzz.h"

namespace qtx::conformance {

struct FuzzFailure {
  TestModel test;
  Verdict verdict;
  std::int64_t number = 0;   // of the model
  std::string name, id;      // for people; of the case that it becomes
  std::int64_t threads = 0;  // that the backend was told to use
  bool session = false;      // it fails in a session alone
};

/// Two failures have one cause if a candidate (a named arithmetic, a known fault) reproduces the
/// answers of both bit for bit. Those that none reproduces are reduced, and have one cause if the
/// reduced models have operator, kind of failure and place in common: the conditions that the
/// reduced model still has. Of an operator and kind, at most kReduced are; the others count with
/// the commonest.
class FuzzGroups {
 public:
  FuzzGroups(std::string arithmetic, std::int64_t max_runs)
      : arithmetic_(std::move(arithmetic)),
        max_runs_(max_runs),
        candidates_(Candidates(arithmetic_)) {}

  /// `tester` asks as the failure was found: it, and `source`, are of its number of threads.
  void Add(const BackendSource& source, DifferentialTester& tester, const FuzzFailure& failure);
  std::vector<FuzzFinding> Take();

  static constexpr std::int64_t kReduced = 8;

 private:
  struct Group {
    FuzzFinding finding;
    std::vector<const Candidate*> causes;  // all that reproduce every failure so far
  };
  // A failing part, as candidates are asked for it.
  struct Symptom {
    std::string op;  // "network" for several nodes
    VerdictKind kind = VerdictKind::kDiffers;
    std::optional<Question> question;  // of wrong values of one run
    Outputs got;
  };

  static Symptom SymptomOf(DifferentialTester& tester, const FuzzFailure& failure);
  bool JoinKnown(const Symptom& symptom);
  std::vector<const Candidate*> CausesOf(const Symptom& symptom) const;
  Group& GroupOf(const Symptom& symptom, const FuzzFailure& failure, const Result<Shrunk>& shrunk);
  Group* Commonest(const Symptom& symptom);
  static void Count(const Symptom& symptom, Group& group);

  std::string arithmetic_;
  std::int64_t max_runs_;
  std::vector<Candidate> candidates_;
  std::vector<Group> groups_;
  std::map<std::pair<std::string, VerdictKind>, std::int64_t> reduced_;
};

}  // namespace qtx::conformance
