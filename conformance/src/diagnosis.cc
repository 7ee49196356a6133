// Finds what a row's wrong answers hang on, and the candidate that gives them and keeps its right
// ones.
#include "qtx/conformance/diagnosis.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "answered.h"
#include "candidate.h"
#include "examine.h"
#include "findings.h"
#include "inexact.h"
#include "qtx/conformance/runner.h"
#include "separate.h"

namespace qtx::conformance {
namespace {

constexpr std::size_t kSample = 16;        // wrong answers on which every candidate is tried
constexpr std::size_t kHeldTo = 48;        // right answers that a candidate must keep
constexpr std::size_t kHeldDraws = 12;     // of a smallest form, on which it must be wrong alike
constexpr std::size_t kFinalists = 8;      // candidates checked against right answers
constexpr std::size_t kFindingsPerOp = 3;  // findings of one operator
constexpr std::size_t kSeveral = 3;        // wrong answers, to go by them alone
constexpr std::size_t kMany = 6;           // without a place
constexpr std::size_t kAttempts =
    3;  // wrong answers of an operator that are examined for one place
constexpr std::int64_t kLastPlaces = 4;  // in ulp
constexpr std::int64_t kFewPlaces = std::int64_t{1} << 15;
// Of the reference, for one operator: to try candidates on wrong answers, and as much on right
// ones.
constexpr std::chrono::seconds kCandidateTime{5};

// At most `count` of `list`, smallest first, alternating between operators.
AnsweredList Sample(const AnsweredList& list, std::size_t count) {
  std::map<std::string_view, AnsweredList> by_op;
  for (const Answered* a : list) by_op[a->op].push_back(a);
  for (auto& [op, group] : by_op) {
    std::ranges::stable_sort(group, {}, [](const Answered* a) { return ElementsIn(a->reference); });
  }
  AnsweredList sample;
  for (std::size_t i = 0; sample.size() < std::min(count, list.size()); ++i) {
    for (const auto& [op, group] : by_op) {
      if (i < group.size() && sample.size() < count) sample.push_back(group[i]);
    }
  }
  return sample;
}

std::set<std::string_view> OperatorsOf(const AnsweredList& list) {
  std::set<std::string_view> ops;
  for (const Answered* a : list) ops.insert(a->op);
  return ops;
}

std::vector<const Question*> QuestionsOf(const AnsweredList& list) {
  std::vector<const Question*> questions;
  for (const Answered* a : list) questions.push_back(&a->question);
  return questions;
}

// A candidate that gives all wrong answers, with the right answers that it changes.
struct Finalist {
  const Candidate* candidate = nullptr;
  AnsweredList contradictions;
};

class Diagnosis {
 public:
  Diagnosis(std::span<const Case> cases, const BackendSource& source, const DiagnosisBudget& budget,
            const reference::Arithmetic& own, BackendReport& row)
      : row_(row),
        own_(own),
        candidates_(Candidates(row.arithmetic)),
        answers_(CollectAnswers(cases, own, row)),
        examiner_(source, row.arithmetic, budget) {}

  void Run() {
    AnsweredList all;
    std::map<std::string_view, AnsweredList> by_kind;
    for (Answered& wrong : answers_.wrongs) {
      if (wrong.op == kNetwork) examiner_.Narrow(wrong);
      if (!wrong.kind.empty()) {
        by_kind[wrong.kind].push_back(&wrong);
      } else if (!BlameTheCase(wrong)) {
        all.push_back(&wrong);
      }
    }
    for (const auto& [kind, wrongs] : by_kind) {
      const auto place = Separated(wrongs, RightsOf(wrongs));
      Add(std::string(kind), std::string(SaysOf(kind)) + (place ? ", only " + place->where : ""),
          wrongs);
    }
    const bool is_one = OperatorsOf(all).size() == 1;
    if (!all.empty() && (is_one || !Explained(all))) {
      std::map<std::string_view, AnsweredList> by_op;
      for (const Answered* wrong : all) by_op[wrong->op].push_back(wrong);
      for (auto& [op, group] : by_op) ExplainGroup(std::move(group));
    }
    JoinFindings(row_.findings);
  }

