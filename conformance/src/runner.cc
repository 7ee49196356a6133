// The run as a whole: backends one after the other, cases spread over workers.
#include "qtx/conformance/runner.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "case_runner.h"
#include "differential_tester.h"
#include "draw.h"
#include "expectations.h"
#include "long_session.h"
#include "probe_inputs.h"
#include "qtx/conformance/journal.h"
#include "qtx/format/threads.h"
#include "qtx/reference/arithmetic.h"

namespace qtx::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxJobs = 256;
constexpr int kMaxFreshInstances = 1024;  // fresh instances of a row, for wrong answers

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool Holds(const Case& c, const std::string& arithmetic) {
  return std::ranges::find(c.arithmetics, arithmetic) != c.arithmetics.end();
}

// True if the fault is the suite's: no list of a backend's failures excuses it.
bool IsBad(Outcome outcome) {
  return outcome == Outcome::kBadExpectation || outcome == Outcome::kBadGolden;
}

// Converts the outcome of a case by the list of expected failures.
void ApplyExpectations(const ExpectationIndex& expectations, CaseResult& result) {
  const ExpectedFailure* expected = expectations.Find(result);
  const bool answered = result.outcome == Outcome::kPass || Fails(result.outcome);
  if (expected == nullptr || !answered || IsBad(result.outcome)) return;
  if (result.outcome == Outcome::kPass) {
    result.outcome = Outcome::kUnexpectedPass;
    result.diagnosis = "passes, but is listed as failing: " + expected->reason;
    return;
  }
  result.diagnosis = "expected " + std::string(Name(result.outcome)) + ": " + expected->reason +
                     " (" + result.diagnosis + ")";
  result.outcome = Outcome::kExpectedFail;
}

void AddProtocolFault(const Error& fault, BackendReport& row) {
  const auto text = [&](const Error& known) { return known.Text() == fault.Text(); };
  if (std::ranges::none_of(row.protocol_faults, text)) row.protocol_faults.push_back(fault);
}

std::optional<Error> FaultOf(const Journal* journal) {
  return journal == nullptr ? std::nullopt : journal->error();
}

// The fields of a result that come from its case.
void Introduce(const Case& c, const std::string& arithmetic, CaseResult& result) {
  result.id = c.id;
  result.position = c.position;
  result.arithmetic = arithmetic;
  result.spec = c.spec;
  result.why = c.why;
  result.where = c.where;
  const bool is_one_node = c.nodes.size() == 1;
  result.op = c.op ? c.op->type : is_one_node ? c.nodes[0].op.type : "model";
  result.level = c.level;
  result.tags = c.tags;
}

// Serializes callbacks.
class Listener {
 public:
  explicit Listener(const RunOptions& options) : options_(options) {}
  void Started(const Case& c) {
    if (!options_.started) return;
    const std::scoped_lock lock(mutex_);
    options_.started(c.id);
  }
  void Finished(const CaseResult& result) {
    if (!options_.progress) return;
    const std::scoped_lock lock(mutex_);
    options_.progress(result);
  }

 private:
  const RunOptions& options_;
  std::mutex mutex_;
};

// One backend in one arithmetic, on as many threads as asked for.
class Row {
 public:
  Row(const BackendSource& source, std::span<const Case> cases, std::vector<std::size_t> chosen,
      BackendReport& report)
      : source_(source),
        expectations_(source.expected_failures),
        cases_(cases),
        chosen_(std::move(chosen)),
        report_(report) {}

  void Run(Oracle& oracle, const RunOptions& options) {
    const Clock::time_point start = Clock::now();
    report_.cases.resize(chosen_.size());
    const auto jobs = std::min<std::int64_t>({options.jobs, kMaxJobs, std::ssize(chosen_)});
    Listener listener(options);
    format::InThreads(jobs, [&] {
      try {
        Work(oracle, options.journal, listener);
      } catch (const std::exception&) {
        next_ = chosen_.size();  // the others end too
        throw;
      }
    });
    if (report_.error) report_.cases.clear();
    for (const CaseResult& result : report_.cases) {
      ++report_.counts[static_cast<std::size_t>(result.outcome)];
    }
    report_.seconds = SecondsSince(start);
  }

 private:
  using Instance = Result<std::unique_ptr<backend::Backend>>;

  void Work(Oracle& oracle, Journal* journal, Listener& listener) {
    const Instance backend = source_.make();
    RunCases(backend, oracle, journal, listener);
    if (!backend) return;
    auto* const isolated = dynamic_cast<IsolatedBackend*>(backend->get());
    if (isolated == nullptr) return;
    if (const auto fault = isolated->Close()) {
      const std::scoped_lock lock(stopping_);
      AddProtocolFault(*fault, report_);
    }
  }

