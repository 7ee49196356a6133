// qtx bench: backends, each in a process of its own, on the same layers and networks.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "backends.h"
#include "commands.h"
#include "data_folders.h"
#include "filters.h"
#include "node_times.h"
#include "progress.h"
#include "provenance.h"
#include "qtx/bench/machine.h"
#include "qtx/bench/race.h"
#include "qtx/bench/report.h"
#include "qtx/bench/workload.h"
#include "qtx/conformance/report.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/print.h"
#include "qtx/reference/arithmetic.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

using bench::Row;
using bench::Workload;
using conformance::BackendSource;

// Seconds that the reference has; then a workload counts as unchecked.
constexpr double kReferenceSeconds = 20;
// Maximal time of one machine measurement.
constexpr double kFigureSeconds = 0.1;

bool IsCommand(const std::string& name) { return name.starts_with("cmd:"); }

BackendOptions Isolated(const BenchOptions& options, double seconds) {
  return {.process = ProcessOptionsOf(options, seconds), .isolate = true};
}

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// The name of the backend with a number of threads; the default is 1.
Result<std::string> WithThreads(const std::string& name, int threads) {
  const std::string number = std::to_string(threads);
  if (IsCommand(name)) {
    const std::string command = Replaced(name, "{threads}", number);
    if (command != name || threads == 1) return command;
    return Error{ErrorCode::kUnsupported, "", "the command does not contain {threads}"};
  }
  if (threads == 1) return name;
  if (name == "reference" || name.starts_with("reference:") || name.starts_with("faulty:")) {
    return Error{ErrorCode::kUnsupported, "", "computes on one thread"};
  }
  return NameWithThreads(name, threads);
}

Result<BackendSource> Source(const std::string& name, int threads, const BenchOptions& options) {
  QTX_ASSIGN_OR_RETURN(const std::string full, WithThreads(name, threads));
  return FindBackend(full, Isolated(options, options.timeout_seconds));
}

std::vector<std::string> BackendNames(const BenchOptions& options) {
  if (!options.backends.empty()) return options.backends;
  std::vector<std::string> names;
  for (const BuiltIn& built_in : BuiltIns()) names.emplace_back(built_in.name);
  return names;
}

std::vector<int> Threads(const BenchOptions& options) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::set<int> numbers = options.threads.empty()
                                    ? std::set<int>{1, cores}
                                    : std::set<int>(options.threads.begin(), options.threads.end());
  return {numbers.begin(), numbers.end()};
}

// Commands with equal descriptions get numbers.
void TellApart(std::vector<bench::Contender>& contenders) {
  std::map<std::string, std::vector<std::string>> names;  // by label
  for (bench::Contender& contender : contenders) {
    std::vector<std::string>& alike = names[contender.label()];
    const auto found = std::ranges::find(alike, contender.name());
    const auto number = found - alike.begin() + 1;
    if (found == alike.end()) alike.push_back(contender.name());
    if (number > 1) contender.set_label(contender.label() + " #" + std::to_string(number));
  }
}

Result<std::vector<bench::Contender>> MakeContenders(const BenchOptions& options) {
  std::vector<bench::Contender> contenders;
  std::set<std::string> seen;
  for (const std::string& name : BackendNames(options)) {
    if (!IsCommand(name) && name.find("threads=") != std::string::npos) {
      return Error{ErrorCode::kUsage, "--backend " + name, "expected threads in --threads only"};
    }
    if (!seen.insert(name).second) {
      return Error{ErrorCode::kUsage, "--backend " + name, "named twice"};
    }
    QTX_RETURN_IF_ERROR(Source(name, 1, options));  // detects unknown names
    for (const int threads : Threads(options)) {
      contenders.emplace_back(name, threads, Source(name, threads, options), options.arithmetic);
    }
  }
  TellApart(contenders);
  return contenders;
}

Result<void> CheckTypes(const std::vector<Workload>& workloads,
                        const std::vector<std::string>& types) {
  std::set<std::string> known;
  for (const Workload& work : workloads) known.insert(work.types);
  for (const std::string& name : types) {
    if (known.contains(name)) continue;
    std::string names;
    for (const std::string& type : known) names += (names.empty() ? "" : ", ") + type;
    return Error{ErrorCode::kUsage, "--types " + name, "expected one of " + names};
  }
  return {};
}

