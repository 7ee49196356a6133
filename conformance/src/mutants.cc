// Each mutant has a process of its own, forked from this one after the cases are built: what a
// mutant breaks ends with it.
#include "qtx/conformance/mutants.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "case_runner.h"
#include "digest.h"
#include "draw.h"
#include "guarded.h"
#include "oracle.h"

namespace qtx::conformance {
namespace {

using format::Tensor;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMemory = std::int64_t{1} << 32;  // bytes of address space of a mutant
constexpr double kSlower = 50;       // times as long as without a mutant, plus a second: it hangs
constexpr unsigned kWallClock = 60;  // seconds of a case that waits and does not compute

// An array in memory that forked processes share. REQUIRES: the system has that much.
template <typename T>
class Shared {
 public:
  explicit Shared(std::size_t count)
      : bytes_((count + 1) * sizeof(T)),
        at_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(at_, bytes_); }
  T& operator[](std::size_t i) const { return static_cast<T*>(at_)[i]; }

 private:
  std::size_t bytes_;
  void* at_;
};

// A case in one arithmetic on one backend.
struct CaseQuestion {
  std::size_t index;  // of the case
  const BackendSource* source;
  std::string arithmetic;
  std::shared_ptr<const format::Model> model;
  std::shared_ptr<const std::vector<Tensor>> inputs, others;  // may be null
  bool threaded;  // asked with more threads, too, as in its session
};

// What is known of a question without a mutant.
struct Clean {
  std::uint64_t answer;
  double seconds;
  Outcome outcome;
};

// What a mutant's process tells: positions of questions, -1 for none.
struct CaseVerdict {
  std::int32_t asked;
  std::int32_t killer;
  bool declines;  // a question that passes without the mutant
};

// The case's own inputs, and other ones; null where there are none.
using SharedInputs = std::shared_ptr<const std::vector<Tensor>>;
std::pair<SharedInputs, SharedInputs> InputsOf(const Case& c, const format::Model& model) {
  auto values = BuildInputs(c, model);
  if (!values) return {};
  SharedInputs others;
  auto drawn = c.op ? DrawAgain(model, *values, 1) : std::vector<std::vector<Tensor>>();
  if (!drawn.empty()) {  // the last one breaks rules of operators least
    others = std::make_shared<const std::vector<Tensor>>(std::move(drawn.back()));
  }
  return {std::make_shared<const std::vector<Tensor>>(*std::move(values)), others};
}

Result<std::vector<CaseQuestion>> QuestionsOf(std::span<const Case> cases,
                                              std::span<const BackendSource> backends) {
  std::vector<std::vector<std::string>> arithmetics;
  for (const BackendSource& source : backends) {
    QTX_ASSIGN_OR_RETURN(const auto backend, source.make());
    QTX_ASSIGN_OR_RETURN(auto description, backend->Describe());
    arithmetics.push_back(std::move(description.arithmetics));
  }
  std::vector<CaseQuestion> questions;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto built = BuildModel(cases[i]);
    if (!built) continue;
    const auto model = std::make_shared<const format::Model>(*std::move(built));
    const auto [inputs, others] = InputsOf(cases[i], *model);
    const bool thorough = std::ranges::find(cases[i].tags, kSessionTag) != cases[i].tags.end();
    for (std::size_t b = 0; b < backends.size(); ++b) {
      for (const std::string& name : cases[i].arithmetics) {
        if (std::ranges::find(arithmetics[b], name) == arithmetics[b].end()) continue;
        questions.push_back({i, &backends[b], name, model, inputs, others,
                             thorough && backends[b].make_with_threads});
      }
    }
  }
  return questions;
}

void Add(Digest& digest, const Result<std::vector<Tensor>>& answer) {
  if (!answer) {
    digest.Add(static_cast<std::int64_t>(answer.error().code));
    return digest.Add(answer.error().clause);
  }
  for (const Tensor& tensor : *answer) digest.Add(tensor);
}

// Adds all that a backend answers; of errors only what a case compares.
template <typename Make>
void AddAnswers(Digest& digest, const CaseQuestion& question, const Make& make) {
  const auto asked = Guarded([&]() -> Result<std::vector<Tensor>> {
    QTX_ASSIGN_OR_RETURN(const auto backend, make());
    QTX_ASSIGN_OR_RETURN(const auto prepared,
                         backend->Prepare(*question.model, question.arithmetic));
    if (question.inputs == nullptr) return std::vector<Tensor>();
    Add(digest, prepared->Run(*question.inputs));
    if (question.others == nullptr) return std::vector<Tensor>();
    Add(digest, prepared->Run(*question.others));
    return prepared->Run(*question.inputs);
  });
  Add(digest, asked);
}

std::uint64_t AnswerTo(const CaseQuestion& question) {
  Digest digest;
  AddAnswers(digest, question, question.source->make);
  if (!question.threaded) return digest.value();
  for (const int threads : {2, 8}) {
    AddAnswers(digest, question, [&] { return question.source->make_with_threads(threads); });
  }
  return digest.value();
}