 private:
  // The reference agrees with the backend, so the case's expectation is in doubt.
  static bool BlameTheCase(const Answered& wrong) {
    if (!SameOutputs(wrong.outputs, wrong.reference)) return false;
    wrong.result->explained_by = {"reference"};
    wrong.result->diagnosis += "; the reference gives the same: is the expectation right?";
    return true;
  }

  using OperatorTimes = std::map<std::string_view, std::chrono::steady_clock::duration>;

  // Calls `compute` and adds its time to the operator's, unless that has none left, as with
  // networks.
  template <typename Compute>
  static void InTime(OperatorTimes& spent, std::string_view op, const Compute& compute) {
    auto& time = spent[op];
    if (time > kCandidateTime) return;
    const auto start = std::chrono::steady_clock::now();
    compute();
    time += std::chrono::steady_clock::now() - start;
  }

  // True if the candidate reproduces that answer; false where no time is left to see.
  bool Gives(const Candidate& candidate, const Answered& wrong) {
    const auto [known, is_new] = given_.try_emplace({&candidate, &wrong});
    if (is_new) {
      InTime(spent_on_wrongs_, wrong.op, [&, &gives = known->second] {
        gives = Explains(candidate, wrong.question, wrong.outputs);
      });
    }
    return known->second;
  }

  // Candidates that reproduce every answer of `sample`, in order of preference.
  std::vector<const Candidate*> Survivors(const AnsweredList& sample) {
    std::vector<const Candidate*> alive;
    for (const Candidate& candidate : candidates_) {
      const bool explains = std::ranges::all_of(
          sample, [&](const Answered* wrong) { return Gives(candidate, *wrong); });
      if (explains) alive.push_back(&candidate);
    }
    return alive;
  }

  AnsweredList RightsOf(const AnsweredList& wrongs) const {
    const auto ops = OperatorsOf(wrongs);
    AnsweredList rights;
    for (const Answered& right : answers_.rights) {
      if (ops.contains(right.op)) rights.push_back(&right);
    }
    return rights;
  }

  // Right answers of the operators of `wrongs` that `candidate` changes.
  AnsweredList Contradictions(const Candidate& candidate, const AnsweredList& wrongs) {
    const auto ops = OperatorsOf(wrongs);
    AnsweredList contradictions;
    std::map<std::string_view, std::size_t> held;
    for (Answered& right : answers_.rights) {
      if (!ops.contains(right.op) || held[right.op]++ >= kHeldTo) continue;
      bool changes = false;
      InTime(spent_on_rights_, right.op, [&] { changes = Changes(candidate, right); });
      if (changes) contradictions.push_back(&right);
    }
    return contradictions;
  }

  // True if the candidate gives another answer than the reference.
  bool Changes(const Candidate& candidate, Answered& right) const {
    if (right.reference.empty()) {
      auto outputs = Answer(right.question, own_, nullptr);
      if (!outputs) return false;
      right.reference = *std::move(outputs);
    }
    const auto tried = Answer(right.question, *candidate.base, candidate.fault);
    if (!tried) return candidate.fault == nullptr;
    return !SameOutputs(right.reference, *tried);
  }

  // Candidates that give all of `wrongs`, those that change fewest right answers first.
  std::vector<Finalist> FinalistsFor(const AnsweredList& wrongs) {
    std::vector<Finalist> finalists;
    for (const Candidate* candidate : Survivors(Sample(wrongs, kSample))) {
      if (finalists.size() == kFinalists) break;
      if (Count(*candidate, wrongs) < wrongs.size()) continue;
      finalists.push_back({candidate, Contradictions(*candidate, wrongs)});
    }
    std::ranges::stable_sort(finalists, {},
                             [](const Finalist& one) { return one.contradictions.size(); });
    return finalists;
  }

