// The journal: the state of a run in a file, from which an interrupted run resumes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coverage.h"
#include "observer.h"
#include "qtx/calibrate/calibrate.h"

namespace qtx::calibrate {

/// The state of a run; positions count its samples from 0.
struct JournalState {
  std::vector<bool> done;                         // by position
  std::map<std::int64_t, SkippedSample> skipped;  // by position; also in `done`
  Observations observations;                      // of all samples done
  std::vector<std::pair<std::string, std::string>> left_out;
};

/// Writes the state atomically, as an ONNX model without nodes whose values have the statistics.
/// Errors: kIo, kTooLarge.
Result<void> WriteJournal(const std::string& path, const Coverage& run, const JournalState& state);

/// nullopt when there is no such file, or an empty one. `run` has one part, whose counts are
/// unused. Errors: kIo where it is no file that can be replaced; kUnreadable; kInvalid for a
/// journal of another model, other options or samples, and for other files.
Result<std::optional<JournalState>> ReadJournal(const std::string& path, const Coverage& run,
                                                std::int64_t planned);

}  // namespace qtx::calibrate
