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

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
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

// nullopt when neither variable is set.
Result<std::optional<conformance::Shard>> FromPair(const char* total, const char* index) {
  if (Variable(total).empty() && Variable(index).empty()) {
    return std::optional<conformance::Shard>();
  }
  conformance::Shard shard;
  QTX_ASSIGN_OR_RETURN(shard.count, Number(total, 1, kMaxShards));
  QTX_ASSIGN_OR_RETURN(const std::int64_t from_zero, Number(index, 0, shard.count - 1));
  shard.index = from_zero + 1;
  return std::optional(shard);
}

Result<void> Touch(const std::string& path) {
  if (path.empty()) return {};
  const std::ofstream file(path, std::ios::app);
  if (!file) return Error{ErrorCode::kIo, path, std::strerror(errno)};
  return {};
}

}  // namespace

Result<conformance::Shard> ShardFromEnvironment() {
  QTX_ASSIGN_OR_RETURN(const auto bazel, FromPair("TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX"));
  if (bazel.has_value()) {
    QTX_RETURN_IF_ERROR(Touch(Variable("TEST_SHARD_STATUS_FILE")));
    return *bazel;
  }
  QTX_ASSIGN_OR_RETURN(const auto gtest, FromPair("GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"));
  return gtest.value_or(conformance::Shard());
}

}  // namespace qtx::cli