  // One finding for all of `wrongs`, if one candidate reproduces them and predicts more.
  bool Explained(const AnsweredList& wrongs) {
    const std::vector<Finalist> finalists = FinalistsFor(wrongs);
    if (finalists.empty()) return false;
    const AnsweredList witnesses = Sample(wrongs, wrongs.size());
    std::vector<const Candidate*> left;
    for (const Finalist& finalist : finalists) left.push_back(finalist.candidate);
    examiner_.Eliminate(left, witnesses);
    for (const Finalist& finalist : finalists) {
      if (std::ranges::find(left, finalist.candidate) == left.end()) continue;
      const Confirmation confirmation = examiner_.Confirm(*finalist.candidate, witnesses);
      if (!confirmation.holds() || !FitsThePlace(*finalist.candidate, witnesses)) continue;
      std::string says = Says(*finalist.candidate);
      if (!finalist.contradictions.empty()) {
        const std::string where = Where(wrongs, finalist.contradictions);
        if (where.empty()) continue;
        says += where;
      }
      Add(Name(*finalist.candidate, row_.arithmetic), std::move(says), wrongs,
          confirmation.predicted);
      return true;
    }
    return false;
  }

  // What is wrong in the smallest form is the candidate's doing, too.
  bool FitsThePlace(const Candidate& candidate, const AnsweredList& wrongs) {
    const Located* located = FirstLocated(wrongs);
    if (located == nullptr) return true;
    const std::span<const Trial> trials = located->trials;
    return Fits(candidate, row_.arithmetic, trials.first(std::min(located->draws, kHeldDraws)));
  }

  std::size_t Count(const Candidate& candidate, const AnsweredList& wrongs) {
    return static_cast<std::size_t>(std::ranges::count_if(
        wrongs, [&](const Answered* wrong) { return Gives(candidate, *wrong); }));
  }

  // ", only where ..." if a condition separates the answers; else the cases that do not fit, and
  // nothing where these speak against a few wrong answers.
  std::string Where(const AnsweredList& wrongs, const AnsweredList& rights) {
    if (const auto place = Separated(wrongs, rights)) return ", only " + place->where;
    if (wrongs.size() < kSeveral) return "";
    constexpr std::size_t kMaxNamed = 4;
    std::string names;
    std::size_t named = 0;
    for (const std::string_view op : OperatorsOf(rights)) {
      if (named++ < kMaxNamed) names.append(names.empty() ? "" : ", ").append(op);
    }
    return ", not always in " + names + (named > kMaxNamed ? ", ..." : "");
  }

  // The condition that separates the answers, unless changed questions refute it. Where none could
  // be asked, several wrong answers must speak for it.
  std::optional<Separation> Separated(const AnsweredList& wrongs, const AnsweredList& rights) {
    auto separation = Separate(QuestionsOf(wrongs), QuestionsOf(rights));
    if (!separation) return separation;
    const Located* located = FirstLocated(wrongs);
    const Support support =
        located == nullptr ? Support::kNone : SupportOf(*separation, located->trials);
    const bool is_likely = wrongs.size() >= (located == nullptr ? kMany : kSeveral) &&
                           separation->conditions.size() == 1;
    const bool holds = support == Support::kConfirmed || (support == Support::kNone && is_likely);
    return holds ? separation : std::nullopt;
  }

  // Explains the wrong answers of one operator: by one candidate, by several in turn, or by a
  // condition.
  void ExplainGroup(AnsweredList group) {
    for (std::size_t i = 0; i < kFindingsPerOp && !group.empty(); ++i) {
      if (Explained(group) || ExplainAsInexact(group) || ExplainByPlace(group)) return;
      if (!ExplainMost(group)) break;
    }
    if (group.empty() || ExplainByPlace(group) || ExplainAsLastPlaces(group)) return;
    const auto is_kept = [this](const Answered* a) {
      return HasOtherInputs(*a->result) && !examiner_.IsWrongAlone(*a);
    };
    if (std::ranges::all_of(Sample(group, kAttempts), is_kept)) {
      return Add("other_inputs",
                 "is right on these inputs when a fresh model is asked, and wrong after others: an "
                 "answer that is kept, perhaps",
                 group);
    }
    Add("", "cause unknown", group);
  }

