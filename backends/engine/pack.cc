#include "engine/pack.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kLargestSum = std::numeric_limits<std::int32_t>::max();

// Returns `w` clamped to the bounds and leaves the rest in `w`.
std::int16_t Take(std::int16_t& w, std::int32_t low, std::int32_t high) {
  const auto part = static_cast<std::int16_t>(std::clamp<std::int32_t>(w, low, high));
  w = static_cast<std::int16_t>(w - part);
  return part;
}

std::int64_t Magnitude(const PackSource& source) {
  return std::max(std::abs(std::int64_t{source.activation_min}),
                  std::abs(std::int64_t{source.activation_max}));
}

}  // namespace

template <typename W>
WeightLimits<W> WeightLimits<W>::For(std::int64_t largest, int group, std::int32_t pair_limit) {
  WeightLimits limits;
  largest = std::max<std::int64_t>(largest, 1);
  if (const std::int64_t most = kLargestSum / (largest * group); most <= limits.high) {
    limits.high = static_cast<std::int32_t>(most);
    limits.low = -limits.high;
  }
  if (pair_limit == 0) return limits;
  limits.pair_high = static_cast<std::int32_t>(pair_limit / largest);
  limits.pair_low = -static_cast<std::int32_t>((std::int64_t{pair_limit} + 1) / largest);
  limits.low = std::max(limits.low, limits.pair_low);
  limits.high = std::min(limits.high, limits.pair_high);
  return limits;
}

template <typename W>
bool TakeGroup(const WeightLimits<W>& limits, int group, std::int16_t* rest, W* out) {
  bool done = true;
  for (int j = 0; j < group; j += 2) {
    const std::int16_t first = Take(rest[j], limits.low, limits.high);
    std::int32_t low = limits.low;
    std::int32_t high = limits.high;
    if (limits.pair_high != 0) {
      low = std::max(low, limits.pair_low - std::min<std::int32_t>(first, 0));
      high = std::min(high, limits.pair_high - std::max<std::int32_t>(first, 0));
    }
    const std::int16_t second = Take(rest[j + 1], low, high);
    out[j] = static_cast<W>(first);
    out[j + 1] = static_cast<W>(second);
    done = done && rest[j] == 0 && rest[j + 1] == 0;
  }
  return done;
}

template struct WeightLimits<std::int8_t>;
template bool TakeGroup(const WeightLimits<std::int8_t>&, int, std::int16_t*, std::int8_t*);

std::int64_t PackSource::Depth() const {
  std::int64_t depth = 0;
  for (const Stretch& stretch : stretches) depth += stretch.length;
  return depth;
}

// Packs the strips in order.
template <typename A, typename W>
class Packer {
 public:
  Packer(const ProductKernels<A, W>& kernels, const PackSource& source, PackedWeights<W>& packed)
      : kernels_(kernels),
        source_(source),
        packed_(packed),
        depth_(source.Depth()),
        limits_(WeightLimits<W>::For(Magnitude(source), kernels.group, kernels.pair_limit)) {}

  void Run() {
    const std::int64_t lanes = kernels_.lanes;
    const std::int64_t panels = (source_.columns + lanes - 1) / lanes;
    const std::int64_t strips = (panels + kernels_.vectors - 1) / kernels_.vectors;
    for (std::int64_t s = 0; s < strips; ++s) {
      const std::int64_t first = panels * s / strips;
      const std::int64_t last = panels * (s + 1) / strips;
      AddStrip(first * lanes, static_cast<int>(last - first));
    }
    packed_.bytes_ = static_cast<std::int64_t>(panels_.size() * sizeof(W));
    packed_.panels_.Resize(packed_.bytes_);
    std::ranges::copy(panels_, reinterpret_cast<W*>(packed_.panels_.data()));
  }

 private:
  // A group of weights of all columns of the strip, as far as it is not packed yet.
  struct Pending {
    std::int32_t offset = 0;
    std::vector<std::int16_t> rest;
  };

  std::size_t Width() const { return static_cast<std::size_t>(strip_.vectors * kernels_.lanes); }

