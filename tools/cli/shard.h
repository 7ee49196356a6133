// Which part of a suite to run when a test runner splits it.
#pragma once

#include "qtx/conformance/suite.h"
#include "qtx/format/result.h"

namespace qtx::cli {

/// The shard that the environment asks for: Bazel's TEST_TOTAL_SHARDS and TEST_SHARD_INDEX (and
/// TEST_SHARD_STATUS_FILE is touched, by which Bazel learns that shards are understood), or else
/// GTEST_TOTAL_SHARDS and GTEST_SHARD_INDEX; indices count from 0. All cases when neither is set.
/// Source: Bazel's Test Encyclopedia, "Test sharding"; GoogleTest's advanced guide.
/// Errors: kInvalid for half a pair, or an index that is no number below the total; kIo.
Result<conformance::Shard> ShardFromEnvironment();

}  // namespace qtx::cli
