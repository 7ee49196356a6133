// Finds the candidate that reproduces a row's wrong answers and keeps its right ones.
#include "qtx/conformance/diagnosis.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "candidate.h"
#include "condition.h"
#include "findings.h"
#include "qtx/conformance/runner.h"

namespace qtx::conformance {
namespace {

constexpr std::string_view kNetwork = "model";
constexpr std::size_t kMaxNetworks = 8;    // failing networks examined, since they are large
constexpr std::size_t kSample = 16;        // wrong answers on which every candidate is tried
constexpr std::size_t kRightsPerOp = 256;  // right answers considered per operator
constexpr std::size_t kHeldTo = 48;        // right answers that a candidate must keep
constexpr std::size_t kFinalists = 8;      // candidates checked against right answers
constexpr std::size_t kFindingsPerOp = 3;  // findings of one operator
constexpr std::int64_t kLastPlaces = 4;    // in ulp
constexpr std::size_t kExplainedAlone =
    32;  // cases without a finding that are explained individually

struct Answered {
  const Case* c = nullptr;
  CaseResult* result = nullptr;
  Question question;
  Outputs outputs;        // of the backend
  Outputs reference;      // of the reference; for right answers filled on demand
  std::string_view kind;  // the symptom, if it is not wrong values
};
using AnsweredList = std::vector<const Answered*>;

// A condition under which answers are wrong.
struct WrongPlace {
  std::string name;   // "pointwise + stride"
  std::string where;  // "where the kernel is 1x1 and where strides are not 1"
};

std::int64_t ElementsIn(const Outputs& outputs) {
  std::int64_t elements = 0;
  for (const format::Tensor& output : outputs) elements += format::ElementCount(output);
  return elements;
}

// The symptom of a result; empty for wrong values, nullopt if there is nothing to diagnose.
std::optional<std::string_view> KindOf(const CaseResult& result) {
  switch (result.outcome) {
    case Outcome::kCrash:
      return "crash";
    case Outcome::kTimeout:
      return "timeout";
    case Outcome::kProtocolError:
      return "protocol_error";
    case Outcome::kFail:
    case Outcome::kExpectedFail:
      break;
    default:
      return std::nullopt;
  }
  if (result.unstable) return "unstable";
  for (const Difference& difference : result.differences) {
    if (difference.mismatch.starts_with("element type")) return "output_type";
    if (difference.mismatch.starts_with("dims")) return "output_shape";
  }
  if (result.session && !result.evidence) return "session";
  const bool kept = result.evidence && !result.evidence->got.empty();
  return kept ? std::optional<std::string_view>("") : std::nullopt;
}

std::string_view SaysOf(std::string_view kind) {
  if (kind == "crash") return "ends without an answer";
  if (kind == "timeout") return "gives no answer in time";
  if (kind == "protocol_error") return "breaks the protocol";
  if (kind == "unstable") {
    return "answers the same question otherwise when asked again: state left from an earlier run, "
           "or a race";
  }
  if (kind == "session") return "answers the first request of a model and no further one";
  if (kind == "output_type") return "gives outputs of another element type";
  return "gives outputs of other dims";
}

// True for wrong values that other inputs gave than those of the case.
bool HasOtherInputs(const CaseResult& result) {
  return result.session && result.session->draw != 0 && result.evidence;
}

// Makes the inputs of the evidence those of the question; false where one is missing.
bool TakeInputs(const Evidence& evidence, Question& question) {
  auto input = question.inputs.begin();
  for (const format::ValueInfo& info : question.model.graph.inputs) {
    if (question.model.graph.FindInitializer(info.name) != nullptr) continue;
    const auto kept = std::ranges::find(evidence.inputs, info.name, &Evidence::Value::name);
    if (kept == evidence.inputs.end() || input == question.inputs.end()) return false;
    *input++ = kept->tensor;
  }
  return true;
}

// True for a right answer that is bit-equal to the reference's.
bool IsRight(const Case& c, const CaseResult& result) {
  return result.outcome == Outcome::kPass && c.op && c.error.empty() && !c.ulp &&
         c.alternatives.empty();
}

// At most `count` of `list`, smallest first, alternating between operators.
AnsweredList Sample(const AnsweredList& list, std::size_t count) {
  std::map<std::string_view, AnsweredList> by_op;
  for (const Answered* a : list) by_op[a->result->op].push_back(a);
  for (auto& [op, group] : by_op) {
    std::ranges::stable_sort(group, {}, [](const Answered* a) { return ElementsIn(a->outputs); });
  }
  AnsweredList sample;
  for (std::size_t i = 0; sample.size() < std::min(count, list.size()); ++i) {
    for (const auto& [op, group] : by_op) {
      if (i < group.size() && sample.size() < count) sample.push_back(group[i]);
    }
  }
  return sample;
}

class Diagnosis {
 public:
  Diagnosis(std::span<const Case> cases, BackendReport& row)
      : row_(row), candidates_(Candidates(row.arithmetic)) {
    const auto own = reference::FindArithmetic(row.arithmetic);
    own_ = own ? *own : nullptr;
    if (own_ != nullptr) Collect(cases);  // no diagnosis for arithmetics that the reference lacks
  }