bool IsChosen(const Workload& work, const BenchOptions& options) {
  const auto matches = [&](const std::string& glob) {
    return conformance::GlobMatches(glob, work.name);
  };
  const bool named = options.filters.empty() || std::ranges::any_of(options.filters, matches);
  return named && (options.types.empty() ||
                   std::ranges::find(options.types, work.types) != options.types.end());
}

Result<std::vector<Workload>> ChooseWorks(const BenchOptions& options) {
  std::vector<Workload> workloads = bench::GeneratedWorkloads();
  std::set<std::string> names;
  for (const std::string& folder : {SuiteFolder() + "/models", options.models}) {
    if (folder.empty()) continue;
    QTX_ASSIGN_OR_RETURN(const std::vector<Workload> networks, bench::NetworkWorkloads(folder));
    std::set<std::string> here;
    for (const Workload& work : networks) {
      if (!names.contains(work.name)) workloads.push_back(work);
      here.insert(work.name);
    }
    names.merge(here);
  }
  QTX_RETURN_IF_ERROR(CheckTypes(workloads, options.types));
  std::erase_if(workloads, [&](const Workload& work) { return !IsChosen(work, options); });
  if (workloads.empty()) return Error{ErrorCode::kUsage, "--filter", "matches no workload"};
  WarnOfIdle(options.filters, workloads, &Workload::name);
  return workloads;
}

int List(const std::vector<Workload>& workloads) {
  for (const Workload& work : workloads) {
    format::Print("{:<44} {:<6} {:>3}  {}\n", work.name, work.types, work.count, work.shape);
  }
  return kDone;
}

// Measures the nodes of each workload that a backend runs, in this process.
Result<void> ProfileAll(const std::vector<Workload>& workloads, const BenchOptions& options) {
  for (const std::string& name : BackendNames(options)) {
    QTX_ASSIGN_OR_RETURN(const BackendSource source, FindBackend(name, {}));
    QTX_ASSIGN_OR_RETURN(const auto backend, source.make());
    for (const Workload& work : workloads) {
      format::Print("{} {} on {}\n", work.name, work.types, name);
      const auto text = [&]() -> Result<std::string> {
        QTX_ASSIGN_OR_RETURN(const bench::Task task, work.make());
        QTX_ASSIGN_OR_RETURN(const auto prepared, backend->Prepare(task.model, options.arithmetic));
        QTX_ASSIGN_OR_RETURN(const NodeTimes measured, MeasureNodes(*prepared, task.inputs));
        return ToText(task.model, measured);
      }();
      const std::string lines = text.has_value() ? *text : text.error().Text() + "\n";
      format::Print("{}", format::Printable::Written(format::PrintableLines(lines)));
      std::fflush(stdout);
    }
  }
  return {};
}

// The reference that computes the profile; nullptr without one.
Result<std::unique_ptr<backend::Backend>> Deployed(const BenchOptions& options) {
  const std::string& profile = options.profile;
  if (profile.empty()) return std::unique_ptr<backend::Backend>();
  const auto source =
      FindBackend("reference:profile=" + profile, Isolated(options, kReferenceSeconds));
  if (source.has_value()) return source->make();
  return Error{ErrorCode::kUsage, "--profile " + profile, source.error().message};
}

// What SIGINT did before, and whether it came.
void (*end_at_once)(int) = SIG_DFL;
volatile std::sig_atomic_t interrupted = 0;

// The first SIGINT keeps what is measured, the second ends the program. Without backends the race
// under way, which is left out, is over at once.
extern "C" void StopRacing(int signal_number) {
  interrupted = 1;
  std::signal(signal_number, end_at_once);
  conformance::KillBackendProcesses();
}

