#include "tests/golden/norm_bounds.h"

#include <algorithm>
#include <cmath>

#include "tests/golden/numbers.h"

namespace qtx::reference::golden {
namespace {

double Largest(const NodeRun& run, std::size_t input) {
  double largest = 0;
  if (input >= run.inputs.size() || run.inputs[input] == nullptr) return largest;
  for (const double value : ToDoubles(*run.inputs[input])) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

// Elements of a group: those of the axes from `axis` on.
std::int64_t GroupSize(const format::Dims& dims, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (axis < 0) axis += rank;
  std::int64_t size = 1;
  for (std::int64_t i = axis; i < rank; ++i) size *= dims[static_cast<std::size_t>(i)];
  return size;
}

std::int64_t LayerSize(const NodeRun& run) {
  return GroupSize(run.inputs[0]->dims, run.node.IntOr("axis", -1));
}
std::int64_t InstanceSize(const NodeRun& run) { return GroupSize(run.inputs[0]->dims, 2); }
std::int64_t ChannelGroupSize(const NodeRun& run) {
  return GroupSize(run.inputs[0]->dims, 1) / run.node.IntOr("num_groups", 1);
}

struct GroupSpread {
  double magnitude = 0;  // the greatest mean magnitude of a group
  double ratio = 0;      // the greatest of mean magnitude / sqrt(v + epsilon)
};

GroupSpread SpreadOf(const NodeRun& run, std::int64_t size) {
  const std::vector<double> x = ToDoubles(*run.inputs[0]);
  const auto epsilon = static_cast<double>(run.node.FloatOr("epsilon", 1e-5F));
  const auto n = static_cast<double>(size);
  GroupSpread spread;
  for (std::size_t first = 0; first < x.size(); first += static_cast<std::size_t>(size)) {
    double sum = 0, magnitude = 0, squares = 0;
    for (std::size_t i = first; i < first + static_cast<std::size_t>(size); ++i) {
      sum += x[i];
      magnitude += std::abs(x[i]);
    }
    for (std::size_t i = first; i < first + static_cast<std::size_t>(size); ++i) {
      squares += (x[i] - sum / n) * (x[i] - sum / n);
    }
    spread.magnitude = std::max(spread.magnitude, magnitude / n);
    spread.ratio = std::max(spread.ratio, magnitude / n / std::sqrt(squares / n + epsilon));
  }
  return spread;
}

double RelativeFor(std::int64_t size) { return (static_cast<double>(size) + 3) / 2 + 7; }

double AbsoluteFor(const NodeRun& run, std::int64_t size) {
  const GroupSpread spread = SpreadOf(run, size);
  const double mean = static_cast<double>(size) + 1;  // dm in units of A
  return std::max(mean * spread.magnitude,
                  Largest(run, 1) * mean * spread.ratio + RelativeFor(size) * Largest(run, 2));
}

}  // namespace

double BatchNormUnits(const NodeRun& run) { return 6 * Largest(run, 2); }
double LayerNormRelative(const NodeRun& run) { return RelativeFor(LayerSize(run)); }
double LayerNormUnits(const NodeRun& run) { return AbsoluteFor(run, LayerSize(run)); }
double InstanceNormRelative(const NodeRun& run) { return RelativeFor(InstanceSize(run)); }
double InstanceNormUnits(const NodeRun& run) { return AbsoluteFor(run, InstanceSize(run)); }
double GroupNormRelative(const NodeRun& run) { return RelativeFor(ChannelGroupSize(run)); }
double GroupNormUnits(const NodeRun& run) { return AbsoluteFor(run, ChannelGroupSize(run)); }
double RmsNormRelative(const NodeRun& run) { return RelativeFor(LayerSize(run)); }

}  // namespace qtx::reference::golden
