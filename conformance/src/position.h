// In words, which elements of an output are wrong: a channel, a group, rows from one on, the last.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "qtx/format/model.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// "only in channel 2 of 0 to 2", "from element 256 on, of 257": where the `wrong` elements
/// (row-major) of `node`'s output of `dims` lie; empty where they lie everywhere or nothing short
/// describes them. Axes have the names of the operator: channel, row, column, batch.
std::string DescribePositions(const format::Node& node, const format::Dims& dims,
                              const std::set<std::int64_t>& wrong);

}  // namespace qtx::conformance
