#include "examine.h"

#include <algorithm>
#include <utility>

#include "bisect.h"
#include "compare.h"
#include "reduce.h"

namespace qtx::conformance {
namespace {

constexpr int kShares = 6;              // of the row's time, one for each examination
constexpr std::size_t kWitnesses = 12;  // asked about one candidate
constexpr double kNetworkShare = 0.4;   // of it, for each failing network, in addition
constexpr std::chrono::seconds kConfirmationTime{1};
constexpr std::int64_t kManyElements = 1 << 12;  // of a node of a network

TestModel Reduced(DifferentialTester& tester, const TestModel& test, VerdictKind kind,
                  const Budget& budget) {
  Search search(tester, test, kind, budget);
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds && !search.exhausted(); ++round) {
    if (!ReduceOnce(search)) break;
  }
  return search.best();
}

}  // namespace

Examiner::Examiner(const BackendSource& source, std::string arithmetic,
                   const DiagnosisBudget& budget)
    : source_(source),
      arithmetic_(std::move(arithmetic)),
      budget_(budget),
      end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(budget.time)),
      tester_(NewTester({})) {}

std::optional<DifferentialTester> Examiner::NewTester(const Case& tolerance) const {
  auto tester = DifferentialTester::Make(source_, arithmetic_, tolerance);
  return tester ? std::optional(*std::move(tester)) : std::nullopt;
}

Budget Examiner::Share(const DifferentialTester& tester) const {
  const auto share = std::chrono::duration_cast<Clock::duration>(budget_.time) / kShares;
  return {tester.runs() + budget_.max_runs, std::min(end_, Clock::now() + share)};
}

const TestModel* Examiner::Witness(const Answered& wrong) {
  auto [known, is_new] = witnesses_.try_emplace(&wrong);
  if (is_new) known->second = WitnessOf(wrong.question, wrong.reference);
  return known->second ? &*known->second : nullptr;
}

const Located* Examiner::Find(const Answered& wrong) {
  auto [known, is_new] = located_.try_emplace(&wrong);
  if (is_new && Clock::now() < end_) known->second = Examine(wrong);
  return known->second ? &*known->second : nullptr;
}

std::optional<WrongPlace> Examiner::Shown(const Answered& wrong) {
  const TestModel* witness = Witness(wrong);
  if (witness == nullptr) return std::nullopt;
  if (wrong.kind == "timeout" && witness->nodes.size() == 1) {
    return PlaceOf(*witness, {.kind = VerdictKind::kTimeout, .detail = "no answer in time"}, {});
  }
  if (!wrong.kind.empty() || HasOtherInputs(*wrong.result)) return std::nullopt;
  Verdict verdict{.kind = VerdictKind::kDiffers, .expected = wrong.reference, .got = wrong.outputs};
  const auto& outputs = wrong.question.model.graph.outputs;
  for (std::size_t i = 0; i < std::min(wrong.outputs.size(), wrong.reference.size()); ++i) {
    const auto difference =
        Compare(*wrong.c, outputs[i].name, wrong.outputs[i], wrong.reference[i]);
    if (!difference) continue;
    verdict.detail += (verdict.detail.empty() ? "" : "; ") + Describe(*difference);
  }
  return PlaceOf(*witness, verdict, ToleranceOf(*wrong.c));
}

std::optional<Located> Examiner::Examine(const Answered& wrong) {
  const TestModel* witness = Witness(wrong);
  auto tester = NewTester(*wrong.c);
  if (witness == nullptr || !tester) return std::nullopt;
  const Budget budget = Share(*tester);
  if (wrong.kind == "timeout") return std::nullopt;  // each would cost the whole time limit
  if (wrong.kind == "unstable" || wrong.kind == "session") return ExamineRuns(wrong);
  TestModel whole = *witness;
  Verdict verdict = tester->Run(whole);
  if (!IsFault(verdict.kind)) {
    whole.bare_outputs = true;
    verdict = tester->Run(whole);
  }
  if (!IsFault(verdict.kind)) return ExamineRuns(wrong);
  Budget half = budget;
  half.until = Clock::now() + (budget.until - Clock::now()) / 2;
  half.max_runs = tester->runs() + budget_.max_runs / 2;
  const TestModel smallest = Reduced(*tester, whole, verdict.kind, half);
  const Verdict again = tester->Run(smallest);
  if (again.kind != verdict.kind) return std::nullopt;
  return Locate(source_, *tester, {smallest, again, whole}, budget);
}