  void Run() {
    AnsweredList all;
    std::map<std::string_view, AnsweredList> by_kind;
    for (const Answered& wrong : wrongs_) {
      if (!wrong.kind.empty()) {
        by_kind[wrong.kind].push_back(&wrong);
      } else if (!BlameTheCase(wrong)) {
        all.push_back(&wrong);
      }
    }
    for (const auto& [kind, wrongs] : by_kind) {
      const auto place = Separating(wrongs, RightsOf(wrongs));
      Add(std::string(kind), std::string(SaysOf(kind)) + (place ? ", only " + place->where : ""),
          wrongs, nullptr);
    }
    if (!all.empty() && !Explained(all)) {
      std::map<std::string_view, AnsweredList> by_op;
      for (const Answered* wrong : all) by_op[wrong->result->op].push_back(wrong);
      for (auto& [op, group] : by_op) ExplainGroup(std::move(group));
    }
    JoinFindings(row_.findings);
    ExplainAlone();
  }

 private:
  void Collect(std::span<const Case> cases) {
    std::map<std::string_view, const Case*> by_id;
    for (const Case& c : cases) by_id.emplace(c.id, &c);
    const std::set<std::string_view> wrong_ops = WrongOps();
    std::map<std::string_view, std::size_t> rights;
    std::size_t networks = 0;
    for (CaseResult& result : row_.cases) {
      const auto c = by_id.find(result.id);
      if (c == by_id.end()) continue;
      const bool right = wrong_ops.contains(result.op) && IsRight(*c->second, result) &&
                         rights[result.op] < kRightsPerOp;
      const auto kind = KindOf(result);
      if (!right && !kind) continue;
      if (!right && result.op == kNetwork && networks++ >= kMaxNetworks) continue;
      auto question = BuildQuestion(*c->second);
      if (!question) continue;
      if (!right && HasOtherInputs(result) && !TakeInputs(*result.evidence, *question)) continue;
      Answered answered{c->second, &result, *std::move(question), {}, {}, kind.value_or("")};
      if (!right) {
        AddWrong(std::move(answered), result);
        continue;
      }
      ++rights[result.op];
      rights_.push_back(std::move(answered));
    }
  }

  std::set<std::string_view> WrongOps() const {
    std::set<std::string_view> ops;
    for (const CaseResult& result : row_.cases) {
      if (KindOf(result)) ops.insert(result.op);
    }
    return ops;
  }

