#include <algorithm>
#include <cmath>
#include <numbers>

#include "decoder/config.h"

namespace qtx::convert::decoder {
namespace {

// The pair that makes `turns` full turns within the original context, as a real index.
double PairOfTurns(const Rope& rope, double turns) {
  const double tokens_per_radian = rope.yarn.original_context / (turns * 2 * std::numbers::pi);
  return static_cast<double>(rope.size) * std::log(tokens_per_radian) / (2 * std::log(rope.base));
}

// How much of frequency `pair` is kept, from 0 (stretched) to 1.
double Kept(const Rope& rope, double pair) {
  if (!rope.has_yarn) return 0;
  const double first = std::max(0.0, std::floor(PairOfTurns(rope, rope.yarn.fast)));
  const double last =
      std::min(static_cast<double>(rope.size - 1), std::ceil(PairOfTurns(rope, rope.yarn.slow)));
  return 1 - std::clamp((pair - first) / std::max(0.001, last - first), 0.0, 1.0);
}

}  // namespace

std::vector<float> Frequencies(const Rope& rope) {
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < rope.size / 2; ++i) {
    const auto pair = static_cast<double>(i);
    const double kept = Kept(rope, pair);
    const double own = std::pow(rope.base, -2 * pair / static_cast<double>(rope.size));
    frequencies.push_back(static_cast<float>(own * (kept + (1 - kept) / rope.stretch)));
  }
  return frequencies;
}

}  // namespace qtx::convert::decoder
