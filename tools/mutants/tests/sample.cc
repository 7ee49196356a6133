// What mutate_test.py plants faults in.
#include <algorithm>
#include <cstdint>

namespace sample {

constexpr int kTaps = 3;  // computed before the program runs: no mutant

struct Window {
  std::int64_t channel;
  std::int64_t group;
};

std::int64_t Stored(const Window& w, std::int64_t offset) {
  std::int64_t sum = 0;
  if (w.channel < offset) return kTaps;
  sum += w.group;
  return std::clamp<std::int64_t>(sum - offset, -128, 127);
}

constexpr std::int64_t Table(std::int64_t row) { return 2 * row + 1; }  // as kTaps

struct Estimate {
  double value, error;
};

Estimate Moved(const Estimate& x) {
  const double error = x.error * 2;  // the bound of an error: no mutant, as below
  return {x.value + 0.0, error + 0x1p-50};
}

}  // namespace sample
