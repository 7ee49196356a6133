// The range whose stored values lie nearest to the data, in the mean of |error|^p: of hundredths of
// either extreme.
#include <algorithm>
#include <cmath>
#include <limits>

#include "elementary.h"
#include "searches.h"

namespace qtx::quantize {
namespace {

constexpr int kSteps = 100;
constexpr std::size_t kPoints = 2048;  // at least, where the data are bins

// The masses as numbers: those of a bin spread evenly over it.
std::vector<Mass> PointsOf(const Distribution& data) {
  const std::size_t parts = (kPoints + data.masses.size() - 1) / data.masses.size();
  std::vector<Mass> points;
  for (const Mass& mass : data.masses) {
    const std::size_t count = mass.lower == mass.upper ? 1 : parts;
    for (std::size_t i = 0; i < count; ++i) {
      const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
      const double x = mass.lower + (mass.upper - mass.lower) * place;
      points.push_back({x, x, mass.count / static_cast<double>(count)});
    }
  }
  return points;
}

// The sum, or what it had come to when it passed `limit`.
double ErrorOf(const std::vector<Mass>& points, const Parameters& parameters,
               const format::IntegerRange& stored, double p, double limit) {
  const auto scale = static_cast<double>(parameters.scale);
  const double low = static_cast<double>(stored.min - parameters.offset);
  const double high = static_cast<double>(stored.max - parameters.offset);
  double sum = 0;
  for (const Mass& point : points) {
    const double nearest = std::clamp(std::nearbyint(point.lower / scale), low, high);
    sum += point.count * Power(std::abs(point.lower - nearest * scale), p);
    if (sum > limit) return sum;
  }
  return sum;
}

bool IsFree(const TypeSpec& spec) {
  return spec.scheme == format::Scheme::kAsymmetric ||
         spec.scheme == format::Scheme::kAsymmetricPow2;
}

double Part(double end, int step) { return end * step / kSteps; }

}  // namespace

Range LeastError(const Distribution& data, double p, const TypeSpec& spec) {
  const Range all = *data.extremes;
  const std::vector<Mass> points = PointsOf(data);
  const format::IntegerRange stored = StoredRange(spec);
  const double top = std::max(-all.min, all.max);
  double least = std::numeric_limits<double>::infinity();
  Range best = all;
  const auto consider = [&](const Range& range) {
    const auto parameters = ChooseParameters(range, spec);
    if (!parameters.has_value()) return;  // said of `all` by whoever asked
    const double error = ErrorOf(points, *parameters, stored, p, least);
    if (error >= least) return;  // of equal ones, the widest
    least = error;
    best = range;
  };
  if (IsFree(spec) && all.min < 0 && all.max > 0) {
    for (int low = kSteps; low > 0; --low) {
      for (int high = kSteps; high > 0; --high) consider({Part(all.min, low), Part(all.max, high)});
    }
    return best;
  }
  for (int step = kSteps; step > 0; --step) {
    const double t = Part(top, step);
    consider({std::max(all.min, -t), std::min(all.max, t)});
  }
  return best;
}

}  // namespace qtx::quantize
