#include "qtx/bench/race.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "clock.h"
#include "compare_outputs.h"

namespace qtx::bench {
namespace {

using format::Tensor;

std::string OutcomeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kIo:
    case ErrorCode::kSystem:
      return "crash";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kProtocol:
      return "protocol_error";
    case ErrorCode::kInvalid:
    case ErrorCode::kTooLarge:
    case ErrorCode::kInternal:
    case ErrorCode::kUnreadable:
    case ErrorCode::kMemory:
    case ErrorCode::kUsage:
      break;
  }
  return "refused";
}

void Fail(const Error& error, Row& row) {
  row.outcome = OutcomeOf(error.code);
  row.reason = error.Text();
}

// A workload's task with its expected outputs, if known.
struct Made {
  const Workload* work;
  Task task;
  // By arithmetic or profile; empty: unknown.
  std::map<std::string, std::vector<Tensor>> expected;
};

// A row under construction.
struct Entrant {
  Made* made;
  Contender* contender;
  Row row;
  std::unique_ptr<backend::PreparedModel> prepared;
};

std::vector<Tensor> Answer(const Task& task, const std::string& arithmetic,
                           backend::Backend* reference) {
  if (reference == nullptr) return {};
  // If the reference exceeds its time limit, the outputs stay unknown and its process is restarted.
  const auto prepared = reference->Prepare(task.model, arithmetic);
  if (!prepared.has_value()) return {};
  auto outputs = (*prepared)->Run(task.inputs);
  return outputs.has_value() ? *std::move(outputs) : std::vector<Tensor>();
}

// Expected outputs in an arithmetic, or by the profile, computed once.
const std::vector<Tensor>& Expected(Made& made, const std::string& name,
                                    const RaceOptions& options) {
  const auto [entry, is_new] = made.expected.try_emplace(name);
  const bool is_profile = options.deployed != nullptr && name == options.profile;
  if (is_new && is_profile) entry->second = Answer(made.task, "exact", options.deployed);
  if (is_new && !is_profile) entry->second = Answer(made.task, name, options.reference);
  return entry->second;
}

// Errors: kProtocol for outputs that are not the model's.
Result<void> Judge(Made& made, std::span<const Tensor> outputs, const RaceOptions& options,
                   Row& row) {
  const auto& exact = Expected(made, "exact", options);
  if (exact.empty()) return {};
  row.comparison = CompareOutputs(exact, outputs);
  if (!row.comparison) {
    return Error{ErrorCode::kProtocol, "outputs", "differ from those that the model declares"};
  }
  // For floats any order of additions is permitted, so only `exact` is compared.
  if (row.floats) return {};
  const auto& own = Expected(made, row.arithmetic, options);
  const auto comparison = own.empty() ? std::nullopt : CompareOutputs(own, outputs);
  if (comparison) row.conforms = comparison->differing == 0;
  return {};
}

Row NewRow(const Made& made, const Contender& contender, const RaceOptions& options) {
  Row row;
  row.work = made.work->name;
  row.shape = made.work->shape;
  row.types = made.work->types;
  row.floats = IsFloat(made.task.model);
  row.count = made.work->count;
  row.threads = contender.threads();
  row.backend = contender.name();
  row.label = contender.label();
  row.version = contender.description().version;
  row.device = contender.description().device;
  row.arithmetic = contender.arithmetic();
  if (options.deployed != nullptr && row.arithmetic != "exact") row.arithmetic = options.profile;
  row.multiply_adds = CountMultiplyAdds(made.task.model);
  row.bytes = CountBytes(made.task.model);
  row.outcome = "measured";
  return row;
}

// Repetitions that fill a turn; the first is a warm-up.
Result<int> Repetitions(backend::PreparedModel& prepared, std::span<const Tensor> inputs,
                        double turn) {
  double seconds = 0;
  int count = 1;
  while (true) {
    QTX_ASSIGN_OR_RETURN(const std::vector<double> times, prepared.Measure(inputs, count));
    seconds = std::accumulate(times.begin(), times.end(), 0.0);
    if (seconds > turn / 8 || count > backend::kMaxRepetitions / 8) break;
    count *= 8;
  }
  const double fitting = count * turn / std::max(seconds, 1e-9);
  return static_cast<int>(std::clamp(fitting, 1.0, double{backend::kMaxRepetitions}));
}

Result<void> GetReady(Contender& contender, const RaceOptions& options, Entrant& entrant) {
  Made& made = *entrant.made;
  const Clock::time_point start = Clock::now();
  QTX_ASSIGN_OR_RETURN(entrant.prepared, contender.Prepare(made.task.model));
  entrant.row.prepare_seconds = SecondsSince(start);
  const Clock::time_point prepared = Clock::now();
  const auto outputs = entrant.prepared->Run(made.task.inputs);
  const double run_seconds = SecondsSince(prepared);
  if (!outputs.has_value() && outputs.error().code != ErrorCode::kTimeout) return outputs.error();
  if (outputs.has_value()) {
    QTX_RETURN_IF_ERROR(Judge(made, *outputs, options, entrant.row));
  }
  if (!outputs.has_value() || run_seconds > options.longest) {
    entrant.row.outcome = "too_slow";
    entrant.row.reason = (outputs.has_value() ? "one run takes " : "no answer after ") +
                         std::to_string(run_seconds) + " s";
    return {};
  }
  QTX_ASSIGN_OR_RETURN(entrant.row.repetitions,
                       Repetitions(*entrant.prepared, made.task.inputs, options.seconds));
  return {};
}