  // How far the quotients of all wrong answers miss; nullopt where that is not known.
  std::optional<Inexactness> InexactnessOfAll(const AnsweredList& group) {
    Inexactness all;
    for (const Answered* wrong : group) {
      std::optional<Inexactness> one;
      InTime(spent_on_wrongs_, wrong->op,
             [&] { one = InexactnessOf(wrong->question, own_, wrong->reference, wrong->outputs); });
      if (!one) return std::nullopt;
      all.Join(*one);
    }
    return all;
  }

  // True where all wrong answers are the next step of quotients that are nearly ties; or lie, of
  // 16 bits, near the right ones, the greater the value the farther; or are wrong at ties alone.
  bool ExplainAsInexact(const AnsweredList& group) {
    constexpr double kNearly = 0.25;         // of a step: half of random ones are so near a tie
    constexpr double kFineStep = 0x1p-11;    // what Inexactness tells apart
    constexpr double kTie = 0.02;            // of a step: 4 % of random ones are
    constexpr double kShare = 0x1p-6;        // of a value
    constexpr std::int64_t kNoAccident = 6;  // elements
    const auto all = InexactnessOfAll(group);
    if (!all || all->elements < kNoAccident) return false;
    std::string name = "inexact";
    std::string says;
    if (all->steps <= kFineStep) {
      name = "ties";
      says = "is wrong only where the exact quotient is a tie, or too near one to tell";
    } else if (all->steps <= kNearly) {
      says = fmt::format("rounds quotients that are off by up to {:.2g} of a step", all->steps);
    } else if (all->tie <= kTie) {
      name = "ties";
      says =
          fmt::format("is wrong only where the exact quotient is within {:.2g} of a tie", all->tie);
    } else if (!all->has_bytes && all->far >= kNoAccident && all->share <= kShare) {
      says = fmt::format("is off by at most {} steps and {:.2g} of a value", all->distance,
                         all->share);
    } else {
      return false;
    }
    if (const auto place = Separated(group, RightsOf(group))) says += ", only " + place->where;
    says += name == "ties" ? ": another rule for ties, or what settles doubtful roundings, perhaps"
                           : ": an approximation, numbers of too few bits, or one more rounding";
    Add(std::move(name), std::move(says), group);
    return true;
  }

  // The greatest distance of wrong elements of binary32, in ulp; nullopt where other types are
  // wrong or it is not known.
  static std::optional<std::int64_t> PlacesOff(const AnsweredList& group) {
    std::int64_t most = 0;
    for (const Answered* wrong : group) {
      const bool is_float = std::ranges::all_of(wrong->outputs, [](const format::Tensor& output) {
        return output.elem_type == format::ElementType::kFloat;
      });
      if (!is_float) return std::nullopt;
      for (const Difference& difference : wrong->result->differences) {
        if (difference.histogram.empty()) return std::nullopt;
        most = std::max(
            {most, -difference.histogram.begin()->first, difference.histogram.rbegin()->first});
      }
    }
    return most;
  }

  // True for differences of binary32, in changed questions, too, that another order, contraction or
  // an approximation may cause.
  bool ExplainAsLastPlaces(const AnsweredList& group) {
    std::optional<std::int64_t> most = PlacesOff(group);
    if (!most) return false;
    if (const Located* located = FirstLocated(group)) most = std::max(*most, located->farthest);
    if (*most > kFewPlaces) return false;
    const bool is_last = *most <= kLastPlaces;
    Add(is_last ? "last_places" : "few_places",
        "differs by at most " + std::to_string(*most) + " ulp" +
            (is_last ? ", as another order or contraction of binary32 operations does"
                     : " of binary32: an approximation, or numbers of too few bits"),
        group);
    return true;
  }

