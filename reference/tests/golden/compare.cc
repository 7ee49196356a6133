#include "tests/golden/compare.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "tests/golden/numbers.h"

namespace qtx::reference::golden {
namespace {

using format::Tensor;

// Raises `used` to the greatest share of a bound.
std::string CompareFloats(const Tensor& found, const Tensor& golden,
                          const std::vector<double>& radius, double slack, double* used) {
  const std::vector<double> f = ToDoubles(found);
  const std::vector<double> g = ToDoubles(golden);
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (f[i] == g[i] || (std::isnan(f[i]) && std::isnan(g[i]))) continue;
    const double bound = radius.empty() ? 0 : slack * radius[i];
    const double distance = std::abs(f[i] - g[i]);
    if (distance <= bound) {
      *used = std::max(*used, distance / bound);
      continue;
    }
    std::ostringstream text;
    text.precision(17);
    text << "element " << i << ": found " << f[i] << ", golden " << g[i] << ", bound " << bound;
    return text.str();
  }
  return "";
}

std::string CompareOne(const Tensor& found, const Tensor& golden, const std::vector<double>& radius,
                       double slack, double* used) {
  if (found.elem_type != golden.elem_type || found.dims != golden.dims) {
    return "found " + std::string(format::Name(found.elem_type)) + format::ToString(found.dims) +
           ", golden " + std::string(format::Name(golden.elem_type)) +
           format::ToString(golden.dims);
  }
  const bool small = format::IsSmallFloat(found.elem_type);
  if (small || IsFloating(found.elem_type))
    return CompareFloats(found, golden, radius, slack, used);
  for (std::size_t i = 0; i < found.bytes.size(); ++i) {
    if (found.bytes[i] == golden.bytes[i]) continue;
    return "byte " + std::to_string(i) + ": found " +
           std::to_string(std::to_integer<int>(found.bytes[i])) + ", golden " +
           std::to_string(std::to_integer<int>(golden.bytes[i]));
  }
  return "";
}

}  // namespace

Verdict Compare(const std::vector<Tensor>& found, const std::vector<Tensor>& golden,
                const std::vector<Enclosed>& enclosed, double slack) {
  if (found.size() != golden.size()) {
    return {Outcome::kDiffers, "found " + std::to_string(found.size()) + " outputs, golden has " +
                                   std::to_string(golden.size())};
  }
  Verdict verdict;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string difference =
        CompareOne(found[i], golden[i], enclosed[i].radius, slack, &verdict.used);
    if (difference.empty()) continue;
    return {Outcome::kDiffers, "output " + std::to_string(i) + ": " + difference};
  }
  return verdict;
}

}  // namespace qtx::reference::golden
