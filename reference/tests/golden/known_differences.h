// The node cases that the reference does not reproduce, each with its reason.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace qtx::reference::golden {

/// kRounded: `float32` gives the golden and `exact`, which rounds once, does not.
enum class Outcome { kPass, kDiffers, kRefused, kRounded };

struct KnownDifference {
  Outcome outcome = Outcome::kPass;
  std::string reason;
};

/// What known_differences.txt says of a case, nullopt when it says nothing. Its lines are
/// `refused COLLECTION/CASE: reason` or `differs ...`, the case a shell pattern; # begins a
/// comment.
std::optional<KnownDifference> FindKnownDifference(std::string_view case_name);

/// Lines of the file that are not of that form; the test wants none.
std::string MalformedLines();

}  // namespace qtx::reference::golden