  // Finds the candidate that reproduces most of a sample, and removes the answers that it
  // reproduces from `group`.
  bool ExplainMost(AnsweredList& group) {
    const AnsweredList sample = Sample(group, kSample);
    std::vector<std::pair<std::size_t, const Candidate*>> counted;
    for (const Candidate& candidate : candidates_) {
      const std::size_t count = Count(candidate, sample);
      if (count > sample.size() / 3) counted.emplace_back(count, &candidate);  // not by accident
    }
    std::ranges::stable_sort(counted, std::greater(), [](const auto& one) { return one.first; });
    if (counted.size() > kFinalists) counted.resize(kFinalists);
    for (const auto& [count, candidate] : counted) {
      AnsweredList given;
      AnsweredList rest;
      for (const Answered* wrong : group) {
        (Gives(*candidate, *wrong) ? given : rest).push_back(wrong);
      }
      const Confirmation confirmation = examiner_.Confirm(*candidate, Sample(given, given.size()));
      if (!confirmation.holds() || !FitsThePlace(*candidate, given)) continue;
      Add(Name(*candidate, row_.arithmetic), Says(*candidate), given, confirmation.predicted);
      group = std::move(rest);
      return true;
    }
    return false;
  }

  bool ExplainByPlace(const AnsweredList& group) {
    const auto place = group.size() < 2 ? std::nullopt : Separated(group, RightsOf(group));
    if (!place) return false;
    Add(place->name, "is wrong exactly " + place->where + "; no known fault gives its answers",
        group);
    return true;
  }

  // The place of the smallest of some wrong answers that can be found.
  const Located* FirstLocated(const AnsweredList& wrongs) {
    for (const Answered* wrong : Sample(wrongs, kAttempts)) {
      if (const Located* located = examiner_.Find(*wrong)) return located;
    }
    return nullptr;
  }

  std::vector<WrongPlace> PlacesOf(const AnsweredList& wrongs) {
    std::map<std::string_view, AnsweredList> by_op;
    for (const Answered* wrong : wrongs) by_op[wrong->op].push_back(wrong);
    std::vector<WrongPlace> places;
    for (const auto& [op, group] : by_op) {
      if (const Located* located = FirstLocated(group)) {
        places.push_back(located->place);
      } else if (auto shown = examiner_.Shown(*Sample(group, 1).front())) {
        places.push_back(*std::move(shown));
      }
    }
    return places;
  }

  // `confirmed` fresh answers were those of the candidate; 0 where it is none.
  void Add(std::string candidate, std::string says, const AnsweredList& wrongs,
           std::int64_t confirmed = 0) {
    Finding finding;
    std::set<std::string> ops;
    for (const Answered* wrong : wrongs) {
      ops.insert({wrong->op, wrong->result->op});
      if (confirmed == 0) continue;
      wrong->result->explained_by = {candidate};
      wrong->result->diagnosis += "; equals `" + candidate + "`";
    }
    finding.operators.assign(ops.begin(), ops.end());
    finding.candidate = std::move(candidate);
    finding.says = std::move(says);
    finding.failing = static_cast<std::int64_t>(wrongs.size());
    finding.explained = confirmed == 0 ? 0 : finding.failing;
    finding.confirmed = confirmed;
    finding.places = PlacesOf(wrongs);
    row_.findings.push_back(std::move(finding));
  }

  BackendReport& row_;
  const reference::Arithmetic& own_;
  std::vector<Candidate> candidates_;
  Answers answers_;
  Examiner examiner_;
  std::map<std::pair<const Candidate*, const Answered*>, bool> given_;
  OperatorTimes spent_on_wrongs_, spent_on_rights_;
};

}  // namespace

void Diagnose(std::span<const Case> cases, const BackendSource& source,
              const DiagnosisBudget& budget, BackendReport& row) {
  row.findings.clear();
  const auto own = reference::FindArithmetic(row.arithmetic);
  if (!own) return;  // the reference lacks it
  Diagnosis(cases, source, budget, **own, row).Run();
}

}  // namespace qtx::conformance
