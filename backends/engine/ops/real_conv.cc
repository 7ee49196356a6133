// Conv of reals: filters by the positions of an image, channels first.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/ops/real_image.h"
#include "engine/ops/real_product.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kChunk = kMaxRealColumns;  // positions whose sums are computed together
constexpr std::int64_t kDeep = 64;                // products of a sum, above which
constexpr std::int64_t kDeepBytes = 192;          // of positions stay in cache
constexpr std::int64_t kFilters = 16;             // whose sums of a chunk one thread computes

constexpr std::size_t At(std::int64_t i) { return static_cast<std::size_t>(i); }
std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

void (*TileOf(const Kernels& kernels, const double*))(const RealTile<double>&) {
  return kernels.real_tile;
}
void (*TileOf(const Kernels& kernels, const float*))(const RealTile<float, float>&) {
  return kernels.float_tile;
}

template <typename Results>
class RealConv : public Step {
 public:
  using Real = typename Results::Real;

  RealConv(const NodePlan& node, const ConvShape& shape, const Window& window,
           const RealImage<Real>& image, Buffer* memory, Results results)
      : shape_(shape),
        window_(window),
        results_(std::move(results)),
        kernels_(node.kernels()),
        threads_(node.threads()),
        image_(image),
        memory_(memory),
        offsets_(image_.Offsets()),
        chunk_(Depth() > kDeep ? kDeepBytes / static_cast<std::int64_t>(sizeof(Real)) : kChunk) {
    if (results_.sum().b->constant) LoadWeights();
  }

  std::string_view Path() const override { return "real products"; }
  Result<void> Run() override {
    results_.Begin();
    image_.Begin(memory_->data);
    if (!results_.sum().b->constant) LoadWeights();
    const format::Tensor& a = results_.sum().a->tensor;
    if (a.elem_type == format::ElementType::kFloat) {
      const auto images = a.As<float>();
      RunOn(images.data(), kernels_.greatest(images.data(), std::ssize(images)));
    } else {
      const std::vector<Real> images = Results::Load(a);
      double greatest = 0;
      for (const Real x : images) greatest = std::max(greatest, std::fabs(double{x}));
      RunOn(images.data(), greatest);
    }
    return {};
  }

 private:
  std::int64_t Depth() const { return shape_.GroupChannels() * shape_.Taps(); }

  void LoadWeights() {
    weights_ = Results::Load(results_.sum().b->tensor);
    magnitudes_.assign(At(shape_.filters), 0);
    for (std::int64_t m = 0; m < shape_.filters; ++m) {
      for (std::int64_t k = 0; k < Depth(); ++k) {
        magnitudes_[At(m)] += std::fabs(double{weights_[At(m * Depth() + k)]});
      }
    }
  }

  // `greatest`: magnitude of all images.
  template <typename T>
  void RunOn(const T* images, double greatest) {
    const std::int64_t channels = shape_.GroupChannels();
    const std::int64_t size = window_.y.input * window_.x.input;
    for (std::int64_t n = 0; n < shape_.batch; ++n) {
      for (std::int64_t g = 0; g < shape_.groups; ++g) {
        const T* group = images + (n * shape_.groups + g) * channels * size;
        threads_.For(channels, channels * size,
                     [&](std::int64_t c) { image_.Fill(kernels_, c, group + c * size); });
        MultiplyGroup(n, g, greatest);
      }
    }
  }

  // Positions are counted along the image's lines: those beyond a line's output are left out.
  void MultiplyGroup(std::int64_t n, std::int64_t g, double greatest) {
    const std::int64_t end = (window_.y.output - 1) * image_.columns() + window_.x.output;
    const std::int64_t filters = shape_.GroupFilters();
    const std::int64_t parts = CeilDivide(filters, kFilters);
    const std::int64_t nanoseconds = end * filters * (Depth() + 4) / 8;
    threads_.For(CeilDivide(end, chunk_) * parts, nanoseconds, [&](std::int64_t i) {
      const std::int64_t from = i / parts * chunk_;
      const std::int64_t first = i % parts * kFilters;
      for (std::int64_t m = first; m < std::min(first + kFilters, filters); m += kMaxRealRows) {
        const Rows rows{n, g * filters + m, std::min<std::int64_t>(kMaxRealRows, filters - m)};
        MultiplyTile(rows, from, std::min(chunk_, end - from), greatest);
      }
    });
  }

  struct Rows {
    std::int64_t image, first_filter, count;
  };

