// Conv of reals: filters by the positions of a padded image, channels first. A stride takes the
// image apart into phases, so that neighbouring positions read neighbouring elements.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/ops/real_product.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kChunk = 48;    // positions whose sums are computed together
constexpr std::int64_t kFilters = 16;  // whose sums of a chunk one thread computes

constexpr std::size_t At(std::int64_t i) { return static_cast<std::size_t>(i); }
std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// One padded image of a group's channels: [channel][phase of y][phase of x][line][column].
class PhasedImage {
 public:
  PhasedImage(const WindowAxis& y, const WindowAxis& x, std::int64_t channels)
      : y_(y), x_(x), channels_(channels) {
    lines_ = CeilDivide(Reach(y), y.stride);
    columns_ = CeilDivide(Reach(x), x.stride);
  }

  // Elements that a window may read, with those at which no window begins.
  double Size() const {
    return static_cast<double>(channels_) * static_cast<double>(y_.stride) *
           static_cast<double>(x_.stride) * static_cast<double>(lines_) *
           static_cast<double>(columns_);
  }
  std::int64_t columns() const { return columns_; }

  // Kernels read whole chunks of positions, beyond the last one.
  std::int64_t Bytes() const {
    return (static_cast<std::int64_t>(Size()) + kChunk) * static_cast<std::int64_t>(sizeof(double));
  }
  // Takes Bytes() of memory for one run. The padding is zero, which Fill leaves as it is.
  void Begin(std::byte* memory) {
    elements_ = reinterpret_cast<double*>(memory);
    std::fill_n(memory, Bytes(), std::byte{});
  }
  const double* data() const { return elements_; }

  // The distance of each of a window's elements from its first, in the order of the weights.
  std::vector<std::int64_t> Offsets() const {
    std::vector<std::int64_t> offsets;
    for (std::int64_t c = 0; c < channels_; ++c) {
      for (std::int64_t i = 0; i < y_.kernel; ++i) {
        for (std::int64_t j = 0; j < x_.kernel; ++j) {
          offsets.push_back(OffsetOf(c, i * y_.dilation, j * x_.dilation));
        }
      }
    }
    return offsets;
  }

  // Copies one channel of the input, padding excepted. Returns the greatest magnitude, without NaN.
  template <typename T>
  double Fill(std::int64_t channel, const T* from) {
    double greatest = 0;
    for (std::int64_t i = 0; i < y_.input; ++i, from += x_.input) {
      const std::int64_t line = i + y_.pad_begin;
      if (line >= Reach(y_)) continue;
      for (std::int64_t phase = 0; phase < x_.stride; ++phase) {
        greatest = std::max(greatest, FillPhase(from, channel, line, phase));
      }
    }
    return greatest;
  }

 private:
  // The padded elements that windows read.
  static std::int64_t Reach(const WindowAxis& axis) {
    return (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
  }
  std::int64_t OffsetOf(std::int64_t channel, std::int64_t line, std::int64_t column) const {
    const std::int64_t phase =
        (channel * y_.stride + line % y_.stride) * x_.stride + column % x_.stride;
    return (phase * lines_ + line / y_.stride) * columns_ + column / x_.stride;
  }
  template <typename T>
  double FillPhase(const T* from, std::int64_t channel, std::int64_t line, std::int64_t phase) {
    // The first input element of the phase is at column `first` of the padded line.
    const std::int64_t skipped = (phase - x_.pad_begin % x_.stride + x_.stride) % x_.stride;
    const std::int64_t first = x_.pad_begin + skipped;
    const std::int64_t end = std::min(x_.input, Reach(x_) - x_.pad_begin);
    if (skipped >= end) return 0;
    double* to = elements_ + OffsetOf(channel, line, first);
    double greatest = 0;
    for (std::int64_t j = skipped; j < end; j += x_.stride) {
      const auto value = static_cast<double>(from[j]);
      *to++ = value;
      greatest = std::fabs(value) > greatest ? std::fabs(value) : greatest;
    }
    return greatest;
  }

  WindowAxis y_, x_;
  std::int64_t channels_, lines_ = 0, columns_ = 0;
  double* elements_ = nullptr;
};

class RealConv : public Step {
 public:
  RealConv(const NodePlan& node, const ConvShape& shape, const Window& window,
           const PhasedImage& image, Buffer* memory, RealResults results)
      : shape_(shape),
        window_(window),
        results_(std::move(results)),
        tile_(node.kernels().real_tile),
        threads_(node.threads()),
        image_(image),
        memory_(memory),
        offsets_(image_.Offsets()),
        greatest_(At(shape.GroupChannels())) {
    if (results_.sum().b->constant) LoadWeights();
  }

  std::string_view Path() const override { return "real products"; }
  Result<void> Run() override {
    results_.Begin();
    image_.Begin(memory_->data);
    if (!results_.sum().b->constant) LoadWeights();
    const format::Tensor& a = results_.sum().a->tensor;
    if (a.elem_type == format::ElementType::kFloat) {
      RunOn(a.As<float>().data());
    } else {
      RunOn(DoublesOf(a).data());
    }
    return {};
  }

 private:
  std::int64_t Depth() const { return shape_.GroupChannels() * shape_.Taps(); }

  void LoadWeights() {
    weights_ = DoublesOf(results_.sum().b->tensor);
    magnitudes_.assign(At(shape_.filters), 0);
    for (std::int64_t m = 0; m < shape_.filters; ++m) {
      for (std::int64_t k = 0; k < Depth(); ++k) {
        magnitudes_[At(m)] += std::fabs(weights_[At(m * Depth() + k)]);
      }
    }
  }

