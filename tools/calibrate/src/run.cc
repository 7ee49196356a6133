#include "run.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>

#include "qtx/format/threads.h"

namespace qtx::calibrate {
namespace {

using Clock = std::chrono::steady_clock;
using format::Tensor;

bool HasNothingFinite(const Tensor& tensor) {
  if (tensor.elem_type != format::ElementType::kFloat || tensor.bytes.empty()) return false;
  return std::ranges::none_of(tensor.As<float>(), [](float value) { return std::isfinite(value); });
}

class Run {
 public:
  Run(const format::Model& model, const Samples& samples, const MakeExecutor& make,
      const Options& options, const Coverage& coverage, const Grams& grams)
      : samples_(samples),
        make_(make),
        options_(options),
        coverage_(coverage),
        grams_(grams),
        inputs_(RequiredInputs(model)),
        total_(options.statistics, grams) {
    const std::int64_t rest = samples.size() - (options.shard_index - 1);
    planned_ = rest <= 0 ? 0 : (rest - 1) / options.shard_count + 1;
    state_.done.assign(static_cast<std::size_t>(planned_), false);
    for (const format::ValueInfo* input : inputs_) input_names_.insert(input->name);
  }

  Result<void> Resume();
  Result<void> Work();
  RunResult Finish();

 private:
  std::int64_t SampleOf(std::int64_t position) const {
    return options_.shard_index - 1 + position * options_.shard_count;
  }
  void WorkInThread();
  Result<void> WorkUntilDone();
  std::optional<std::int64_t> Claim();
  std::optional<BadSample> Observe(const std::vector<Tensor>& inputs, Executor& executor,
                                   Observer& stage);
  Result<void> Process(std::int64_t position, Executor& executor, Observer& stage);
  Result<void> Close(std::int64_t position, Observer* stage, std::optional<SkippedSample> skipped);
  Result<void> Save();
  void FailAt(std::int64_t position, Error error);

  const Samples& samples_;
  const MakeExecutor& make_;
  const Options& options_;
  const Coverage& coverage_;
  const Grams& grams_;
  std::vector<const format::ValueInfo*> inputs_;
  std::set<std::string, std::less<>> input_names_;
  std::int64_t planned_ = 0;
  std::optional<format::FileLock> journal_lock_;

