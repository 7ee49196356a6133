// The elements of data that indices name: tuples of GatherND and ScatterND, and places along an
// axis of GatherElements and ScatterElements.
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

/// For each element of input 1 the element of data (input 0) at its coordinates, but that it is
/// itself the coordinate on the attribute `axis`.
/// Source: gather_elements.S1, scatter_elements.S1.
std::vector<std::int64_t> ElementsAlongAxis(const Call& call);

}  // namespace qtx::reference