  void AddStrip(std::int64_t column, int vectors) {
    strip_ = {.column = column,
              .columns = std::min<std::int64_t>(vectors * kernels_.lanes, source_.columns - column),
              .first = static_cast<std::int64_t>(packed_.initial_.size()),
              .vectors = vectors,
              .panels = static_cast<std::int64_t>(panels_.size())};
    groups_.clear();
    const std::size_t first_segment = packed_.segments_.size();
    std::vector<Pending> pending = PackStretches();
    while (!pending.empty()) pending = PackRest(std::move(pending));
    StorePanels();
    const std::int64_t groups = static_cast<std::int64_t>(groups_.size() / (Width() * Group()));
    packed_.work_ += groups * vectors;
    const bool fits = AddInitial();
    strip_.wide = !fits;
    AddChunks(first_segment, groups,
              fits ? CachedGroups() : std::min(SafeGroups(), CachedGroups()));
    packed_.strips_.push_back(strip_);
  }

  std::size_t Group() const { return static_cast<std::size_t>(kernels_.group); }

  // The groups of all stretches, and what is left of their weights.
  std::vector<Pending> PackStretches() {
    std::vector<Pending> pending;
    std::int64_t k = 0;
    for (const Stretch& stretch : source_.stretches) {
      const std::int32_t groups = (stretch.length + kernels_.group - 1) / kernels_.group;
      packed_.segments_.push_back({stretch.offset, groups});
      for (std::int32_t g = 0; g < groups; ++g) {
        const std::int32_t begin = g * kernels_.group;
        Pending group{stretch.offset + begin,
                      Gather(k + begin, std::min(kernels_.group, stretch.length - begin))};
        if (!PackGroup(group)) pending.push_back(std::move(group));
      }
      k += stretch.length;
    }
    return pending;
  }

  std::vector<Pending> PackRest(std::vector<Pending> pending) {
    std::vector<Pending> more;
    Segment joined;
    for (Pending& group : pending) {
      if (joined.groups == 0 || joined.offset + joined.groups * kernels_.group != group.offset) {
        if (joined.groups != 0) packed_.segments_.push_back(joined);
        joined = {group.offset, 0};
      }
      ++joined.groups;
      if (!PackGroup(group)) more.push_back(std::move(group));
    }
    packed_.segments_.push_back(joined);
    return more;
  }

  // [columns of the strip][group], filled up with zeros.
  std::vector<std::int16_t> Gather(std::int64_t k, int count) const {
    std::vector<std::int16_t> rest(Width() * Group());
    for (std::int64_t c = 0; c < strip_.columns; ++c) {
      const std::int16_t* from = source_.values + (strip_.column + c) * depth_ + k;
      std::copy_n(from, count, rest.begin() + c * kernels_.group);
    }
    return rest;
  }

  // Appends the part of the group that one instruction multiplies. Returns true if nothing is left.
  bool PackGroup(Pending& group) {
    const std::size_t begin = groups_.size();
    groups_.resize(begin + Width() * Group());
    bool done = true;
    for (std::size_t c = 0; c < Width(); ++c) {
      const bool all = TakeGroup(limits_, kernels_.group, group.rest.data() + c * Group(),
                                 groups_.data() + begin + c * Group());
      done = done && all;
    }
    return done;
  }

  // From [groups][columns of the strip] to [vectors][groups][lanes].
  void StorePanels() {
    const std::size_t line = Group() * static_cast<std::size_t>(kernels_.lanes);
    const std::size_t vectors = static_cast<std::size_t>(strip_.vectors);
    const std::size_t groups = groups_.size() / (line * vectors);
    strip_.panel_stride = static_cast<std::int64_t>(groups * line);
    for (std::size_t v = 0; v < vectors; ++v) {
      for (std::size_t g = 0; g < groups; ++g) {
        const auto from = groups_.begin() + static_cast<std::ptrdiff_t>((g * vectors + v) * line);
        panels_.insert(panels_.end(), from, from + static_cast<std::ptrdiff_t>(line));
      }
    }
  }

