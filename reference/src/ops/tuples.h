// Index tuples of GatherND and ScatterND: where in data each slice begins.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/common.h"

namespace qtx::reference {

struct IndexTuples {
  std::vector<std::int64_t> starts;  // first element in data of each tuple's slice
  std::int64_t slice_size = 1;       // elements of a slice, contiguous in data
};

/// Input 1 as tuples into data (input 0), the first `batch_dims` axes of both running together.
/// Source: gather_nd.S1 to gather_nd.S3, scatter_nd.S1.
IndexTuples TuplesAt(const Call& call, std::int64_t batch_dims);

}  // namespace qtx::reference
