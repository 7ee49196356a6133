// Bounds on hostile input. They are checked before anything is allocated. The table of all limits
// is in the README.
#pragma once

#include <cstdint>

namespace qtx::format {

inline constexpr std::int64_t kMaxModelBytes = std::int64_t{1} << 31;   // protobuf's own limit
inline constexpr std::int64_t kMaxDeviceBytes = std::int64_t{1} << 26;  // of a device without end
inline constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 32;  // one tensor in memory
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 32;     // elements of one tensor
inline constexpr std::int64_t kMaxParameters = std::int64_t{1} << 26;   // scales of one tensor
inline constexpr std::int64_t kMaxHistogramBins = std::int64_t{1} << 20;
inline constexpr int kMaxRank = 16;
inline constexpr int kMaxGraphDepth = 8;  // bodies within bodies, below the model's graph

}  // namespace qtx::format