// Ends this process where a case computes or waits for too long.
void LimitTime(double clean_seconds) {
  const double seconds = 1 + kSlower * clean_seconds;
  itimerval limit{};
  limit.it_value.tv_sec = static_cast<time_t>(seconds);
  limit.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_PROF, &limit, nullptr);
  alarm(kWallClock);
}

// Calls `work` in a copy of this process, which then ends.
template <typename Work>
Result<pid_t> InProcess(const Work& work) {
  const pid_t child = fork();
  if (child < 0) return Error{ErrorCode::kSystem, "fork", std::strerror(errno)};
  if (child > 0) return child;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which take more
  const rlimit memory{kMemory, kMemory};
  setrlimit(RLIMIT_AS, &memory);
#endif
  const rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
  if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
  work();
  _exit(0);
}

class MutantRunner {
 public:
  MutantRunner(std::span<const Case> cases, std::vector<CaseQuestion> questions,
               const MutatedProgram& program, std::size_t mutants, const MutantOptions& options)
      : cases_(cases),
        questions_(std::move(questions)),
        program_(program),
        options_(options),
        words_(program.states.size() / 64 + 1),
        noticed_words_(questions_.size() / 64 + 1),
        clean_(questions_.size()),
        reached_(questions_.size() * words_),
        noticed_(options.all_that_notice ? mutants * noticed_words_ : 0) {}

  // Asks every question without a mutant, and notes which mutants it reaches.
  Result<std::vector<std::string>> RunClean() {
    std::vector<pid_t> processes;
    for (int job = 0; job < options_.jobs; ++job) {
      const auto work = [this, job] {
        for (std::size_t q = 0; q < questions_.size(); ++q) {
          if (q % static_cast<std::size_t>(options_.jobs) == static_cast<std::size_t>(job)) Note(q);
        }
      };
      QTX_ASSIGN_OR_RETURN(const pid_t process, InProcess(work));
      processes.push_back(process);
    }
    for (const pid_t process : processes) {
      int status = 0;
      if (waitpid(process, &status, 0) != process || status != 0) {
        return Error{ErrorCode::kSystem, "the suite without a mutant", "found a crash"};
      }
    }
    std::vector<std::string> blamed;
    for (std::size_t q = 0; q < questions_.size(); ++q) {
      Fails(clean_[q].outcome) ? blamed.push_back(NameOf(q))
                               : order_.push_back(static_cast<Position>(q));
    }
    std::ranges::sort(order_, {}, [this](Position q) {
      return std::pair(!IsCore(q), clean_[static_cast<std::size_t>(q)].seconds);
    });
    return blamed;
  }

  Result<std::vector<MutantResult>> Run(std::span<const Mutant> mutants) {
    const Shared<CaseVerdict> verdicts(mutants.size());
    std::vector<MutantResult> results(mutants.size());
    std::map<pid_t, std::size_t> running;
    std::size_t next = 0;
    while (next < mutants.size() || !running.empty()) {
      if (next < mutants.size() && std::ssize(running) < options_.jobs) {
        results[next].mutant = mutants[next];
        const std::vector<Position> order = OrderFor(mutants[next]);
        results[next].reached = std::ssize(order);
        const auto work = [&, this] { Ask(next, mutants[next].number, order, verdicts[next]); };
        if (!order.empty()) {
          QTX_ASSIGN_OR_RETURN(const pid_t child, InProcess(work));
          running.emplace(child, next);
        }
        ++next;
        continue;
      }
      int status = 0;
      const auto ended = running.find(waitpid(-1, &status, 0));
      if (ended == running.end()) return Error{ErrorCode::kSystem, "waitpid", "found no child"};
      Take(status, verdicts[ended->second], results[ended->second]);
      TakeAllThatNotice(ended->second, results[ended->second]);
      running.erase(ended);
    }
    return results;
  }

 private:
  using Position = std::int32_t;  // of a question

  bool IsCore(Position q) const {
    return cases_[questions_[static_cast<std::size_t>(q)].index].level == "core";
  }
  std::string NameOf(std::size_t q) const {
    const CaseQuestion& question = questions_[q];
    return question.source->name + " @" + question.arithmetic + ": " + cases_[question.index].id;
  }

  void Note(std::size_t q) {
    std::ranges::fill(program_.states, MutantState::kNoted);
    const Clock::time_point start = Clock::now();
    clean_[q].answer = AnswerTo(questions_[q]);
    clean_[q].seconds = std::chrono::duration<double>(Clock::now() - start).count();
    for (std::size_t m = 0; m < program_.states.size(); ++m) {
      if (program_.states[m] == MutantState::kOff) {
        reached_[q * words_ + m / 64] |= std::uint64_t{1} << (m % 64);
      }
    }
    std::ranges::fill(program_.states, MutantState::kOff);
    if (questions_[q].index != judged_) references_.emplace(format::Features::Current());
    judged_ = questions_[q].index;
    // Sessions would take most of the time, and nothing is wrong here.
    BackendSource once = *questions_[q].source;
    once.single_runs = true;
    clean_[q].outcome = Judge(q, once, *references_);
  }