  // Sets the initial values of the columns. Returns false if a sum might not fit int32.
  bool AddInitial() {
    bool fits = true;
    for (std::int64_t c = 0; c < strip_.columns; ++c) {
      const std::int16_t* weights = source_.values + (strip_.column + c) * depth_;
      std::int64_t sum = 0;
      std::int64_t magnitude = 0;
      for (std::int64_t k = 0; k < depth_; ++k) {
        sum += weights[k];
        magnitude += std::abs(std::int64_t{weights[k]});
      }
      const auto column = static_cast<std::size_t>(strip_.column + c);
      const std::int64_t addend = source_.addend.empty() ? 0 : source_.addend[column];
      const std::int64_t initial = addend - source_.zero * sum;
      packed_.wide_initial_.push_back(initial);
      fits = fits && std::abs(initial) + Magnitude(source_) * magnitude <= kLargestSum;
    }
    packed_.wide_initial_.resize(static_cast<std::size_t>(strip_.first) + Width());
    for (std::size_t c = 0; c < Width(); ++c) {
      const std::int64_t initial =
          packed_.wide_initial_[static_cast<std::size_t>(strip_.first) + c];
      packed_.initial_.push_back(fits ? static_cast<std::int32_t>(initial) : 0);
    }
    return fits;
  }

  // The number of groups whose sum certainly fits int32.
  std::int64_t SafeGroups() const {
    const std::int64_t largest =
        std::max(std::abs(std::int64_t{limits_.low}), std::int64_t{limits_.high});
    return kLargestSum / (std::max<std::int64_t>(Magnitude(source_), 1) * largest * kernels_.group);
  }

  // The number of groups whose panels stay in the second-level cache while a block of rows is
  // multiplied with them.
  std::int64_t CachedGroups() const {
    constexpr std::int64_t kBytes = 128 << 10;
    const std::int64_t group =
        strip_.vectors * kernels_.lanes * static_cast<std::int64_t>(sizeof(W)) +
        kMaxRows * static_cast<std::int64_t>(sizeof(A));
    return std::max<std::int64_t>(1, kBytes / (group * kernels_.group));
  }

  // Divides the strip's segments from `first` on, which have `groups` groups, into equal chunks of
  // at most `most` groups.
  void AddChunks(std::size_t first, std::int64_t groups, std::int64_t most) {
    const std::int64_t count = std::max<std::int64_t>(1, (groups + most - 1) / most);
    most = std::max<std::int64_t>(1, (groups + count - 1) / count);
    const std::vector<Segment> all(packed_.segments_.begin() + static_cast<std::ptrdiff_t>(first),
                                   packed_.segments_.end());
    packed_.segments_.resize(first);
    strip_.first_chunk = packed_.chunks_.size();
    std::int64_t left = 0;
    std::int64_t done = 0;
    for (Segment segment : all) {
      while (segment.groups > 0) {
        if (left == 0) {
          packed_.chunks_.push_back(
              {packed_.segments_.size(), 0, done * kernels_.lanes * kernels_.group});
          left = most;
        }
        const auto part = static_cast<std::int32_t>(std::min<std::int64_t>(left, segment.groups));
        packed_.segments_.push_back({segment.offset, part});
        ++packed_.chunks_.back().segment_count;
        segment.offset += part * kernels_.group;
        segment.groups -= part;
        left -= part;
        done += part;
      }
    }
    if (packed_.chunks_.size() == strip_.first_chunk) packed_.chunks_.push_back({});
    strip_.chunk_count = packed_.chunks_.size() - strip_.first_chunk;
  }

  const ProductKernels<A, W>& kernels_;
  const PackSource& source_;
  PackedWeights<W>& packed_;
  std::int64_t depth_;
  WeightLimits<W> limits_;
  Strip strip_;
  std::vector<W> groups_;  // of the present strip: [groups][columns of the strip][group]
  std::vector<W> panels_;
};

template <typename W>
template <typename A>
PackedWeights<W>::PackedWeights(const ProductKernels<A, W>& kernels, const PackSource& source) {
  Packer<A, W>(kernels, source, *this).Run();
}

template PackedWeights<std::int8_t>::PackedWeights(const ProductKernels<std::uint8_t, std::int8_t>&,
                                                   const PackSource&);
template PackedWeights<std::int16_t>::PackedWeights(
    const ProductKernels<std::int16_t, std::int16_t>&, const PackSource&);

}  // namespace qtx::backend::engine
