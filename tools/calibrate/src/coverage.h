// Coverage: the samples of a calibration, kept in the entry kMetadataKey of metadata_props.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/format/json_bounds.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::calibrate {

/// Of the JSON in the metadata of models and journals.
inline constexpr format::JsonBounds kJsonBounds = {.depth = 8, .values = std::int64_t{1} << 24};

/// A shard: every count-th sample of a collection, starting at the index-th.
struct Part {
  std::string data;  // Samples::Digest
  std::int64_t index = 1;
  std::int64_t count = 1;
  std::int64_t samples = 0;                                  // number used
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
/// Errors: kInvalid at kMetadataKey, also if it is missing.
Result<Coverage> CoverageOf(const format::Model& model);
Result<void> SetCoverage(const Coverage& coverage, format::Model& model);

/// Merges both; a complete set of shards becomes one part.
/// Errors: kInvalid for different models or options, and for common samples.
Result<Coverage> Join(const Coverage& a, const Coverage& b);
/// Missing shards of incomplete collections: "2/4".
std::vector<std::string> Missing(const Coverage& coverage);

/// Statistics::source of values over `samples` samples, and of initializers.
std::string SourceOf(std::int64_t samples);
inline constexpr std::string_view kConstantSource = "qtx calibrate: constant";

}  // namespace qtx::calibrate
