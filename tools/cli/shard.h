// The shard that a test runner requests.
#pragma once

#include <string>

#include "qtx/conformance/suite.h"
#include "qtx/format/result.h"

namespace qtx::cli {

/// The shard of `option` ("I/N"); if it is empty, that of the first pair of variables in the
/// environment: Bazel's TEST_TOTAL_SHARDS and TEST_SHARD_INDEX (touches TEST_SHARD_STATUS_FILE, as
/// Bazel requires), GTEST_TOTAL_SHARDS and GTEST_SHARD_INDEX, SLURM_ARRAY_TASK_COUNT and
/// SLURM_ARRAY_TASK_ID (counted from SLURM_ARRAY_TASK_MIN in steps of SLURM_ARRAY_TASK_STEP),
/// JOB_COMPLETIONS and JOB_COMPLETION_INDEX (Kubernetes sets the index alone, the job's template
/// the other). All there is when none is set.
/// Source: Bazel's Test Encyclopedia, "Test sharding"; GoogleTest's advanced guide; sbatch(1),
/// "--array"; Kubernetes' "Indexed Job".
/// Errors: those of ParseShard; kUsage for half a pair, or an index that is not below the total;
/// kIo.
Result<conformance::Shard> ChooseShard(const std::string& option);

}  // namespace qtx::cli