Entrant Enter(Made& made, Contender& contender, const RaceOptions& options) {
  Entrant entrant{&made, &contender, NewRow(made, contender, options), nullptr};
  const auto ready = GetReady(contender, options, entrant);
  if (!ready.has_value()) Fail(ready.error(), entrant.row);
  return entrant;
}

// Retries once if the process has ended, since another model of the same backend may have caused
// that.
Result<std::vector<double>> MeasureAgain(Entrant& entrant) {
  const Task& task = entrant.made->task;
  auto times = entrant.prepared->Measure(task.inputs, entrant.row.repetitions);
  if (times.has_value() || times.error().code != ErrorCode::kIo) return times;
  QTX_ASSIGN_OR_RETURN(entrant.prepared, entrant.contender->Prepare(task.model));
  return entrant.prepared->Measure(task.inputs, entrant.row.repetitions);
}

// Time until the previous backend's threads stop spinning.
constexpr std::chrono::milliseconds kUntilAsleep{5};

void TakeTurn(Entrant& entrant) {
  if (!entrant.row.measured()) return;
  if (entrant.row.threads > 1) std::this_thread::sleep_for(kUntilAsleep);
  const auto times = MeasureAgain(entrant);
  if (!times.has_value()) {
    entrant.row.rounds.clear();
    return Fail(times.error(), entrant.row);
  }
  // A measured time is at least one clock tick.
  constexpr double kTick = 1e-9;
  entrant.row.rounds.push_back(std::max(*std::ranges::min_element(*times), kTick));
}

// Races contenders with one number of threads, all types in the same rounds.
std::vector<Row> RaceOnce(std::span<Made> workloads, std::span<Contender*> contenders,
                          const RaceOptions& options) {
  std::vector<Entrant> entrants;
  entrants.reserve(workloads.size() * contenders.size());
  for (Made& made : workloads) {
    for (Contender* contender : contenders) {
      if (options.stopped()) return {};
      entrants.push_back(Enter(made, *contender, options));
    }
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (Entrant& entrant : entrants) {
      if (options.stopped()) return {};
      TakeTurn(entrant);
    }
  }
  std::vector<Row> rows;
  rows.reserve(entrants.size());
  for (Entrant& entrant : entrants) rows.push_back(std::move(entrant.row));
  CompareRows(rows);
  return rows;
}

// The fastest other row for which `may` is true, and the speed of `row` relative to it.
template <typename May>
std::optional<Ratio> RatioToBest(const Row& row, std::span<const Row> rows, May may) {
  const Row* best = nullptr;
  for (const Row& peer : rows) {
    if (!peer.measured() || peer.backend == row.backend || peer.threads != row.threads ||
        peer.work != row.work || !may(peer)) {
      continue;
    }
    if (best == nullptr || peer.seconds().median < best->seconds().median) best = &peer;
  }
  if (best == nullptr) return std::nullopt;
  return Ratio{best->backend, SpeedRatio(row.rounds, best->rounds)};
}

}  // namespace

Contender::Contender(std::string name, int threads,
                     const Result<conformance::BackendSource>& source,
                     const std::string& arithmetic)
    : name_(std::move(name)), threads_(threads) {
  const auto start = [&]() -> Result<void> {
    if (!source.has_value()) return source.error();
    QTX_ASSIGN_OR_RETURN(backend_, source->make());
    QTX_ASSIGN_OR_RETURN(description_, backend_->Describe());
    return {};
  };
  if (const auto started = start(); !started.has_value()) error_ = started.error();
  const auto& names = description_.arithmetics;
  const bool known = std::ranges::find(names, arithmetic) != names.end();
  arithmetic_ = known || names.empty() ? arithmetic : names.front();
  label_ = name_.starts_with("cmd:") && !error_ ? description_.name : name_;
}

Result<std::unique_ptr<backend::PreparedModel>> Contender::Prepare(const format::Model& model) {
  if (error_) return *error_;
  return backend_->Prepare(model, arithmetic_);
}

void CompareRows(std::span<Row> rows) {
  for (Row& row : rows) {
    if (!row.measured()) continue;
    const auto same = [&](const Row& peer) { return peer.types == row.types; };
    row.to_best_peer = RatioToBest(row, rows, same);
    row.to_best_exact_peer =
        RatioToBest(row, rows, [&](const Row& peer) { return same(peer) && peer.exact(); });
    row.to_best_conforming_peer =
        RatioToBest(row, rows, [&](const Row& peer) { return same(peer) && peer.right(); });
    if (row.floats) continue;
    row.to_best_float_peer = RatioToBest(row, rows, [](const Row& peer) { return peer.floats; });
  }
}

Results Race(std::span<const Workload> workloads, std::span<Contender> contenders,
             const RaceOptions& options) {
  Results results;
  std::vector<Made> made;
  for (const Workload& work : workloads) {
    auto task = work.make();
    if (!task.has_value()) {
      const Error& error = task.error();
      results.skipped.push_back({work.name, work.types, error.where + ": " + error.message});
      continue;
    }
    made.push_back({&work, *std::move(task), {}});
  }
  std::set<int> numbers;
  for (const Contender& contender : contenders) numbers.insert(contender.threads());
  for (const int threads : numbers) {
    std::vector<Contender*> chosen;
    for (Contender& contender : contenders) {
      if (contender.threads() == threads) chosen.push_back(&contender);
    }
    std::ranges::move(RaceOnce(made, chosen, options), std::back_inserter(results.rows));
  }
  return results;
}

}  // namespace qtx::bench