  void AddWrong(Answered answered, const CaseResult& result) {
    // Fault models and conditions assume what the reference has checked.
    auto reference = Answer(answered.question, *own_, nullptr);
    if (!reference) return;
    answered.reference = *std::move(reference);
    if (answered.kind.empty()) {
      for (const Evidence::Value& value : result.evidence->got) {
        answered.outputs.push_back(value.tensor);
      }
    }
    wrongs_.push_back(std::move(answered));
  }

  // The reference agrees with the backend, so the case's expectation is in doubt.
  bool BlameTheCase(const Answered& wrong) {
    if (!SameOutputs(wrong.outputs, wrong.reference)) return false;
    wrong.result->explained_by = {"reference"};
    wrong.result->diagnosis += "; the reference gives the same: is the expectation right?";
    return true;
  }

  // Candidates that reproduce every answer of `sample`, in order of preference.
  std::vector<const Candidate*> Survivors(const AnsweredList& sample) const {
    std::vector<const Candidate*> alive;
    for (const Candidate& candidate : candidates_) {
      const bool explains = std::ranges::all_of(sample, [&](const Answered* wrong) {
        return Explains(candidate, wrong->question, wrong->outputs);
      });
      if (explains) alive.push_back(&candidate);
    }
    return alive;
  }

  static std::set<std::string_view> OperatorsOf(const AnsweredList& list) {
    std::set<std::string_view> ops;
    for (const Answered* a : list) ops.insert(a->result->op);
    return ops;
  }
  AnsweredList RightsOf(const AnsweredList& wrongs) const {
    const auto ops = OperatorsOf(wrongs);
    AnsweredList rights;
    for (const Answered& right : rights_) {
      if (ops.contains(right.result->op)) rights.push_back(&right);
    }
    return rights;
  }

  // Right answers of the operators of `wrongs` that `candidate` changes.
  AnsweredList Contradictions(const Candidate& candidate, const AnsweredList& wrongs) {
    const auto ops = OperatorsOf(wrongs);
    AnsweredList contradictions;
    std::map<std::string_view, std::size_t> held;
    for (Answered& right : rights_) {
      if (!ops.contains(right.result->op) || held[right.result->op]++ >= kHeldTo) continue;
      if (right.reference.empty()) {
        auto outputs = Answer(right.question, *own_, nullptr);
        if (!outputs) continue;
        right.reference = *std::move(outputs);
      }
      const auto tried = Answer(right.question, *candidate.base, candidate.fault);
      const bool idle = !tried && candidate.fault != nullptr;
      if (!idle && (!tried || !SameOutputs(right.reference, *tried))) {
        contradictions.push_back(&right);
      }
    }
    return contradictions;
  }

  // One finding for all of `wrongs`, if one candidate reproduces them.
  bool Explained(const AnsweredList& wrongs) {
    std::vector<const Candidate*> alive = Survivors(Sample(wrongs, kSample));
    const Candidate* best = nullptr;
    AnsweredList best_contradictions;
    std::size_t tried = 0;
    for (const Candidate* candidate : alive) {
      if (tried++ == kFinalists) break;
      if (Count(*candidate, wrongs) < wrongs.size()) continue;
      AnsweredList contradictions = Contradictions(*candidate, wrongs);
      if (best != nullptr && contradictions.size() >= best_contradictions.size()) continue;
      best = candidate;
      best_contradictions = std::move(contradictions);
      if (best_contradictions.empty()) break;
    }
    if (best == nullptr) return false;
    std::string says = Says(*best);
    if (!best_contradictions.empty()) says += Where(wrongs, best_contradictions);
    Add(Name(*best, row_.arithmetic), std::move(says), wrongs, best);
    return true;
  }

  std::size_t Count(const Candidate& candidate, const AnsweredList& wrongs) const {
    return static_cast<std::size_t>(std::ranges::count_if(wrongs, [&](const Answered* wrong) {
      return Explains(candidate, wrong->question, wrong->outputs);
    }));
  }

