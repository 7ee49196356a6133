// The run: models one after the other, each as a session, in blocks that a journal keeps.
#include "qtx/conformance/fuzz.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "differential_tester.h"
#include "fuzz_groups.h"
#include "fuzz_journal.h"
#include "fuzz_maker.h"
#include "qtx/conformance/suite.h"

namespace qtx::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBlock = 64;   // models that a killed run may lose
constexpr std::int64_t kSmall = 512;  // elements of a model whose session is thorough

// The backend with a number of threads, asked in sessions and in single runs.
struct Asker {
  BackendSource source;
  std::int64_t threads = 0;  // 0: nothing was said
  DifferentialTester sessions;
  DifferentialTester runs;
};

Result<Asker> MakeAsker(const BackendSource& source, const std::string& arithmetic, int threads) {
  BackendSource own = source;
  if (threads != 0) {
    own.make = [make = source.make_with_threads, threads] { return make(threads); };
  }
  QTX_ASSIGN_OR_RETURN(DifferentialTester sessions, DifferentialTester::Make(own, arithmetic));
  QTX_ASSIGN_OR_RETURN(DifferentialTester runs, DifferentialTester::Make(own, arithmetic));
  return Asker{std::move(own), threads, std::move(sessions), std::move(runs)};
}

// One asker that is told nothing, and where the backend has the option some of other threads.
Result<std::vector<Asker>> MakeAskers(const BackendSource& source, const std::string& arithmetic) {
  std::vector<Asker> askers;
  for (const int threads : {0, 2, 8}) {
    if (threads != 0 && !source.make_with_threads) continue;
    QTX_ASSIGN_OR_RETURN(Asker asker, MakeAsker(source, arithmetic, threads));
    askers.push_back(std::move(asker));
  }
  return askers;
}

// `test` with the inputs of a draw.
TestModel WithInputs(TestModel test, const std::vector<format::Tensor>& inputs) {
  std::size_t next = 0;
  for (Datum& datum : test.data) {
    if (!datum.constant && next < inputs.size()) datum.tensor = inputs[next++];
  }
  return test;
}

class Fuzzer {
 public:
  Fuzzer(const FuzzOptions& options, std::vector<Asker> askers, FuzzJournal* journal)
      : options_(options),
        askers_(std::move(askers)),
        journal_(journal),
        groups_(askers_.front().runs.arithmetic(), options.max_runs) {
    report_.arithmetic = askers_.front().runs.arithmetic();
  }

  FuzzReport Run() {
    for (std::int64_t i = 0; Goes(i); i += kBlock) {
      const auto known = journal_ == nullptr ? std::nullopt : journal_->Find(NumberOf(i));
      known&& Goes(i + kBlock - 1) ? RunAgain(*known) : RunBlock(i);
    }
    report_.findings = groups_.Take();
    return std::move(report_);
  }

 private:
  std::int64_t NumberOf(std::int64_t i) const {
    return options_.first + options_.shard.index - 1 + i * options_.shard.count;
  }
  bool Goes(std::int64_t i) const {
    return options_.count > 0 ? NumberOf(i) < options_.first + options_.count : Clock::now() < end_;
  }

  void RunBlock(std::int64_t begin) {
    FuzzBlock block;
    std::int64_t i = begin;
    for (; i < begin + kBlock && Goes(i); ++i) {
      const std::int64_t number = NumberOf(i);
      if (RunOne(number, block.counts)) block.failed.push_back(number);
    }
    report_.counts.Add(block.counts);
    if (journal_ != nullptr && i == begin + kBlock) journal_->Append(NumberOf(begin), block);
  }

  // Only the models that failed are asked again: what is wrong must be seen to be reduced.
  void RunAgain(const FuzzBlock& block) {
    report_.counts.Add(block.counts);
    FuzzCounts again;
    for (const std::int64_t number : block.failed) (void)RunOne(number, again);
  }

