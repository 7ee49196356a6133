// The shard that a test runner requests.
#pragma once

#include "qtx/conformance/suite.h"
#include "qtx/format/result.h"

namespace qtx::cli {

/// The shard in the environment: Bazel's TEST_TOTAL_SHARDS and TEST_SHARD_INDEX (touches
/// TEST_SHARD_STATUS_FILE, as Bazel requires), else GTEST_TOTAL_SHARDS and GTEST_SHARD_INDEX;
/// indices count from 0. All cases when neither is set.
/// Source: Bazel's Test Encyclopedia, "Test sharding"; GoogleTest's advanced guide.
/// Errors: kUsage for half a pair, or an index that is not below the total; kIo.
Result<conformance::Shard> ShardFromEnvironment();

}  // namespace qtx::cli