  void RunCases(const Instance& backend, Oracle& oracle, Journal* journal, Listener& listener) {
    for (std::size_t i = next_++; i < chosen_.size(); i = next_++) {
      const Case& c = cases_[chosen_[i]];
      CaseResult& result = report_.cases[i];
      listener.Started(c);
      auto known = journal == nullptr ? std::nullopt : journal->Find(report_, c);
      if (known) result = *std::move(known);
      Introduce(c, report_.arithmetic, result);
      if (!known) {
        const std::optional<Error> fault = RunCase(backend, oracle, i);
        if (journal != nullptr && !fault) journal->Append(report_, c, result);
        if (fault && fault->code == ErrorCode::kSystem) return Stop(*fault);
        // Results that no journal keeps would be run again.
        if (const auto lost = FaultOf(journal)) return Stop(*lost);
      }
      ApplyExpectations(expectations_, result);
      listener.Finished(result);
    }
  }

  static bool IsWrong(const CaseResult& result) {
    return result.outcome == Outcome::kFail && result.evidence && !result.unstable;
  }

  // If a fresh instance passes, or is unstable itself, the wrong answer depends on earlier
  // requests.
  void AskAFreshInstance(Oracle& oracle, std::size_t i, CaseResult& result) {
    const Instance fresh = source_.make();
    if (!fresh || source_.is_reference) return;
    CaseResult again;
    again.arithmetic = result.arithmetic;
    CaseRunner(source_, **fresh, oracle).Run(cases_[chosen_[i]], chosen_[i], again);
    if (again.outcome != Outcome::kPass && !again.unstable) return;
    result.unstable = true;
    result.diagnosis += "; a fresh instance of the backend answers otherwise";
  }

  // The next cases would meet the same.
  void Stop(const Error& fault) {
    next_ = chosen_.size();
    const std::scoped_lock lock(stopping_);
    report_.error = fault;
  }

  // Why the backend could not be started, if it could not.
  std::optional<Error> RunCase(const Instance& backend, Oracle& oracle, std::size_t i) {
    const Clock::time_point start = Clock::now();
    CaseResult& result = report_.cases[i];
    std::optional<Error> fault;
    if (backend) {
      CaseRunner runner(source_, **backend, oracle);
      runner.Run(cases_[chosen_[i]], chosen_[i], result);
      if (IsWrong(result) && fresh_instances_-- > 0) AskAFreshInstance(oracle, i, result);
      fault = runner.start_fault();
    } else {
      fault = backend.error();
      result.outcome = Outcome::kCrash;
      result.diagnosis = backend.error().where + ": " + backend.error().message;
    }
    result.seconds = SecondsSince(start);
    return fault;
  }

  const BackendSource& source_;
  const ExpectationIndex expectations_;
  std::span<const Case> cases_;
  std::vector<std::size_t> chosen_;  // indices of cases
  BackendReport& report_;
  std::atomic<int> fresh_instances_ = kMaxFreshInstances;
  std::atomic<std::size_t> next_ = 0;
  std::mutex stopping_;
};

// The cases for one backend and arithmetic, planned before any is run.
struct Plan {
  const BackendSource* source;
  std::vector<std::size_t> chosen;
  BackendReport report;
};

Result<backend::Description> DescribeBackend(const BackendSource& source) {
  QTX_ASSIGN_OR_RETURN(const auto backend, source.make());
  QTX_ASSIGN_OR_RETURN(backend::Description description, backend->Describe());
  for (const std::string& name : description.arithmetics) {
    const auto known = reference::FindArithmetic(name);
    if (known) continue;
    return Error{ErrorCode::kProtocol, "response.describe.arithmetics", known.error().message,
                 "backend_protocol.S7"};
  }
  return description;
}

// What the inputs of a case let a probe ask; a set of bits.
enum Askable : unsigned {
  kQuantizedFirst = 1,
  kSeveralInputs = 2,
  kReals = 4,
  kUnusedBits = 8,
  kAlongAxis = 16,
  kMovable = 32,  // parameters that have places elsewhere
  kAll = 63,
};

// None for a case without inputs, or where a probe cannot break one.
std::optional<unsigned> AskableOf(std::span<const format::Tensor> inputs) {
  unsigned found = 0;
  if (inputs.size() > 1) found |= kSeveralInputs;
  for (const format::Tensor& input : inputs) {
    if (input.bytes.empty()) return std::nullopt;
    if (input.elem_type == format::ElementType::kFloat) found |= kReals;
    if (input.quantization && input.quantization->scale.size() > 1) found |= kAlongAxis;
    if (MovedParameters(input)) found |= kMovable;
    if (format::ElementCount(input) * format::BitWidth(input.elem_type) % 8 != 0) {
      found |= kUnusedBits;
    }
  }
  if (inputs.empty()) return std::nullopt;
  const auto& q = inputs.front().quantization;
  if (q && !q->scale.empty()) found |= kQuantizedFirst;
  return found;
}

