#include "qtx/conformance/fuzz.h"

#include <algorithm>

#include "bisect.h"
#include "differential_tester.h"
#include "fuzz_maker.h"
#include "qtx/conformance/suite.h"

namespace qtx::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBisectionRuns = 200;

class Fuzzer {
 public:
  Fuzzer(const BackendSource& source, const FuzzOptions& options, DifferentialTester tester)
      : source_(source), options_(options), tester_(std::move(tester)) {
    report_.arithmetic = tester_.arithmetic();
  }

  FuzzReport Run() {
    const auto end = Clock::now() + options_.time;
    DraftCounts counts;
    for (std::int64_t i = 0; options_.count > 0 ? i < options_.count : Clock::now() < end; ++i) {
      const std::int64_t number = options_.first + i;
      if (options_.progress) options_.progress(number);
      const auto test =
          RandomModel(options_.seed, number, tester_.arithmetic(), options_.operators, &counts);
      if (test) RunOne(*test, number);
    }
    report_.drafts = counts.drafts;
    report_.refused = counts.refused + counts.unanswered;
    return std::move(report_);
  }

 private:
  void RunOne(const TestModel& test, std::int64_t number) {
    const Verdict verdict = tester_.Run(test);
    ++report_.models;
    for (const format::Node& node : test.nodes) ++report_.operators[node.op_type];
    if (verdict.kind == VerdictKind::kUnsupported) ++report_.unsupported;
    if (!IsFault(verdict.kind)) return;
    ++report_.failures;
    Failure failure;
    failure.model = ToModel(test, verdict.expected);
    failure.inputs = InputsOf(test);
    failure.name = "model " + std::to_string(number) + " of seed " + std::to_string(options_.seed);
    failure.id = "fuzz/" + std::to_string(options_.seed) + "/" + std::to_string(number);
    FuzzFinding& finding = report_.findings[KeyOf(failure, verdict.kind)];
    if (finding.failures++ > 0) return;
    finding.number = number;
    finding.detail = verdict.detail;
    auto shrunk = Shrink(source_, failure,
                         {.arithmetic = tester_.arithmetic(), .max_runs = options_.max_runs});
    if (shrunk) {
      finding.detail = shrunk->detail;
      finding.shrunk = *std::move(shrunk);
    } else {
      finding.detail += "; not shrunk: " + shrunk.error().Text();
    }
  }

  // Key of a finding: the failing node's operator and the kind of failure.
  std::pair<std::string, std::string> KeyOf(const Failure& failure, VerdictKind kind) {
    const auto part = FindFailingPart(tester_, failure.model, failure.inputs, kind,
                                      {tester_.runs() + kBisectionRuns});
    if (!part) return {"network", std::string(Name(kind))};
    const auto& nodes = part->test.nodes;
    return {nodes.size() == 1 ? nodes[0].op_type : "network",
            std::string(Name(part->verdict.kind))};
  }

  const BackendSource& source_;
  const FuzzOptions& options_;
  DifferentialTester tester_;
  FuzzReport report_;
};

}  // namespace

Result<FuzzReport> Fuzz(const BackendSource& source, const FuzzOptions& options) {
  if (FuzzedOperators(options.operators).empty()) {
    std::string names;
    for (const format::OpSchema* row : FuzzedOperators("*"))
      names += " " + std::string(row->op_type);
    return Error{ErrorCode::kInvalid, "operators '" + options.operators + "'",
                 "matches none of" + names};
  }
  QTX_ASSIGN_OR_RETURN(DifferentialTester tester,
                       DifferentialTester::Make(source, options.arithmetic));
  return Fuzzer(source, options, std::move(tester)).Run();
}

}  // namespace qtx::conformance