  template <typename T>
  void RunOn(const T* images) {
    const std::int64_t channels = shape_.GroupChannels();
    const std::int64_t size = window_.y.input * window_.x.input;
    for (std::int64_t n = 0; n < shape_.batch; ++n) {
      for (std::int64_t g = 0; g < shape_.groups; ++g) {
        const T* group = images + (n * shape_.groups + g) * channels * size;
        threads_.For(channels, channels * size,
                     [&](std::int64_t c) { greatest_[At(c)] = image_.Fill(c, group + c * size); });
        MultiplyGroup(n, g, *std::ranges::max_element(greatest_));
      }
    }
  }

  // Positions are counted along the image's lines: those beyond a line's output are left out.
  void MultiplyGroup(std::int64_t n, std::int64_t g, double greatest) {
    const std::int64_t end = (window_.y.output - 1) * image_.columns() + window_.x.output;
    const std::int64_t filters = shape_.GroupFilters();
    const std::int64_t parts = CeilDivide(filters, kFilters);
    const std::int64_t nanoseconds = end * filters * (Depth() + 4) / 8;
    threads_.For(CeilDivide(end, kChunk) * parts, nanoseconds, [&](std::int64_t i) {
      const std::int64_t from = i / parts * kChunk;
      const std::int64_t first = i % parts * kFilters;
      for (std::int64_t m = first; m < std::min(first + kFilters, filters); m += kMaxRealRows) {
        const Rows rows{n, g * filters + m, std::min<std::int64_t>(kMaxRealRows, filters - m)};
        MultiplyTile(rows, from, std::min(kChunk, end - from), greatest);
      }
    });
  }

  struct Rows {
    std::int64_t image, first_filter, count;
  };

  void MultiplyTile(const Rows& rows, std::int64_t from, std::int64_t count, double greatest) {
    std::array<double, At(kMaxRealRows * kChunk)> sums;
    RealTile<double> tile;
    tile.row_count = static_cast<int>(rows.count);
    for (int r = 0; r < tile.row_count; ++r) {
      tile.rows[r] = weights_.data() + (rows.first_filter + r) * Depth();
    }
    tile.values = image_.data() + from;
    tile.offsets = offsets_.data();
    tile.taps = Depth();
    tile.columns = CeilDivide(count, kRealLanes) * kRealLanes;
    tile.sums = sums.data();
    tile_(tile);
    for (int r = 0; r < tile.row_count; ++r) {
      Settle({sums.data() + r * tile.columns, At(count)}, from, rows.image, rows.first_filter + r,
             greatest);
    }
  }

  // The sums of a filter at `sums.size()` positions of the image, from `from` on: all are rounded,
  // and those of the output copied.
  void Settle(std::span<const double> sums, std::int64_t from, std::int64_t n, std::int64_t m,
              double greatest) {
    const Sum& sum = results_.sum();
    const float* bias = sum.addend == nullptr ? nullptr : sum.addend->tensor.As<float>().data() + m;
    const double bound = RealResults::Bound(Depth(), greatest * magnitudes_[At(m)],
                                            bias == nullptr ? 0 : std::fabs(*bias));
    std::array<float, At(kChunk)> rounded;
    std::array<std::int32_t, At(kChunk)> doubtful;
    const std::int64_t count =
        results_.Round(sums, bias, 0, bound, rounded.data(), doubtful.data());
    const std::int64_t plane = (n * shape_.filters + m) * shape_.Positions();
    const std::int64_t width = window_.x.output;
    const auto end = from + static_cast<std::int64_t>(sums.size());
    std::int64_t line = from / image_.columns();
    for (std::int64_t start = line * image_.columns(); start < end;
         start += image_.columns(), ++line) {
      const std::int64_t first = std::max(start, from);
      const std::int64_t last = std::min(start + width, end);
      if (first >= last) continue;
      std::copy(rounded.data() + (first - from), rounded.data() + (last - from),
                results_.y() + plane + line * width + first - start);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t position = from + doubtful[At(i)];
      const std::int64_t x = position % image_.columns();
      if (x >= width) continue;
      results_.Put(plane + position / image_.columns() * width + x, weights_.data() + m * Depth(),
                   image_.data() + position, offsets_, bias == nullptr ? 0 : *bias);
    }
  }

  ConvShape shape_;
  Window window_;
  RealResults results_;
  void (*tile_)(const RealTile<double>&);
  Threads& threads_;
  PhasedImage image_;
  Buffer* memory_;
  std::vector<std::int64_t> offsets_;
  std::vector<double> weights_, magnitudes_;
  std::vector<double> greatest_;  // magnitude in each channel of the image
};

}  // namespace

std::unique_ptr<Step> MakeRealConv(const NodePlan& node, const ConvShape& shape,
                                   RealResults results) {
  const auto window = WindowOf(node, shape.axes);
  if (!window.has_value() || shape.filters == 0 || shape.batch == 0) return nullptr;
  const WindowAxis& y = window->y;
  const WindowAxis& x = window->x;
  if (y.output < 1 || x.output < 1) return nullptr;
  PhasedImage image(y, x, shape.GroupChannels());
  const double input = static_cast<double>(shape.GroupChannels()) * static_cast<double>(y.input) *
                       static_cast<double>(x.input);
  constexpr double kMostMore = 16;     // times the input
  constexpr double kSmall = 0x1p16;    // elements
  constexpr double kLargest = 0x1p26;  // elements: half a gigabyte
  if (image.Size() > std::min(kLargest, std::max(kSmall, kMostMore * input))) return nullptr;
  const auto memory = node.Scratch(image.Bytes());
  if (!memory.has_value()) return nullptr;
  return std::make_unique<RealConv>(node, shape, *window, image, *memory, std::move(results));
}

}  // namespace qtx::backend::engine