  // ", only where ..." if a condition separates the answers; else the cases that do not fit.
  static std::string Where(const AnsweredList& wrongs, const AnsweredList& rights) {
    if (const auto place = Separating(wrongs, rights)) return ", only " + place->where;
    constexpr std::size_t kMaxNamed = 4;
    std::string names;
    std::size_t named = 0;
    for (const std::string_view op : OperatorsOf(rights)) {
      if (named++ < kMaxNamed) names.append(names.empty() ? "" : ", ").append(op);
    }
    return ", not always in " + names + (named > kMaxNamed ? ", ..." : "");
  }

  static std::optional<WrongPlace> SeparatingPair(const AnsweredList& wrongs,
                                                  const AnsweredList& rights) {
    // Conditions that hold for all wrong answers, with the right answers for which they hold too.
    std::vector<std::pair<const Condition*, AnsweredList>> common;
    for (const Condition& condition : Conditions()) {
      const auto holds = [&](const Answered* a) { return condition.holds(a->question); };
      if (!std::ranges::all_of(wrongs, holds)) continue;
      common.emplace_back(&condition, AnsweredList{});
      std::ranges::copy_if(rights, std::back_inserter(common.back().second), holds);
    }
    for (std::size_t i = 0; i < common.size(); ++i) {
      for (std::size_t j = i + 1; j < common.size(); ++j) {
        const Condition& second = *common[j].first;
        const auto holds = [&](const Answered* a) { return second.holds(a->question); };
        if (std::ranges::any_of(common[i].second, holds)) continue;
        const Condition& first = *common[i].first;
        return WrongPlace{std::string(first.name) + " + " + std::string(second.name),
                          std::string(first.where) + " and " + std::string(second.where)};
      }
    }
    return std::nullopt;
  }

  static std::optional<WrongPlace> Separating(const AnsweredList& wrongs,
                                              const AnsweredList& rights) {
    // Conditions are defined for one node.
    const auto is_network = [](const Answered* a) {
      return a->question.model.graph.nodes.size() != 1;
    };
    if (rights.empty() || std::ranges::any_of(wrongs, is_network) ||
        std::ranges::any_of(rights, is_network)) {
      return std::nullopt;
    }
    for (const Condition& condition : Conditions()) {
      const auto holds = [&](const Answered* a) { return condition.holds(a->question); };
      if (std::ranges::all_of(wrongs, holds) && std::ranges::none_of(rights, holds)) {
        return WrongPlace{std::string(condition.name), std::string(condition.where)};
      }
    }
    return SeparatingPair(wrongs, rights);
  }

  // Explains the wrong answers of one operator: by one candidate, by several in turn, or by a
  // condition.
  void ExplainGroup(AnsweredList group) {
    for (std::size_t i = 0; i < kFindingsPerOp && !group.empty(); ++i) {
      if (Explained(group)) return;
      if (ExplainByPlace(group)) return;
      if (!ExplainMost(group)) break;
    }
    if (group.empty() || ExplainByPlace(group) || ExplainAsLastPlaces(group)) return;
    const auto others = [](const Answered* a) { return HasOtherInputs(*a->result); };
    if (std::ranges::all_of(group, others)) {
      return Add(
          "other_inputs",
          "is right on the inputs of cases and wrong on others of the same models: an answer "
          "that is kept, perhaps",
          group, nullptr);
    }
    Add("", "unexplained", group, nullptr);
  }

  // True for float differences that reordering or contraction may cause.
  bool ExplainAsLastPlaces(const AnsweredList& group) {
    std::int64_t most = 0;
    for (const Answered* wrong : group) {
      for (const Difference& difference : wrong->result->differences) {
        if (difference.unit != "ulp" || difference.histogram.empty()) return false;
        const auto& [lowest, highest] =
            std::pair(difference.histogram.begin()->first, difference.histogram.rbegin()->first);
        if (lowest < -kLastPlaces || highest > kLastPlaces) return false;
        most = std::max({most, -lowest, highest});
      }
    }
    Add("last_places",
        "differs by at most " + std::to_string(most) +
            " ulp, as another order or contraction of binary32 operations does",
        group, nullptr);
    return true;
  }