// What a probe may ask of a case that passed.
struct Askee {
  const Case* of;
  format::Model model;
  ProbeSubject subject;  // without other inputs
  unsigned askable = 0;
};
std::optional<Askee> AskeeOf(const Case& c, const CaseResult& result) {
  if (result.outcome != Outcome::kPass || !c.error.empty() || !c.op) return std::nullopt;
  auto model = BuildModel(c);
  if (!model) return std::nullopt;
  auto inputs = BuildInputs(c, *model);
  auto bytes = model->Serialize();
  if (!inputs || !bytes) return std::nullopt;
  const auto askable = AskableOf(*inputs);
  if (!askable) return std::nullopt;
  ProbeSubject subject{*std::move(bytes), result.arithmetic, *std::move(inputs), {}};
  return Askee{&c, *std::move(model), std::move(subject), *askable};
}

// With other inputs that the reference answers, where there are any.
ProbeSubject SubjectOf(Askee askee) {
  ProbeSubject& subject = askee.subject;
  for (auto& drawn : DrawAgain(askee.model, subject.inputs, 1)) {
    if (!subject.others.empty()) break;
    if (ReferenceAnswer(askee.model, drawn, subject.arithmetic)) subject.others = std::move(drawn);
  }
  return std::move(subject);
}

// Models of the row that the backend runs, for a probe: one whose first input is quantized; of
// other operators, those that have something more to ask for; and another one of the first's.
std::vector<ProbeSubject> SubjectsOf(std::span<const Case> cases, const Plan& plan) {
  constexpr std::size_t kLooked = 4000;  // cases
  std::vector<ProbeSubject> subjects;
  std::set<std::string> operators;
  std::optional<Askee> first;
  bool has_like = false;
  unsigned asked = 0;
  const std::size_t count = std::min(plan.report.cases.size(), kLooked);
  for (std::size_t i = 0; i < count && (asked != kAll || !has_like); ++i) {
    const Case& c = cases[plan.chosen[i]];
    const bool is_like = first && !has_like && c.op && c.op->type == first->of->op->type;
    if (c.op && operators.contains(c.op->type) && !is_like) continue;
    auto askee = AskeeOf(c, plan.report.cases[i]);
    if (!askee || (!first && (askee->askable & kQuantizedFirst) == 0)) continue;
    const bool is_new =
        is_like ? askee->subject.model != first->subject.model : (askee->askable | asked) != asked;
    if (!is_new) continue;
    if (!first) first = askee;
    has_like = has_like || is_like;
    asked |= askee->askable;
    operators.insert(c.op->type);
    subjects.push_back(SubjectOf(*std::move(askee)));
  }
  return subjects;
}

// What no case shows of a backend: of the protocol, and of many runs.
void ProbeBackend(std::span<const Case> cases, Plan& plan) {
  const BackendSource& source = *plan.source;
  const std::vector<ProbeSubject> subjects = SubjectsOf(cases, plan);
  if (source.probe) {
    for (const Error& fault : source.probe(subjects)) AddProtocolFault(fault, plan.report);
  }
  if (subjects.empty() || source.is_reference || source.single_runs) return;
  if (const auto fault = FaultOfLongSession(source, subjects)) {
    AddProtocolFault(*fault, plan.report);
  }
}