  // True if the model fails.
  bool RunOne(std::int64_t number, FuzzCounts& counts) {
    if (options_.progress) options_.progress(number);
    DraftCounts drafts;
    auto test = RandomModel(options_.seed, number, report_.arithmetic, options_.operators, &drafts);
    counts.drafts += drafts.drafts;
    counts.refused += drafts.refused + drafts.unanswered;
    if (!test) return false;
    Asker& asker = AskerOf(number);
    // Threads that come and go take longer than a small model.
    asker.sessions.AskSessions(
        {ElementsOf(*test) <= kSmall ? SessionKind::kThorough : SessionKind::kUsual,
         kZeroDraw + number % kSessionPlainDraws},
        /*at_once=*/asker.threads != 0);
    Verdict verdict = asker.sessions.Run(*test);
    // Many backends take no open shapes.
    if (verdict.kind == VerdictKind::kUnsupported && std::exchange(test->open_shapes, false)) {
      verdict = asker.sessions.Run(*test);
    }
    ++counts.models;
    for (const format::Node& node : test->nodes) ++counts.operators[node.op_type];
    if (verdict.kind == VerdictKind::kUnsupported) ++counts.unsupported;
    if (!IsFault(verdict.kind)) return false;
    ++report_.failures;
    Report(asker, {.test = *test, .verdict = verdict, .number = number});
    return true;
  }

  // Three of four models are asked without a number of threads.
  Asker& AskerOf(std::int64_t number) {
    const auto eighth = static_cast<std::size_t>(number % 8);
    return askers_[eighth == 1 || eighth == 2 ? eighth % askers_.size() : 0];
  }

  // Finds out how little it takes: one run without threads, one run, or a session.
  void Report(Asker& asker, FuzzFailure failure) {
    failure.name =
        "model " + std::to_string(failure.number) + " of seed " + std::to_string(options_.seed);
    failure.id = "fuzz/" + std::to_string(options_.seed) + "/" + std::to_string(failure.number);
    TestModel alone = failure.test;
    if (!failure.verdict.inputs.empty()) alone = WithInputs(alone, failure.verdict.inputs);
    for (Asker* const one : {&askers_.front(), &asker}) {
      Verdict verdict = one->runs.Run(alone);
      if (!IsFault(verdict.kind)) continue;
      failure.test = std::move(alone);
      failure.verdict = std::move(verdict);
      failure.threads = one->threads;
      return groups_.Add(one->source, one->runs, failure);
    }
    failure.session = true;
    failure.threads = asker.threads;
    groups_.Add(asker.source, asker.sessions, failure);
  }

  const FuzzOptions& options_;
  const Clock::time_point end_ =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.time);
  std::vector<Asker> askers_;
  FuzzJournal* journal_;
  FuzzGroups groups_;
  FuzzReport report_;
};

}  // namespace

void FuzzCounts::Add(const FuzzCounts& more) {
  models += more.models;
  unsupported += more.unsupported;
  drafts += more.drafts;
  refused += more.refused;
  for (const auto& [op, nodes] : more.operators) operators[op] += nodes;
}

Result<FuzzReport> Fuzz(const BackendSource& source, const FuzzOptions& options) {
  if (FuzzedOperators(options.operators).empty()) {
    std::string names;
    for (const format::OpSchema* row : FuzzedOperators("*"))
      names += " " + std::string(row->op_type);
    return Error{ErrorCode::kInvalid, "operators '" + options.operators + "'",
                 "matches none of" + names};
  }
  QTX_ASSIGN_OR_RETURN(std::vector<Asker> askers, MakeAskers(source, options.arithmetic));
  std::optional<FuzzJournal> journal;
  if (!options.journal.empty()) {
    QTX_ASSIGN_OR_RETURN(const auto backend, source.make());
    QTX_ASSIGN_OR_RETURN(const backend::Description description, backend->Describe());
    QTX_ASSIGN_OR_RETURN(journal, FuzzJournal::Open(options, askers.front().runs.arithmetic(),
                                                    description, source.name));
  }
  FuzzReport report = Fuzzer(options, std::move(askers), journal ? &*journal : nullptr).Run();
  if (journal && journal->error()) return *journal->error();
  return report;
}

}  // namespace qtx::conformance