  Outcome Judge(std::size_t q, const BackendSource& source, ReferenceResults& references) const {
    const CaseQuestion& question = questions_[q];
    Oracle oracle(references, options_.text_answers);
    const auto backend = source.make();
    if (!backend) return Outcome::kFail;
    CaseResult result;
    result.arithmetic = question.arithmetic;
    CaseRunner(source, **backend, oracle).Run(cases_[question.index], question.index, result);
    return result.outcome;
  }

  // The questions that reach a mutant: level `core` first, in each level those that noticed other
  // mutants of the file, then the fastest.
  std::vector<Position> OrderFor(const Mutant& mutant) const {
    std::vector<Position> order;
    std::ranges::copy_if(order_, std::back_inserter(order), [&](Position q) {
      const std::size_t word = static_cast<std::size_t>(q) * words_ + mutant.number / 64;
      return (reached_[word] >> (mutant.number % 64) & 1) != 0;
    });
    const auto known = killers_.find(mutant.file);
    if (known == killers_.end()) return order;
    std::ranges::stable_sort(
        order, {}, [&](Position q) { return std::pair(!IsCore(q), !known->second.contains(q)); });
    return order;
  }

  // Stops at the first case that notices; where all are asked for, at the first of level `core`.
  void Ask(std::size_t index, unsigned number, const std::vector<Position>& order,
           CaseVerdict& verdict) {
    verdict.killer = -1;
    program_.states[number] = MutantState::kOn;
    for (const Position q : order) {
      const auto at = static_cast<std::size_t>(q);
      verdict.asked = q;
      LimitTime(clean_[at].seconds);
      if (AnswerTo(questions_[at]) == clean_[at].answer) continue;
      ReferenceResults references(format::Features::Current());
      const Outcome outcome = Judge(at, *questions_[at].source, references);
      verdict.declines |= outcome == Outcome::kUnsupported && outcome != clean_[at].outcome;
      if (!Fails(outcome)) continue;
      if (verdict.killer < 0) verdict.killer = q;
      if (!options_.all_that_notice || IsCore(q)) return;
      noticed_[index * noticed_words_ + at / 64] |= std::uint64_t{1} << (at % 64);
    }
  }

  void Take(int status, const CaseVerdict& verdict, MutantResult& result) {
    result.fate = verdict.declines ? Fate::kDeclined : Fate::kSurvived;
    Position killer = verdict.killer;
    if (status != 0) {
      const bool hung =
          WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM);
      result.fate = hung ? Fate::kHung : Fate::kCrashed;
      killer = verdict.asked;
    } else if (killer >= 0) {
      result.fate = Fate::kWrong;
    }
    if (!IsKilled(result.fate)) return;
    result.killed_by = NameOf(static_cast<std::size_t>(killer));
    result.killed_by_core = IsCore(killer);
    killers_[result.mutant.file].insert(killer);
  }

  void TakeAllThatNotice(std::size_t index, MutantResult& result) const {
    for (std::size_t q = 0; options_.all_that_notice && q < questions_.size(); ++q) {
      const std::uint64_t word = noticed_[index * noticed_words_ + q / 64];
      if ((word >> (q % 64) & 1) == 0) continue;
      const std::string& id = cases_[questions_[q].index].id;
      if (result.noticed_by.empty() || result.noticed_by.back() != id) {
        result.noticed_by.push_back(id);
      }
    }
  }

  std::span<const Case> cases_;
  const std::vector<CaseQuestion> questions_;
  const MutatedProgram& program_;
  const MutantOptions& options_;
  const std::size_t words_;          // of 64 bits, of a question in reached_
  const std::size_t noticed_words_;  // of 64 bits, of a mutant in noticed_
  const Shared<Clean> clean_;
  const Shared<std::uint64_t> reached_, noticed_;
  std::optional<ReferenceResults> references_;  // of the case judged last
  std::optional<std::size_t> judged_;
  std::vector<Position> order_;
  std::map<std::string_view, std::set<Position>> killers_;  // by file
};

}  // namespace

Result<MutantReport> MeasureMutants(const std::string& suite, std::span<const Case> cases,
                                    std::span<const BackendSource> backends,
                                    const MutatedProgram& program, std::span<const Mutant> mutants,
                                    const MutantOptions& options) {
  const Clock::time_point start = Clock::now();
  QTX_ASSIGN_OR_RETURN(auto questions, QuestionsOf(cases, backends));
  MutantRunner runner(cases, std::move(questions), program, mutants.size(), options);
  MutantReport report{.suite = suite, .cases = std::ssize(cases)};
  QTX_ASSIGN_OR_RETURN(report.blamed, runner.RunClean());
  QTX_ASSIGN_OR_RETURN(report.mutants, runner.Run(mutants));
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

}  // namespace qtx::conformance