// The arithmetics in which to run a backend: those selected, else all it has; without repeats.
std::vector<std::string> ArithmeticsOf(const backend::Description& description,
                                       const RunOptions& options) {
  std::vector<std::string> names;
  for (const std::string& name :
       options.arithmetics.empty() ? description.arithmetics : options.arithmetics) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

// Indices of the cases to run in `arithmetic`; none if the backend lacks it.
std::vector<std::size_t> Choose(std::span<const Case> cases,
                                const backend::Description& description,
                                const std::string& arithmetic) {
  std::vector<std::size_t> chosen;
  const bool claimed =
      std::ranges::find(description.arithmetics, arithmetic) != description.arithmetics.end();
  for (std::size_t i = 0; claimed && i < cases.size(); ++i) {
    if (Holds(cases[i], arithmetic)) chosen.push_back(i);
  }
  return chosen;
}

void PlanBackend(const BackendSource& source, std::span<const Case> cases,
                 const RunOptions& options, std::vector<Plan>& plans) {
  const auto description = DescribeBackend(source);
  BackendReport row;
  row.source = source.name;
  if (!description) {
    row.description.name = source.name;
    row.error = description.error();
    plans.push_back({&source, {}, std::move(row)});
    return;
  }
  row.description = *description;
  const std::size_t before = plans.size();
  const std::vector<std::string> arithmetics = ArithmeticsOf(*description, options);
  for (const std::string& arithmetic : arithmetics) {
    std::vector<std::size_t> chosen = Choose(cases, *description, arithmetic);
    if (chosen.empty()) continue;
    BackendReport one = row;
    one.arithmetic = arithmetic;
    one.not_applicable = static_cast<std::int64_t>(cases.size() - chosen.size());
    plans.push_back({&source, std::move(chosen), std::move(one)});
  }
  if (plans.size() > before) return;
  row.arithmetic = arithmetics.empty() ? "" : arithmetics.front();
  row.not_applicable = static_cast<std::int64_t>(cases.size());
  plans.push_back({&source, {}, std::move(row)});
}

}  // namespace

std::string_view Name(Outcome outcome) {
  constexpr std::array<std::string_view, kOutcomes> kNames = {
      "pass",           "fail",          "unsupported",     "crash", "timeout",
      "protocol_error", "expected_fail", "unexpected_pass", "self",  "bad_expectation",
      "bad_golden"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string_view Name(ExpectationSource source) {
  constexpr std::array<std::string_view, kExpectationSources> kNames = {"hand", "third_party",
                                                                        "text", "reference"};
  return kNames[static_cast<std::size_t>(source)];
}

bool Fails(Outcome outcome) {
  return outcome != Outcome::kPass && outcome != Outcome::kUnsupported &&
         outcome != Outcome::kExpectedFail && outcome != Outcome::kSelf;
}

std::array<std::int64_t, kExpectationSources> BackendReport::Passes() const {
  std::array<std::int64_t, kExpectationSources> passes{};
  for (const CaseResult& result : cases) {
    if (result.outcome == Outcome::kPass) ++passes[static_cast<std::size_t>(result.expectation)];
  }
  return passes;
}

Report RunSuite(const std::string& suite, std::span<const Case> cases,
                std::span<const BackendSource> backends, const RunOptions& options) {
  std::vector<Plan> plans;
  for (const BackendSource& source : backends) PlanBackend(source, cases, options, plans);
  std::size_t planned = 0;
  for (const Plan& plan : plans) planned += plan.chosen.size();
  if (options.planned) options.planned(planned);
  Report report;
  report.suite = suite;
  report.selected = std::ssize(cases);
  ReferenceResults references(options.features);
  Oracle oracle(references, options.text_answers);
  for (Plan& plan : plans) {
    if (!plan.chosen.empty()) {
      Row(*plan.source, cases, plan.chosen, plan.report).Run(oracle, options);
      Diagnose(cases, *plan.source, options.diagnosis, plan.report);
    }
    const bool probed =
        !report.backends.empty() && report.backends.back().source == plan.source->name;
    if (!probed && !plan.report.error) ProbeBackend(cases, plan);
    report.backends.push_back(std::move(plan.report));
    if (FaultOf(options.journal)) break;
  }
  return report;
}

bool Conforms(const BackendReport& row) {
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    if (row.counts[i] != 0 && Fails(static_cast<Outcome>(i))) return false;
  }
  return !row.error && row.protocol_faults.empty();
}

double Coverage::percent() const {
  return cases == 0 ? 100.0 : 100.0 * static_cast<double>(run) / static_cast<double>(cases);
}

std::vector<Coverage> CoverageOf(const Report& report) {
  std::vector<Coverage> all;
  std::string_view source;
  for (const BackendReport& row : report.backends) {
    if (all.empty() || row.source != source) all.push_back({.name = row.description.name});
    source = row.source;
    Coverage& coverage = all.back();
    coverage.cases += std::ssize(row.cases);
    coverage.run += std::ssize(row.cases) - row.count(Outcome::kUnsupported);
    coverage.conforms = coverage.conforms && Conforms(row);
  }
  const bool whole = report.shards == 1;
  for (Coverage& coverage : all) {
    const bool enough = coverage.run > 0 && coverage.percent() >= report.min_coverage;
    coverage.conforms = coverage.conforms && (enough || !whole);
  }
  return all;
}

bool Conforms(const Report& report) {
  if (report.strict_expectations && !report.stale_expectations.empty()) return false;
  return std::ranges::all_of(CoverageOf(report), &Coverage::conforms);
}

}  // namespace qtx::conformance
