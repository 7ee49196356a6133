// The state of a run in a file, so that an interrupted run goes on where it stopped.
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

/// Positions among the samples of a run: from 0, without gaps where all are done.
struct JournalState {
  std::vector<bool> done;                         // by position
  std::map<std::int64_t, SkippedSample> skipped;  // by position; they are done, too
  Observations observations;                      // of all that are done
  std::vector<std::pair<std::string, std::string>> left_out;
};

/// Written to a temporary file, then renamed: whoever reads it sees a whole state. It is an ONNX
/// model without nodes whose values have the statistics.
/// Errors: kIo, kTooLarge.
Result<void> WriteJournal(const std::string& path, const Coverage& run, const JournalState& state);

/// nullopt when there is no such file. `run` has one part, whose counts do not matter.
/// Errors: kIo; kInvalid for a journal of another model, of other options or samples, and for
/// anything else.
Result<std::optional<JournalState>> ReadJournal(const std::string& path, const Coverage& run,
                                                std::int64_t planned);

}  // namespace qtx::calibrate
