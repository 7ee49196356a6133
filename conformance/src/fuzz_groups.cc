#include "fuzz_groups.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

#include "condition.h"

namespace qtx::conformance {
namespace {

constexpr std::int64_t kBisectionRuns = 200;
constexpr std::size_t kMaxConditions = 3;  // of a place

// What the reduced model still has, in the order of the conditions: their names, and in words.
std::pair<std::string, std::string> PlaceOf(const Shrunk& shrunk) {
  std::pair<std::string, std::string> place;
  if (shrunk.nodes != 1) return place;
  Question question{shrunk.model, {}};
  for (const Evidence::Value& input : shrunk.evidence.inputs) {
    question.inputs.push_back(input.tensor);
  }
  std::size_t count = 0;
  for (const Condition& condition : Conditions()) {
    if (count == kMaxConditions || !condition.holds(question)) continue;
    place.first.append(count == 0 ? "" : " + ").append(condition.name);
    place.second.append(count == 0 ? "" : " and ").append(condition.where);
    ++count;
  }
  return place;
}

}  // namespace

FuzzGroups::Symptom FuzzGroups::SymptomOf(DifferentialTester& tester, const FuzzFailure& failure) {
  Symptom symptom{"network", failure.verdict.kind, std::nullopt, {}};
  const auto part =
      FindFailingPart(tester, ToModel(failure.test, failure.verdict.expected),
                      InputsOf(failure.test), symptom.kind, {tester.runs() + kBisectionRuns});
  if (!part) return symptom;
  symptom.kind = part->verdict.kind;
  if (part->test.nodes.size() == 1) symptom.op = part->test.nodes[0].op_type;
  if (symptom.kind != VerdictKind::kDiffers || failure.session) return symptom;
  symptom.question = Question{ToModel(part->test, part->verdict.expected), InputsOf(part->test)};
  symptom.got = part->verdict.got;
  return symptom;
}

void FuzzGroups::Count(const Symptom& symptom, Group& group) {
  ++group.finding.failures;
  ++group.finding.operators[symptom.op];
}

bool FuzzGroups::JoinKnown(const Symptom& symptom) {
  if (!symptom.question) return false;
  for (Group& group : groups_) {
    std::vector<const Candidate*> causes;
    std::ranges::copy_if(group.causes, std::back_inserter(causes), [&](const Candidate* candidate) {
      return Explains(*candidate, *symptom.question, symptom.got);
    });
    if (causes.empty()) continue;
    group.causes = std::move(causes);
    Count(symptom, group);
    return true;
  }
  return false;
}

std::vector<const Candidate*> FuzzGroups::CausesOf(const Symptom& symptom) const {
  std::vector<const Candidate*> causes;
  for (const Candidate& candidate : candidates_) {
    if (!symptom.question || !Explains(candidate, *symptom.question, symptom.got)) continue;
    causes.push_back(&candidate);
  }
  return causes;
}

FuzzGroups::Group* FuzzGroups::Commonest(const Symptom& symptom) {
  Group* commonest = nullptr;
  for (Group& group : groups_) {
    const bool fits = group.causes.empty() && group.finding.kind == Name(symptom.kind) &&
                      group.finding.operators.contains(symptom.op);
    if (!fits) continue;
    if (commonest == nullptr || group.finding.failures > commonest->finding.failures) {
      commonest = &group;
    }
  }
  return commonest;
}

FuzzGroups::Group& FuzzGroups::GroupOf(const Symptom& symptom, const FuzzFailure& failure,
                                       const Result<Shrunk>& shrunk) {
  Group fresh;
  fresh.causes = CausesOf(symptom);
  FuzzFinding& finding = fresh.finding;
  finding.kind = shrunk ? shrunk->how : std::string(Name(symptom.kind));
  finding.threads = failure.threads;
  finding.number = failure.number;
  if (shrunk && fresh.causes.empty()) std::tie(finding.place, finding.says) = PlaceOf(*shrunk);
  const auto same = std::ranges::find_if(groups_, [&](const Group& group) {
    return fresh.causes.empty() && group.causes.empty() && group.finding.kind == finding.kind &&
           group.finding.place == finding.place && group.finding.threads == finding.threads &&
           group.finding.operators.contains(symptom.op) &&
           group.finding.shrunk.has_value() == shrunk.has_value();
  });
  return same == groups_.end() ? groups_.emplace_back(std::move(fresh)) : *same;
}

void FuzzGroups::Add(const BackendSource& source, DifferentialTester& tester,
                     const FuzzFailure& failure) {
  const Symptom symptom = SymptomOf(tester, failure);
  if (JoinKnown(symptom)) return;
  const std::int64_t before = reduced_[{symptom.op, symptom.kind}]++;
  if (before >= kReduced) {
    if (Group* const group = Commonest(symptom)) return Count(symptom, *group);
  }
  Failure whole;
  whole.model = ToModel(failure.test, failure.verdict.expected);
  whole.inputs = InputsOf(failure.test);
  whole.name = failure.name;
  whole.id = failure.id;
  auto shrunk = Shrink(source, whole,
                       {.arithmetic = arithmetic_,
                        .max_runs = before == 0 ? max_runs_ : max_runs_ / 4,
                        .session = failure.session});
  Group& group = GroupOf(symptom, failure, shrunk);
  Count(symptom, group);
  FuzzFinding& finding = group.finding;
  if (shrunk) {
    if (finding.shrunk && finding.shrunk->elements <= shrunk->elements) return;
    finding.detail = shrunk->detail;
    finding.shrunk = *std::move(shrunk);
  } else if (finding.detail.empty()) {
    finding.detail = failure.verdict.detail + "; not reduced: " + shrunk.error().Text();
  }
}

std::vector<FuzzFinding> FuzzGroups::Take() {
  std::vector<FuzzFinding> findings;
  for (Group& group : groups_) {
    FuzzFinding& finding = findings.emplace_back(std::move(group.finding));
    if (group.causes.empty()) {
      if (finding.shrunk) finding.cause = finding.shrunk->candidate;
      if (!finding.cause.empty()) finding.says = finding.shrunk->cause;
      continue;
    }
    finding.cause = Name(*group.causes.front(), arithmetic_);
    finding.says = Says(*group.causes.front());
  }
  groups_.clear();
  std::ranges::stable_sort(findings, std::greater(), &FuzzFinding::failures);
  return findings;
}

}  // namespace qtx::conformance
