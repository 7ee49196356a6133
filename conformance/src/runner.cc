// The run as a whole: backends one after the other, cases spread over workers.
#include "qtx/conformance/runner.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "case_runner.h"
#include "qtx/conformance/suite.h"

namespace qtx::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxJobs = 256;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool Holds(const Case& c, const std::string& arithmetic) {
  return std::ranges::find(c.arithmetics, arithmetic) != c.arithmetics.end();
}

const ExpectedFailure* FindExpected(const BackendSource& source, const CaseResult& result) {
  const std::string with_arithmetic = result.id + " @" + result.arithmetic;
  for (const ExpectedFailure& expected : source.expected_failures) {
    if (GlobMatches(expected.glob, result.id) || GlobMatches(expected.glob, with_arithmetic)) {
      return &expected;
    }
  }
  return nullptr;
}

// Turns what came of a listed case into the outcome the list makes of it.
void ApplyExpectations(const BackendSource& source, CaseResult& result) {
  const ExpectedFailure* expected = FindExpected(source, result);
  if (expected == nullptr || result.outcome == Outcome::kUnsupported) return;
  if (result.outcome == Outcome::kPass) {
    result.outcome = Outcome::kUnexpectedPass;
    result.diagnosis = "passes, but is listed as failing: " + expected->reason;
    return;
  }
  result.diagnosis = "expected " + std::string(Name(result.outcome)) + ": " + expected->reason +
                     " (" + result.diagnosis + ")";
  result.outcome = Outcome::kExpectedFail;
}

// One backend in one arithmetic, on as many threads as asked for.
class Row {
 public:
  Row(const BackendSource& source, std::span<const Case> cases, std::vector<std::size_t> chosen,
      ReferenceResults& references, const RunOptions& options, BackendReport& report)
      : source_(source),
        cases_(cases),
        chosen_(std::move(chosen)),
        references_(references),
        options_(options),
        report_(report) {}

  void Run() {
    const Clock::time_point start = Clock::now();
    report_.cases.resize(chosen_.size());
    const auto limit = std::min<std::size_t>(chosen_.size(), kMaxJobs);
    const std::size_t jobs = std::min(static_cast<std::size_t>(std::max(options_.jobs, 1)),
                                      std::max<std::size_t>(limit, 1));
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < jobs; ++i) workers.emplace_back([this] { Work(); });
    Work();
    workers.clear();  // joins
    for (const CaseResult& result : report_.cases) {
      ++report_.counts[static_cast<std::size_t>(result.outcome)];
    }
    report_.seconds = SecondsSince(start);
  }

 private:
  void Work() {
    const auto backend = source_.make();
    for (std::size_t i = next_++; i < chosen_.size(); i = next_++) {
      const Case& c = cases_[chosen_[i]];
      const Clock::time_point start = Clock::now();
      CaseResult& result = report_.cases[i];
      result.id = c.id;
      result.arithmetic = report_.arithmetic;
      result.spec = c.spec;
      result.why = c.why;
      result.where = c.where;
      result.op = c.op ? c.op->type : "model";
      result.level = c.level;
      result.tags = c.tags;
      if (backend) {
        CaseRunner(source_, **backend, references_).Run(c, chosen_[i], result);
      } else {
        result.outcome = Outcome::kCrash;
        result.diagnosis = backend.error().where + ": " + backend.error().message;
      }
      ApplyExpectations(source_, result);
      result.seconds = SecondsSince(start);
      if (options_.progress) {
        const std::scoped_lock lock(progress_mutex_);
        options_.progress(result);
      }
    }
  }

  const BackendSource& source_;
  std::span<const Case> cases_;
  std::vector<std::size_t> chosen_;  // indices of cases
  ReferenceResults& references_;
  const RunOptions& options_;
  BackendReport& report_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex progress_mutex_;
};

Result<backend::Description> DescribeBackend(const BackendSource& source) {
  QTX_ASSIGN_OR_RETURN(const auto backend, source.make());
  return backend->Describe();
}

// The arithmetics to run a backend in: those asked for, or all it claims; each once.
std::vector<std::string> ArithmeticsOf(const backend::Description& description,
                                       const RunOptions& options) {
  std::vector<std::string> names;
  for (const std::string& name :
       options.arithmetics.empty() ? description.arithmetics : options.arithmetics) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

void RunBackend(const BackendSource& source, std::span<const Case> cases, const RunOptions& options,
                ReferenceResults& references, Report& report) {
  const auto description = DescribeBackend(source);
  BackendReport row;
  row.source = source.name;
  if (!description) {
    row.description.name = source.name;
    row.error = description.error();
    report.backends.push_back(std::move(row));
    return;
  }
  row.description = *description;
  const std::size_t rows_before = report.backends.size();
  for (const std::string& arithmetic : ArithmeticsOf(*description, options)) {
    const bool claimed =
        std::ranges::find(description->arithmetics, arithmetic) != description->arithmetics.end();
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; claimed && i < cases.size(); ++i) {
      if (Holds(cases[i], arithmetic)) chosen.push_back(i);
    }
    if (chosen.empty()) continue;
    BackendReport one = row;
    one.arithmetic = arithmetic;
    one.not_applicable = static_cast<std::int64_t>(cases.size() - chosen.size());
    Row(source, cases, std::move(chosen), references, options, one).Run();
    report.backends.push_back(std::move(one));
  }
  if (report.backends.size() > rows_before) return;
  const auto& names = options.arithmetics.empty() ? description->arithmetics : options.arithmetics;
  row.arithmetic = names.empty() ? "" : names.front();
  row.not_applicable = static_cast<std::int64_t>(cases.size());
  report.backends.push_back(std::move(row));
}

}  // namespace

std::string_view Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "pass";
    case Outcome::kFail:
      return "fail";
    case Outcome::kUnsupported:
      return "unsupported";
    case Outcome::kCrash:
      return "crash";
    case Outcome::kTimeout:
      return "timeout";
    case Outcome::kProtocolError:
      return "protocol_error";
    case Outcome::kExpectedFail:
      return "expected_fail";
    case Outcome::kUnexpectedPass:
      return "unexpected_pass";
  }
  return "fail";
}

Report RunSuite(const std::string& suite, std::span<const Case> cases,
                std::span<const BackendSource> backends, const RunOptions& options) {
  Report report;
  report.suite = suite;
  ReferenceResults references;
  for (const BackendSource& source : backends) {
    RunBackend(source, cases, options, references, report);
  }
  return report;
}

bool Conforms(const BackendReport& row) {
  return !row.error && row.count(Outcome::kFail) == 0 && row.count(Outcome::kCrash) == 0 &&
         row.count(Outcome::kTimeout) == 0 && row.count(Outcome::kProtocolError) == 0 &&
         row.count(Outcome::kUnexpectedPass) == 0;
}

bool Conforms(const Report& report) {
  return std::ranges::all_of(report.backends,
                             [](const BackendReport& row) { return Conforms(row); });
}

}  // namespace qtx::conformance
