// Glow's quantization profile, a YAML file in one of two generations:
//   infos     a list of nodeOutputName, scale, offset                         (2018 to 2020)
//   profile   documents GlowToolsVersion (not in the oldest) and GraphPreLowerHash, then a list of
//             NodeOutputName, Min, Max and, later, Histogram
// Keys were first in lower case, later capitalized; both are read.
// Source: pytorch/glow lib/Quantization/Serialization.cpp, in its history.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::convert::glow {

struct Entry {
  std::string name;          // of a node's result: "conv1:0"
  std::optional<float> min;  // both or neither; excludes scale
  std::optional<float> max;
  std::vector<float> histogram;  // counts in bins of equal width from min to max
  std::optional<float> scale;    // both or neither
  std::optional<std::int32_t> offset;
  int line = 0;  // 1-based
  bool operator==(const Entry& other) const = default;
};

struct Profile {
  std::optional<std::string> tools_version;
  std::optional<std::string> graph_hash;  // "0x..." as written
  std::vector<Entry> entries;
};

/// Errors: kInvalid naming the line, kTooLarge past kMaxTextBytes.
Result<Profile> ParseProfile(std::string_view text);

/// "0x" and at most 16 hexadecimal digits.
bool IsHash(std::string_view text);

/// Writes as Glow does, with enough digits for floats to read back bit for bit.
std::string ProfileText(const Profile& profile);

}  // namespace qtx::convert::glow
