// Runs the samples of a shard on several threads.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "coverage.h"
#include "journal.h"
#include "observer.h"
#include "qtx/calibrate/calibrate.h"

namespace qtx::calibrate {

/// The results of all samples of a shard.
struct RunResult {
  Observations observations;
  Progress progress;
  std::vector<SkippedSample> skipped;  // in the order of samples
  std::map<std::string, std::string> left_out;
  Grams grams;
};

/// Runs the samples of `options`' shard; `run` is the coverage that a journal must have, `grams`
/// the sums of zero that grow. Errors: as Calibrate.
Result<RunResult> RunSamples(const format::Model& model, const Samples& samples,
                             const MakeExecutor& make, const Options& options, const Coverage& run,
                             const Grams& grams);

/// The inputs of a model that are not initializers.
std::vector<const format::ValueInfo*> RequiredInputs(const format::Model& model);

}  // namespace qtx::calibrate
