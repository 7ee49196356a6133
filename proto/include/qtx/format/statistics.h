// Statistics of a tensor's real values, enough to choose a quantization without the data.
// Source: spec/format/statistics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qtx::format {

/// Equal-width bins over [lower, upper]; values outside are counted in `below` and `above`.
struct Histogram {
  double lower = 0;
  double upper = 0;
  std::vector<std::uint64_t> counts;
  std::uint64_t below = 0;
  std::uint64_t above = 0;
  bool operator==(const Histogram&) const = default;
};

/// integer * 2^exponent, exactly. The form is unique: the integer is odd, in two's complement,
/// little-endian, of minimal length; zero has no bytes and exponent 0.
struct ExactSum {
  std::int32_t exponent = 0;
  std::string integer;
  bool operator==(const ExactSum&) const = default;
};

/// The exact sums behind mean and std, so that statistics can be merged without loss.
struct Moments {
  std::uint64_t count = 0;  // finite values
  ExactSum sum;
  ExactSum sum_of_squares;
  bool operator==(const Moments&) const = default;
};

/// Vectors have one value, or one per element of `axis` (row-major).  Units: the tensor's own.
struct Statistics {
  std::vector<double> min;
  std::vector<double> max;
  std::vector<double> mean;
  std::vector<double> std;  // of the population
  std::uint64_t count = 0;  // finite values seen, over the whole tensor
  std::uint64_t nan_count = 0;
  std::uint64_t infinity_count = 0;
  std::vector<std::int64_t> axis;
  std::optional<Histogram> histogram;
  std::string source;
  std::vector<Moments> moments;  // empty: not kept
  std::string unknown_fields;

  bool operator==(const Statistics&) const = default;
};

}  // namespace qtx::format