  std::mutex mutex_;  // guards the members below
  Observer total_;
  JournalState state_;  // its observations are filled when it is written
  Progress progress_;
  std::int64_t next_ = 0;
  Clock::time_point saved_ = Clock::now();
  // The failure at the lowest position. Earlier samples were claimed before it, so it does not
  // depend on scheduling.
  std::optional<std::pair<std::int64_t, Error>> failure_;
};

Result<void> Run::Resume() {
  progress_.planned = planned_;
  if (options_.journal.empty()) return {};
  QTX_ASSIGN_OR_RETURN(journal_lock_, format::FileLock::Take(options_.journal));
  QTX_ASSIGN_OR_RETURN(auto found, ReadJournal(options_.journal, coverage_, planned_));
  if (!found) return {};
  state_ = *std::move(found);
  auto merged = total_.Merge(state_.observations);
  if (!merged.has_value()) return At(options_.journal, merged.error());
  state_.observations.clear();
  progress_.resumed = std::ranges::count(state_.done, true);
  progress_.done = progress_.resumed;
  progress_.skipped = std::ssize(state_.skipped);
  return {};
}

std::optional<std::int64_t> Run::Claim() {
  const std::scoped_lock lock(mutex_);
  if (failure_) return std::nullopt;
  while (next_ < planned_ && state_.done[static_cast<std::size_t>(next_)]) ++next_;
  if (next_ == planned_) return std::nullopt;
  return next_++;
}

void Run::FailAt(std::int64_t position, Error error) {
  const std::scoped_lock lock(mutex_);
  if (!failure_ || position < failure_->first) failure_ = {position, std::move(error)};
}

// A sample counts only as a whole.
std::optional<BadSample> Run::Observe(const std::vector<Tensor>& inputs, Executor& executor,
                                      Observer& stage) {
  std::optional<Error> refused;
  const auto add = [&](const std::string& value, const Tensor& tensor) {
    if (refused) return;
    if (auto added = stage.Add(value, tensor); !added.has_value()) {
      refused = At("value '" + value + "'", added.error());
    }
  };
  for (std::size_t i = 0; i < inputs.size() && i < inputs_.size(); ++i) {
    if (HasNothingFinite(inputs[i])) {
      return BadSample{Reason::kNothingFinite,
                       {ErrorCode::kInvalid, "input '" + inputs_[i]->name + "'",
                        "found nothing but NaN and infinities"}};
    }
    add(inputs_[i]->name, inputs[i]);
  }
  const auto observe = [&](const std::string& value, const Tensor& tensor) {
    if (!input_names_.contains(value)) add(value, tensor);
  };
  if (const auto run = executor.Run(inputs, observe); !run.has_value()) refused = run.error();
  if (refused) return BadSample{Reason::kExecution, *refused};
  return std::nullopt;
}

Result<void> Run::Process(std::int64_t position, Executor& executor, Observer& stage) {
  const std::int64_t index = SampleOf(position);
  const Sample sample = samples_.Read(index);
  std::optional<BadSample> bad;
  if (!sample.has_value()) {
    bad = sample.error();
  } else {
    bad = Observe(*sample, executor, stage);
  }
  if (!bad) return Close(position, &stage, std::nullopt);
  stage.Clear();
  const std::string text =
      bad->error.where.empty() ? bad->error.message : bad->error.where + ": " + bad->error.message;
  if (!options_.skip_bad_samples) {
    // A sample that fits the model's inputs and cannot be run is a fault of the model.
    const std::string name = samples_.Name(index);
    if (bad->reason != Reason::kExecution) return At(name, bad->error);
    return At(options_.model_name, At("with sample '" + name + "'", bad->error));
  }
  return Close(position, nullptr,
               SkippedSample{samples_.Name(index), std::string(Name(bad->reason)), text});
}

Result<void> Run::Close(std::int64_t position, Observer* stage,
                        std::optional<SkippedSample> skipped) {
  const std::scoped_lock lock(mutex_);
  if (stage != nullptr) QTX_RETURN_IF_ERROR(total_.Take(*stage));
  state_.done[static_cast<std::size_t>(position)] = true;
  ++progress_.done;
  if (skipped) {
    state_.skipped.emplace(position, *std::move(skipped));
    ++progress_.skipped;
  }
  if (options_.progress) options_.progress(progress_);
  if (options_.journal.empty() || Clock::now() - saved_ < options_.journal_interval) return {};
  return Save();
}

// REQUIRES: mutex_ is held, or no thread runs.
Result<void> Run::Save() {
  state_.observations = total_.Finish();
  state_.left_out.assign(total_.left_out().begin(), total_.left_out().end());
  auto written = WriteJournal(options_.journal, coverage_, state_);
  state_.observations.clear();
  saved_ = Clock::now();
  return written;
}

Result<void> Run::WorkUntilDone() {
  std::unique_ptr<Executor> executor;
  Observer stage(options_.statistics, grams_);
  while (const auto position = Claim()) {
    if (executor == nullptr) {
      auto made = make_();
      if (!made.has_value()) {
        FailAt(-1, At(options_.model_name, made.error()));
        return {};
      }
      executor = *std::move(made);
    }
    if (auto done = Process(*position, *executor, stage); !done.has_value()) {
      FailAt(*position, done.error());
    }
  }
  return {};
}

// Catches exceptions of libraries, which would end the program.
void Run::WorkInThread() {
  try {
    if (const auto done = WorkUntilDone(); !done.has_value()) FailAt(-1, done.error());
  } catch (const std::bad_alloc&) {
    FailAt(-1,
           {ErrorCode::kMemory, options_.model_name, "a sample takes more memory than there is"});
  } catch (const std::exception& error) {
    FailAt(-1, {ErrorCode::kInternal, options_.model_name, error.what()});
  }
}

Result<void> Run::Work() {
  format::InThreads(std::min<std::int64_t>(options_.threads, planned_), [this] { WorkInThread(); });
  // Writes the journal before returning the failure.
  if (!options_.journal.empty()) QTX_RETURN_IF_ERROR(Save());
  if (failure_) return failure_->second;
  return {};
}

// The allocator keeps a pool for each thread, of which all is free once the threads have ended.
void ReturnFreeMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

RunResult Run::Finish() {
  ReturnFreeMemory();
  RunResult result{.observations = total_.Release(), .progress = progress_};
  result.grams = total_.grams();
  for (auto& [position, sample] : state_.skipped) result.skipped.push_back(sample);
  ReturnFreeMemory();
  result.left_out = total_.left_out();
  for (const auto& [value, why] : state_.left_out) result.left_out.emplace(value, why);
  return result;
}

}  // namespace

std::vector<const format::ValueInfo*> RequiredInputs(const format::Model& model) {
  std::set<std::string, std::less<>> initializers;
  for (const auto& initializer : model.graph.initializers) initializers.insert(initializer.name);
  std::vector<const format::ValueInfo*> required;
  for (const format::ValueInfo& input : model.graph.inputs) {
    if (!initializers.contains(input.name)) required.push_back(&input);
  }
  return required;
}

Result<RunResult> RunSamples(const format::Model& model, const Samples& samples,
                             const MakeExecutor& make, const Options& options, const Coverage& run,
                             const Grams& grams) {
  Run all(model, samples, make, options, run, grams);
  QTX_RETURN_IF_ERROR(all.Resume());
  QTX_RETURN_IF_ERROR(all.Work());
  return all.Finish();
}

}  // namespace qtx::calibrate
