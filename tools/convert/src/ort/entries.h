// The text of a calibration file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::convert::ort {

/// What is said of one value: a TensorData.
struct Entry {
  std::string name;
  std::vector<double> lowest, highest;  // one, or one per channel
  std::optional<double> mean, std;
  std::vector<std::uint64_t> counts;  // of a histogram
  std::vector<double> edges;          // one more than counts
  bool histogram_is_void = false;     // 1.31's Percentile leaves numbers of no meaning there
};

struct Calibration {
  std::string method = "MinMax";  // or Entropy, Percentile, Distribution
  std::vector<Entry> entries;
};

/// Reads the form of 1.31, with and without its outer object, and the pairs [lowest, highest] of
/// versions before 1.16.  Errors: kInvalid naming the value and its field.
Result<Calibration> ParseCalibration(std::string_view text);

/// What load_tensors_data of 1.31 reads. Reals are written as binary32.
std::string CalibrationText(const Calibration& calibration);

}  // namespace qtx::convert::ort
