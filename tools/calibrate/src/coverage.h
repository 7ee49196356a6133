// What a calibration covered: the entry kMetadataKey of metadata_props.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::calibrate {

/// Every count-th sample of one collection, from the index-th on.
struct Part {
  std::string data;  // Samples::Digest
  std::int64_t index = 1;
  std::int64_t count = 1;
  std::int64_t samples = 0;                                  // that were taken
  std::vector<std::pair<std::string, std::string>> skipped;  // name and reason, sorted
  bool operator==(const Part&) const = default;
};

struct Coverage {
  std::string model;     // FingerprintOf
  std::string executor;  // Options::executor
  std::int64_t bins = 0;
  std::optional<std::int64_t> axis;
  std::vector<Part> parts;  // by data, then index

  std::int64_t Samples() const;
};

std::string ToJson(const Coverage& coverage);
/// Errors: kInvalid at kMetadataKey, also when there is none.
Result<Coverage> CoverageOf(const format::Model& model);
void SetCoverage(const Coverage& coverage, format::Model& model);

/// The parts of both; all shards of one collection become one part.
/// Errors: kInvalid for another model, other options, or samples that both have.
Result<Coverage> Join(const Coverage& a, const Coverage& b);
/// Shards of collections of which some are there: "2/4".
std::vector<std::string> Missing(const Coverage& coverage);

/// Statistics::source of values seen in so many samples, and of initializers.
std::string SourceOf(std::int64_t samples);
inline constexpr std::string_view kConstantSource = "qtx calibrate: constant";

}  // namespace qtx::calibrate
