// Index tuples of GatherND and ScatterND: where in data each slice begins.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/common.h"

namespace qtx::reference {

struct IndexTuples {
  std::vector<std::int64_t> starts;  // first element in data of each tuple's slice
  format::Dims outer;                // shape of indices without its last axis
  format::Dims slice;                // data's axes that the tuples do not name
  std::int64_t slice_size = 1;       // elements of a slice, contiguous in data
};

/// Input 1 as tuples into data (input 0), the first `batch_dims` axes of both running together.
/// Errors: kInvalid when types, ranks or batch sizes do not fit or an index is out of range.
/// Source: gather_nd.S1 to gather_nd.S3, scatter_nd.S1.
Result<IndexTuples> TuplesAt(const Call& call, std::int64_t batch_dims);

}  // namespace qtx::reference