  // Finds the candidate that reproduces most of a sample, and removes the answers that it
  // reproduces from `group`.
  bool ExplainMost(AnsweredList& group) {
    const AnsweredList sample = Sample(group, kSample);
    const Candidate* best = nullptr;
    std::size_t most = sample.size() / 3;  // fewer may be coincidence
    for (const Candidate& candidate : candidates_) {
      const std::size_t count = Count(candidate, sample);
      if (count <= most) continue;
      best = &candidate;
      most = count;
    }
    if (best == nullptr) return false;
    AnsweredList given;
    const auto rest = std::stable_partition(group.begin(), group.end(), [&](const Answered* wrong) {
      return !Explains(*best, wrong->question, wrong->outputs);
    });
    given.assign(rest, group.end());
    group.erase(rest, group.end());
    Add(Name(*best, row_.arithmetic), Says(*best), given, best);
    return true;
  }

  bool ExplainByPlace(const AnsweredList& group) {
    const auto place = group.size() < 2 ? std::nullopt : Separating(group, RightsOf(group));
    if (!place) return false;
    Add(place->name, "is wrong exactly " + place->where + "; no known fault gives its answers",
        group, nullptr);
    return true;
  }

  void Add(std::string candidate, std::string says, const AnsweredList& wrongs,
           const Candidate* gives) {
    Finding finding;
    std::set<std::string> ops;
    for (const Answered* wrong : wrongs) {
      ops.insert(wrong->result->op);
      if (gives == nullptr) continue;
      wrong->result->explained_by = {candidate};
      wrong->result->diagnosis += "; equals `" + candidate + "`";
    }
    finding.operators.assign(ops.begin(), ops.end());
    finding.candidate = std::move(candidate);
    finding.says = std::move(says);
    finding.failing = static_cast<std::int64_t>(wrongs.size());
    finding.explained = gives == nullptr ? 0 : finding.failing;
    row_.findings.push_back(std::move(finding));
  }

  void ExplainAlone() {
    std::size_t done = 0;
    for (const Answered& wrong : wrongs_) {
      if (!wrong.kind.empty() || !wrong.result->explained_by.empty()) continue;
      if (wrong.result->op == kNetwork) continue;  // every candidate would run the whole network
      if (done++ == kExplainedAlone) return;
      wrong.result->explained_by = Explain(*wrong.c, row_.arithmetic, wrong.outputs);
    }
  }

  BackendReport& row_;
  std::vector<Candidate> candidates_;
  const reference::Arithmetic* own_ = nullptr;
  std::vector<Answered> wrongs_;
  std::vector<Answered> rights_;
};

}  // namespace

std::vector<std::string> Explain(const Case& c, const std::string& arithmetic,
                                 const std::vector<format::Tensor>& got) {
  std::vector<std::string> names;
  const auto question = BuildQuestion(c);
  if (!question || ElementsIn(got) > kMaxDiagnosedElements) return names;
  const auto own = reference::FindArithmetic(arithmetic);
  const auto reference = own ? Answer(*question, **own, nullptr) : Result<Outputs>(own.error());
  if (!reference) return names;
  if (SameOutputs(got, *reference)) return {"reference"};
  for (const Candidate& candidate : Candidates(arithmetic)) {
    // Faults on top of other arithmetics are tried last.
    const bool far = candidate.fault != nullptr && (!own || candidate.base != *own);
    if (far && !names.empty()) break;
    if (Explains(candidate, *question, got)) names.push_back(Name(candidate, arithmetic));
  }
  return names;
}

void Diagnose(std::span<const Case> cases, BackendReport& row) {
  row.findings.clear();
  Diagnosis(cases, row).Run();
}

}  // namespace qtx::conformance