void KeepResultsOnInterrupt() {
  end_at_once = std::signal(SIGINT, StopRacing);
  if (end_at_once == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

// Races workloads one after another, all types of a name together.
void RaceAll(std::span<const Workload> workloads, std::span<bench::Contender> contenders,
             const BenchOptions& options, bench::Report& report) {
  const std::size_t all = workloads.size();
  const auto start = std::chrono::steady_clock::now();
  while (!workloads.empty()) {
    const auto end = std::ranges::find_if(
        workloads, [&](const Workload& work) { return work.name != workloads.front().name; });
    const auto count = static_cast<std::size_t>(end - workloads.begin());
    bench::Results found;
    {
      const ProgressLine line(
          [&] {
            const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
            const auto done = static_cast<double>(all - workloads.size());
            const double left =
                spent.count() * static_cast<double>(workloads.size()) / std::max(done, 1.0);
            return fmt::format("{}/{}  {} left  {}", all - workloads.size(), all,
                               done > 0 ? Duration(left) : "?", workloads.front().name);
          },
          options.quiet, std::chrono::seconds(1));
      found = bench::Race(workloads.first(count), contenders, report.options);
    }
    if (interrupted != 0) {
      report.interrupted = true;
      format::Print(stderr, "interrupted at {}: {} of {} workloads are left out\n",
                    workloads.front().name, workloads.size(), all);
      return;
    }
    if (options.SaysText()) format::Print("{}", bench::ToText(report.machine, found));
    std::fflush(stdout);
    bench::Results& kept = report.results;
    kept.rows.insert(kept.rows.end(), found.rows.begin(), found.rows.end());
    kept.skipped.insert(kept.skipped.end(), found.skipped.begin(), found.skipped.end());
    workloads = workloads.subspan(count);
  }
}

bool Failed(const Row& row) {
  if (row.outcome == "crash" || row.outcome == "timeout" || row.outcome == "protocol_error") {
    return true;
  }
  return row.arithmetic == "exact" && row.comparison && !row.exact();
}

Result<void> Write(const BenchOptions& options, const bench::Report& report) {
  if (options.svg.empty()) return {};
  return format::WriteFileAtomically(options.svg, bench::ToSvg(report));
}

}  // namespace

int Bench(const BenchOptions& options) {
  if (const auto known = reference::FindArithmetic(options.arithmetic); !known.has_value()) {
    return Fail(Error{ErrorCode::kUsage, "--arithmetic", known.error().message});
  }
  const auto workloads = ChooseWorks(options);
  if (!workloads.has_value()) return Fail(workloads.error());
  if (options.list) return List(*workloads);
  if (options.node_times) {
    const auto profiled = ProfileAll(*workloads, options);
    return profiled.has_value() ? kDone : Fail(profiled.error());
  }
  const auto outputs = CheckOutputs({{"--json", options.json}, {"--svg", options.svg}},
                                    BackendFiles(options.backends));
  if (!outputs.has_value()) return Fail(outputs.error());
  auto contenders = MakeContenders(options);
  if (!contenders.has_value()) return Fail(contenders.error());
  const auto source = FindBackend("reference", Isolated(options, kReferenceSeconds));
  if (!source.has_value()) return Fail(source.error());
  const auto reference = source->make();
  if (!reference.has_value()) return Fail(reference.error());
  const auto deployed = Deployed(options);
  if (!deployed.has_value()) return Fail(deployed.error());

  bench::Report report;
  report.provenance = ThisProvenance();
  report.options.rounds = options.rounds;
  report.options.seconds = options.seconds;
  report.options.longest = options.longest;
  if (!options.unchecked) {
    report.options.reference = reference->get();
    report.options.deployed = deployed->get();
  }
  report.options.profile = options.profile;
  report.machine =
      bench::MeasureMachine(Threads(options), std::min(kFigureSeconds, 3 * options.seconds));
  if (options.SaysText()) {
    format::Print("{}\n{}", conformance::Summary(report.provenance), bench::ToText(report.machine));
  }
  report.options.stopped = [] { return interrupted != 0; };
  KeepResultsOnInterrupt();
  RaceAll(*workloads, *contenders, options, report);
  const auto written = Write(options, report);
  if (!written.has_value()) return Fail(written.error());
  const bool failed = std::ranges::any_of(report.results.rows, Failed);
  return Finish(options,
                report.interrupted ? kInterrupted
                : failed           ? kFailed
                                   : kDone,
                [&] { return bench::ToJson(report); });
}

}  // namespace qtx::cli