std::optional<Located> Examiner::ExamineRuns(const Answered& wrong) const {
  Located located;
  located.place.op = wrong.op;
  located.place.says = LocateRun(source_, wrong.question.model, wrong.question.inputs, arithmetic_);
  return located.place.says.empty() ? std::nullopt : std::optional(std::move(located));
}

bool Examiner::Narrow(Answered& network) {
  auto tester = NewTester(*network.c);
  if (!tester) return false;
  const bool is_late = network.kind == "timeout";
  const VerdictKind kind = is_late
                               ? VerdictKind::kTimeout
                               : tester->Run(network.question.model, network.question.inputs).kind;
  if (!IsFault(kind)) return false;
  const Clock::time_point start = Clock::now();
  const auto time = std::chrono::duration_cast<Clock::duration>(budget_.time * kNetworkShare);
  const auto within = [&] {
    return Budget{tester->runs() + budget_.max_runs, Clock::now() + time};
  };
  auto part =
      FindFailingPart(*tester, network.question.model, network.question.inputs, kind, within());
  const bool is_one = part.has_value() && part->test.nodes.size() == 1;
  const bool differs = part.has_value() && part->verdict.kind == VerdictKind::kDiffers;
  // What follows asks some hundred times: about an image of a network that would take a minute.
  if (differs && ElementsOf(part->test) > kManyElements) {
    Search search(*tester, part->test, part->verdict.kind, within());
    ReduceShapes(search);
    Verdict verdict = tester->Run(search.best());
    if (verdict.kind == part->verdict.kind) {
      part->test = search.best();
      part->verdict = std::move(verdict);
    }
  }
  end_ += Clock::now() - start;
  if (!part) return false;
  const format::Node& node = part->test.nodes.back();
  network.result->diagnosis += "; " +
                               std::string(!is_one   ? "wrong together: nodes "
                                           : is_late ? "first node that gives no answer alone: "
                                                     : "first wrong node: ") +
                               (is_one ? "" : std::to_string(part->first) + " to ") +
                               std::to_string(part->last - 1) + " '" + node.name + "' (" +
                               node.op_type + ")";
  if (!is_one && !differs) return true;
  network.question = {ToModel(part->test, part->verdict.expected), InputsOf(part->test)};
  network.outputs = std::move(part->verdict.got);
  network.reference = std::move(part->verdict.expected);
  if (is_one) network.op = node.op_type;
  return true;
}

// Small ones are cheap; large ones have more elements that may differ.
std::vector<TestModel> Examiner::Witnesses(const AnsweredList& explained) {
  std::vector<TestModel> witnesses;
  for (std::size_t i = 0; i < explained.size(); ++i) {
    if (i >= kWitnesses / 2 && i + kWitnesses / 2 < explained.size()) continue;
    if (const TestModel* witness = Witness(*explained[i])) witnesses.push_back(*witness);
  }
  return witnesses;
}

// Places may have used up the row's time.
Budget Examiner::ForConfirmation() const {
  return {tester_->runs() + budget_.max_runs, Clock::now() + kConfirmationTime};
}

Confirmation Examiner::Confirm(const Candidate& candidate, const AnsweredList& explained) {
  if (!tester_) return {};
  return conformance::Confirm(candidate, Witnesses(explained), *tester_, ForConfirmation());
}

void Examiner::Eliminate(std::vector<const Candidate*>& candidates, const AnsweredList& explained) {
  if (!tester_ || candidates.size() < 2) return;
  conformance::Eliminate(candidates, Witnesses(explained), *tester_, ForConfirmation());
}

bool Examiner::IsWrongAlone(const Answered& wrong) {
  const TestModel* witness = Witness(wrong);
  return witness != nullptr && tester_ && IsFault(tester_->Run(*witness).kind);
}

}  // namespace qtx::conformance