  void MultiplyTile(const Rows& rows, std::int64_t from, std::int64_t count, double greatest) {
    std::array<Real, At(kMaxRealRows * kChunk)> sums;
    RealTile<Real, Real> tile;
    tile.row_count = static_cast<int>(rows.count);
    for (int r = 0; r < tile.row_count; ++r) {
      tile.rows[r] = weights_.data() + (rows.first_filter + r) * Depth();
    }
    tile.values = image_.data() + from;
    tile.offsets = offsets_.data();
    tile.taps = Depth();
    tile.columns = CeilDivide(count, kRealLanes<Real>) * kRealLanes<Real>;
    tile.sums = sums.data();
    TileOf(kernels_, tile.values)(tile);
    for (int r = 0; r < tile.row_count; ++r) {
      Settle({sums.data() + r * tile.columns, At(count)}, from, rows.image, rows.first_filter + r,
             greatest);
    }
  }

  // The sums of a filter at `sums.size()` positions of the image, from `from` on: all are rounded,
  // and those of the output copied where not all are.
  void Settle(std::span<const Real> sums, std::int64_t from, std::int64_t n, std::int64_t m,
              double greatest) {
    const Sum& sum = results_.sum();
    const float* bias = sum.addend == nullptr ? nullptr : sum.addend->tensor.As<float>().data() + m;
    const double bound = Results::Bound(Depth(), greatest * magnitudes_[At(m)],
                                        bias == nullptr ? 0 : std::fabs(*bias));
    std::array<float, At(kChunk)> rounded;
    std::array<std::int32_t, At(kChunk)> doubtful;
    const std::int64_t plane = (n * shape_.filters + m) * shape_.Positions();
    const std::int64_t width = window_.x.output;
    const bool all = width == image_.columns();
    static constexpr float kNone = 0;
    const std::int64_t count =
        results_.Round({.sums = sums.data(),
                        .n = std::ssize(sums),
                        .addend = bias == nullptr ? &kNone : bias,
                        .bound = bound,
                        .y = all ? results_.y() + plane + from : rounded.data()},
                       doubtful.data());
    if (!all) CopyLines(rounded.data(), from, std::ssize(sums), results_.y() + plane);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t position = from + doubtful[At(i)];
      const std::int64_t x = position % image_.columns();
      if (x >= width) continue;
      results_.Put(plane + position / image_.columns() * width + x, weights_.data() + m * Depth(),
                   image_.data() + position, offsets_, bias == nullptr ? 0 : *bias);
    }
  }

  // `n` positions of the image from `from` on, those of the output.
  void CopyLines(const float* rounded, std::int64_t from, std::int64_t n, float* y) const {
    const std::int64_t width = window_.x.output;
    const std::int64_t end = from + n;
    std::int64_t line = from / image_.columns();
    for (std::int64_t start = line * image_.columns(); start < end;
         start += image_.columns(), ++line) {
      const std::int64_t first = std::max(start, from);
      const std::int64_t last = std::min(start + width, end);
      if (first >= last) continue;
      std::copy(rounded + (first - from), rounded + (last - from),
                y + line * width + first - start);
    }
  }

  ConvShape shape_;
  Window window_;
  Results results_;
  const Kernels& kernels_;
  Threads& threads_;
  RealImage<Real> image_;
  Buffer* memory_;
  std::vector<std::int64_t> offsets_;
  std::vector<Real> weights_;
  std::vector<double> magnitudes_;
  std::int64_t chunk_;
};

}  // namespace

template <typename Results>
std::unique_ptr<Step> MakeRealConv(const NodePlan& node, const ConvShape& shape, Results results) {
  using Image = RealImage<typename Results::Real>;
  const auto window = WindowOf(node, shape.axes);
  if (!window.has_value() || shape.filters == 0 || shape.batch == 0) return nullptr;
  if (window->y.output < 1 || window->x.output < 1) return nullptr;
  const std::int64_t channels = shape.GroupChannels();
  Image image(*window, channels, IsUnrollingWorthIt(*window, channels, shape.GroupFilters()));
  const double input = static_cast<double>(channels) * static_cast<double>(window->y.input) *
                       static_cast<double>(window->x.input);
  constexpr double kMostMore = 16;     // times the input
  constexpr double kSmall = 0x1p16;    // elements
  constexpr double kLargest = 0x1p26;  // elements: half a gigabyte
  const double limit = std::min(kLargest, std::max(kSmall, kMostMore * input));
  if (image.Size() > limit) image = Image(*window, channels, false);
  if (image.Size() > limit) return nullptr;
  const auto memory = node.Scratch(image.Bytes());
  if (!memory.has_value()) return nullptr;
  return std::make_unique<RealConv<Results>>(node, shape, *window, image, *memory,
                                             std::move(results));
}

template std::unique_ptr<Step> MakeRealConv(const NodePlan&, const ConvShape&, RealResults);
template std::unique_ptr<Step> MakeRealConv(const NodePlan&, const ConvShape&, FloatResults);

}  // namespace qtx::backend::engine
