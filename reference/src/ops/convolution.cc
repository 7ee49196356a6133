#include "ops/convolution.h"

#include <algorithm>

namespace qtx::reference {
namespace {

// Where things lie in the row-major layouts.
struct Layout {
  const Convolution& g;

  std::int64_t ChannelsPerGroup() const { return g.channels / g.group; }
  std::int64_t Output(std::int64_t n, std::int64_t m, std::int64_t position) const {
    return (n * g.channels + m) * g.positions + position;
  }
  // First element of input channel c of group i in image n.
  std::int64_t Image(std::int64_t n, std::int64_t i, std::int64_t c) const {
    return ((n * g.group + i) * g.depth + c) * g.pixels;
  }
  // First weight between that channel and output channel m.
  std::int64_t Kernel(std::int64_t m, std::int64_t c) const {
    if (!g.transposed) return (m * g.depth + c) * g.kernel;
    const std::int64_t input_channel = m / ChannelsPerGroup() * g.depth + c;
    return (input_channel * ChannelsPerGroup() + m % ChannelsPerGroup()) * g.kernel;
  }
  // Index of channel m's scale among those along w's axis of output channels.
  std::int64_t Scale(std::int64_t m) const { return g.transposed ? m % ChannelsPerGroup() : m; }
};

template <typename T>
std::vector<T> IntegersOf(const Operand& operand) {
  const std::int64_t count = format::ElementCount(operand.tensor());
  std::vector<T> integers;
  integers.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) integers.push_back(static_cast<T>(operand.integer(i)));
  return integers;
}

// The weights of each output channel, one after the other.
template <typename T>
std::vector<T> RowsOf(const Convolution& g, const Operand& w) {
  if (!g.transposed) return IntegersOf<T>(w);
  std::vector<T> rows;
  rows.reserve(static_cast<std::size_t>(g.channels * g.depth * g.kernel));
  for (std::int64_t m = 0; m < g.channels; ++m) {
    for (std::int64_t c = 0; c < g.depth; ++c) {
      const std::int64_t first = Layout{g}.Kernel(m, c);
      for (std::int64_t k = 0; k < g.kernel; ++k) {
        rows.push_back(static_cast<T>(w.integer(first + k)));
      }
    }
  }
  return rows;
}

// The window of one group laid out like a row of w, zeros outside x; `image` holds its channels.
template <typename T>
void Gather(const Convolution& g, const T* image, const std::vector<Tap>& taps,
            std::vector<T>* patch) {
  const bool partial = static_cast<std::int64_t>(taps.size()) < g.kernel;
  if (partial) std::fill(patch->begin(), patch->end(), T{0});
  for (std::int64_t c = 0; c < g.depth; ++c) {
    const T* channel = image + c * g.pixels;
    T* row = patch->data() + c * g.kernel;
    for (const Tap& tap : taps) row[tap.kernel] = channel[tap.input];
  }
}

// Of ConvTranspose: keeps of a row [depth, kernel] the weights at the taps alone, since a position
// of the kernel that x does not reach takes no part in any pair of products (onednn_avx2.S1).
template <typename T>
void KeepTaps(const Convolution& g, const std::vector<Tap>& taps, const T* row,
              std::vector<T>* kept) {
  kept->clear();
  for (std::int64_t c = 0; c < g.depth; ++c) {
    for (const Tap& tap : taps) kept->push_back(row[c * g.kernel + tap.kernel]);
  }
}

// Each window is multiplied with every row of its group.
template <typename T>
void ConvolveIntegers(const Convolution& g, const Operand& x, const Operand& w, ProductSum* sum) {
  const Layout at{g};
  const std::vector<T> xs = IntegersOf<T>(x);
  const std::vector<T> ws = RowsOf<T>(g, w);
  std::vector<T> patch(static_cast<std::size_t>(g.depth * g.kernel)), reached, weights;
  std::vector<Tap> taps;
  for (std::int64_t position = 0; position < g.positions; ++position) {
    g.taps(position, &taps);
    const auto count = static_cast<std::int64_t>(taps.size());
    const bool keeps = g.transposed && count < g.kernel;
    for (std::int64_t image = 0; image < g.batch * g.group; ++image) {
      const std::int64_t n = image / g.group;
      const std::int64_t group = image % g.group;
      Gather(g, xs.data() + at.Image(n, group, 0), taps, &patch);
      if (keeps) KeepTaps(g, taps, patch.data(), &reached);
      for (std::int64_t i = 0; i < at.ChannelsPerGroup(); ++i) {
        const std::int64_t m = group * at.ChannelsPerGroup() + i;
        const T* row = ws.data() + m * g.depth * g.kernel;
        if (keeps) KeepTaps(g, taps, row, &weights);
        const std::int64_t dot = keeps ? sum->Sum(reached.data(), weights.data(), g.depth, count)
                                       : sum->Sum(patch.data(), row, g.depth, g.kernel);
        sum->PutAccumulator(at.Output(n, m, position), at.Scale(m), dot, m);
      }
    }
  }
}

// Over any reals, in the order channel, kernel. Taps outside x contribute nothing.
void ConvolveReals(const Convolution& g, ProductSum* sum) {
  const Layout at{g};
  std::vector<Tap> taps;
  std::vector<std::int64_t> xs;
  std::vector<std::int64_t> ws;
  for (std::int64_t position = 0; position < g.positions; ++position) {
    g.taps(position, &taps);
    for (std::int64_t n = 0; n < g.batch; ++n) {
      for (std::int64_t m = 0; m < g.channels; ++m) {
        xs.clear();
        ws.clear();
        for (std::int64_t c = 0; c < g.depth; ++c) {
          for (const Tap& tap : taps) {
            xs.push_back(at.Image(n, m / at.ChannelsPerGroup(), c) + tap.input);
            ws.push_back(at.Kernel(m, c) + tap.kernel);
          }
        }
        sum->PutPairs(at.Output(n, m, position), at.Scale(m), m, xs, ws);
      }
    }
  }
}

}  // namespace

void Convolve(const Convolution& g, const Operand& x, const Operand& w, ProductSum* sum) {
  if (!sum->integer()) return ConvolveReals(g, sum);
  if (sum->narrow()) return ConvolveIntegers<std::int16_t>(g, x, w, sum);
  ConvolveIntegers<std::int32_t>(g, x, w, sum);
}

}  // namespace qtx::reference
