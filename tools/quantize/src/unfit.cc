#include "unfit.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "distribution.h"
#include "qtx/format/element_type.h"
#include "searches.h"

namespace qtx::quantize {
namespace {

constexpr double kGap = 8;            // the next value is so many times as far from 0
constexpr double kFewestSteps = 16;   // that is, 4 bits
constexpr double kFewestValues = 16;  // of a few values some are near 0 by chance
constexpr double kLeastShare = 0.01;

constexpr const char* kStaysFloat =
    "; what computes and reads it stays FLOAT (a rule with 'float: false' quantizes it)";

std::string Text(double value) {
  std::array<char, 32> text{};
  const int size = std::snprintf(text.data(), text.size(), "%.6g", value);
  return {text.data(), static_cast<std::size_t>(size)};
}

// Values near 0, and how far from 0 the next ones are.
struct Near {
  Range range;
  double next = 0;
};

// How many values up to `reach` from 0 are not known to be 0, which every quantization stores
// exactly. A bin does not hold its upper end, but the last one may.
double CountNear(const Distribution& data, double reach) {
  double others = 0, perhaps_zero = 0;
  bool below = false, above = false;  // beyond `reach`
  for (std::size_t i = 0; i < data.masses.size(); ++i) {
    const Mass& mass = data.masses[i];
    if (mass.lower >= reach || mass.upper <= -reach) {
      (mass.lower >= reach ? above : below) = true;
      continue;
    }
    const bool is_last = i + 1 == data.masses.size();
    const bool is_zero =
        mass.lower <= 0 && mass.upper >= 0 && !(mass.upper == 0 && mass.lower < 0 && !is_last);
    (is_zero ? perhaps_zero : others) += mass.count;
  }
  const bool ends_beside_zero =
      (!above && data.extremes->max > 0) || (!below && data.extremes->min < 0);
  return others + (ends_beside_zero ? perhaps_zero : 0);
}

// The range of the values up to `reach` from 0. Beside numbers of 1e38 a bin says nothing of a few
// units: where it is all that is known of one side, and the other ends at an extreme, that side is
// taken to reach as far.
Range NearRange(const Distribution& data, double reach) {
  const Range& all = *data.extremes;
  const Range near = {std::max(-reach, std::min(all.min, 0.0)),
                      std::min(reach, std::max(all.max, 0.0))};
  const auto bins = [&](auto&& is_on_side) {
    return std::ranges::count_if(data.masses, [&](const Mass& mass) {
      return mass.lower < reach && mass.upper > -reach && is_on_side(mass);
    });
  };
  const bool ends_above = all.max > 0 && all.max <= reach;
  const bool ends_below = all.min < 0 && all.min >= -reach;
  if (ends_above && !ends_below && bins([](const Mass& mass) { return mass.lower < 0; }) <= 1)
    return {std::max(near.min, -all.max), near.max};
  if (ends_below && !ends_above && bins([](const Mass& mass) { return mass.upper > 0; }) <= 1)
    return {near.min, std::min(near.max, -all.min)};
  return near;
}

// The values on the near side of each gap, the widest first.
std::vector<Near> NearValues(const Distribution& data) {
  std::vector<Near> all;
  const std::vector<Mass> masses = Magnitudes(data);
  for (std::size_t i = masses.size(); i-- > 1;) {
    const double reach = masses[i - 1].upper;
    if (masses[i].lower < kGap * reach ||
        CountNear(data, reach) < std::max(kFewestValues, kLeastShare * data.count))
      continue;
    all.push_back({NearRange(data, reach), masses[i].lower});
  }
  return all;
}

}  // namespace

std::optional<Unfit> UnfitFor(const Settings& settings, const format::Statistics& statistics) {
  if (statistics.infinity_count > 0 || statistics.nan_count > 0) {
    return Unfit{"infinities and NaN", std::to_string(statistics.infinity_count) +
                                           " infinities and " +
                                           std::to_string(statistics.nan_count) +
                                           " NaN were seen, which no integer stores" + kStaysFloat};
  }
  const Distribution data = DistributionOf(statistics);
  if (!data.extremes) return std::nullopt;
  const std::vector<Near> all = NearValues(data);
  if (all.empty()) return std::nullopt;  // most values; others are worth a search of their range
  const TypeSpec& spec = settings.activations.type;
  const auto chosen = RangeOf(statistics, settings.activation_range, spec);
  if (!chosen.has_value()) return std::nullopt;  // told where it is needed
  const auto parameters = ChooseParameters(chosen->range, spec);
  if (!parameters.has_value()) return std::nullopt;
  const format::IntegerRange stored = StoredRange(spec);
  const auto all_steps = static_cast<double>(stored.max - stored.min);
  const double fewest = std::min(kFewestSteps, all_steps / kFewestSteps);
  const auto steps = [&](const Range& range) {
    return (range.max - range.min) / static_cast<double>(parameters->scale);
  };
  const auto near =
      std::ranges::find_if(all, [&](const Near& it) { return steps(it.range) < fewest; });
  if (near == all.end()) return std::nullopt;
  return Unfit{"values far apart",
               Text(data.extremes->min) + " to " + Text(data.extremes->max) + " as " +
                   std::string(format::Name(spec.storage)) + " would leave " +
                   Text(steps(near->range)) + " of " + Text(all_steps) + " steps for those from " +
                   Text(near->range.min) + " to " + Text(near->range.max) +
                   ", beside which the next is " + Text(near->next) + " from 0" + kStaysFloat};
}

}  // namespace qtx::quantize
