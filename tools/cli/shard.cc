#include "shard.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

namespace qtx::cli {
namespace {

constexpr std::int64_t kMaxShards = 1'000'000;
constexpr std::int64_t kMaxIndex = 1'000'000'000;

std::string Variable(const char* name) {
  const char* const value = *name == 0 ? nullptr : std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<std::int64_t> Number(const char* name, std::int64_t least, std::int64_t most) {
  const std::string text = Variable(name);
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return Error{ErrorCode::kUsage, name,
                 "found '" + text + "', expected a number from " + std::to_string(least) + " to " +
                     std::to_string(most)};
  }
  return value;
}

// How a runner of parts names them. The index counts from `least` (empty: 0) in steps of `step`
// (empty: 1).
struct Variables {
  const char* total;
  const char* index;
  const char* least = "";
  const char* step = "";
  const char* touched = "";  // names a file
};
constexpr Variables kVariables[] = {{.total = "TEST_TOTAL_SHARDS",
                                     .index = "TEST_SHARD_INDEX",
                                     .touched = "TEST_SHARD_STATUS_FILE"},
                                    {.total = "GTEST_TOTAL_SHARDS", .index = "GTEST_SHARD_INDEX"},
                                    {.total = "SLURM_ARRAY_TASK_COUNT",
                                     .index = "SLURM_ARRAY_TASK_ID",
                                     .least = "SLURM_ARRAY_TASK_MIN",
                                     .step = "SLURM_ARRAY_TASK_STEP"},
                                    {.total = "JOB_COMPLETIONS", .index = "JOB_COMPLETION_INDEX"}};

Result<std::int64_t> NumberOr(const char* name, std::int64_t otherwise) {
  if (Variable(name).empty()) return otherwise;
  return Number(name, otherwise, kMaxIndex);
}

// nullopt when neither variable is set.
Result<std::optional<conformance::Shard>> ShardOf(const Variables& names) {
  if (Variable(names.total).empty() && Variable(names.index).empty()) {
    return std::optional<conformance::Shard>();
  }
  conformance::Shard shard;
  QTX_ASSIGN_OR_RETURN(shard.count, Number(names.total, 1, kMaxShards));
  QTX_ASSIGN_OR_RETURN(const std::int64_t least, NumberOr(names.least, 0));
  QTX_ASSIGN_OR_RETURN(const std::int64_t step, NumberOr(names.step, 1));
  QTX_ASSIGN_OR_RETURN(const std::int64_t index,
                       Number(names.index, least, least + step * (shard.count - 1)));
  shard.index = (index - least) / step + 1;
  return std::optional(shard);
}

Result<void> Touch(const std::string& path) {
  if (path.empty()) return {};
  const std::ofstream file(path, std::ios::app);
  if (!file) return Error{ErrorCode::kIo, path, std::strerror(errno)};
  return {};
}

}  // namespace

Result<conformance::Shard> ChooseShard(const std::string& option) {
  if (!option.empty()) return conformance::ParseShard("--shard", option);
  for (const Variables& names : kVariables) {
    QTX_ASSIGN_OR_RETURN(const auto shard, ShardOf(names));
    if (!shard.has_value()) continue;
    QTX_RETURN_IF_ERROR(Touch(Variable(names.touched)));
    return *shard;
  }
  return conformance::Shard();
}

}  // namespace qtx::cli
