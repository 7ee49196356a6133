// Conv of reals: positions of the image by filters, whose weights lie beside each other. Where
// groups have few filters and channels, these are columns of one product whose elements are their
// own.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/ops/real_image.h"
#include "engine/ops/real_panels.h"
#include "engine/ops/real_product.h"
#include "engine/transpose.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kPanel = 16;  // filters whose sums are computed together
constexpr std::int64_t kTiles = 8;   // of positions, with a panel, that one thread computes
constexpr std::int64_t kNarrow = 8;  // filters and channels of a group, below which
                                     // elements are copied for each filter

constexpr std::size_t At(std::int64_t i) { return static_cast<std::size_t>(i); }
std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

bool HasOwnElements(const ConvShape& shape) {
  return shape.groups > 1 && shape.GroupFilters() < kNarrow && shape.GroupChannels() < kNarrow;
}

void (*TileOf(const Kernels& kernels, bool own, const double*))(const RealTile<double>&) {
  return own ? kernels.own_real_tile : kernels.real_tile;
}
void (*TileOf(const Kernels& kernels, bool own, const float*))(const RealTile<float, float>&) {
  return own ? kernels.own_float_tile : kernels.float_tile;
}

template <typename Results>
class RealConv : public Step {
 public:
  using Real = typename Results::Real;

  RealConv(const NodePlan& node, const ConvShape& shape, const RealImage<Real>& image,
           Buffer* memory, Results results)
      : shape_(shape),
        positions_(shape.Positions()),
        own_(HasOwnElements(shape)),
        filters_(own_ ? shape.filters : shape.GroupFilters()),
        results_(std::move(results)),
        kernels_(node.kernels()),
        tile_(TileOf(kernels_, own_, static_cast<const Real*>(nullptr))),
        threads_(node.threads()),
        image_(image),
        memory_(memory),
        offsets_(image_.Offsets()) {
    if (results_.sum().b->constant) LoadWeights();
    if (results_.sum().b->constant && HasConstantAddend()) LoadAddends();
  }

  std::string_view Path() const override { return "real products"; }
  Result<void> Run() override {
    results_.Begin();
    if (!results_.sum().b->constant) LoadWeights();
    if (!results_.sum().b->constant || !HasConstantAddend()) LoadAddends();
    const format::Tensor& a = results_.sum().a->tensor;
    if (a.elem_type == format::ElementType::kFloat) {
      const auto images = a.As<float>();
      const bool bounded = sizeof(Real) == sizeof(double);
      RunOn(images.data(), bounded ? kernels_.greatest(images.data(), std::ssize(images)) : 0);
    } else {
      const std::vector<Real> images = Results::Load(a);
      double greatest = 0;
      for (const Real x : images) greatest = std::max(greatest, std::fabs(double{x}));
      RunOn(images.data(), greatest);
    }
    return {};
  }

 private:
  static constexpr std::int64_t kMaxRows = kMaxRealRows<Real>;

  std::int64_t Depth() const { return shape_.GroupChannels() * shape_.Taps(); }
  // Groups whose filters are computed together.
  std::int64_t Parts() const { return shape_.filters / filters_; }
  std::int64_t PartPanels() const { return CeilDivide(filters_, kPanel); }

  void LoadWeights() {
    const std::vector<Real> weights = Results::Load(results_.sum().b->tensor);
    panels_.clear();
    for (std::int64_t part = 0; part < Parts(); ++part) {
      for (std::int64_t first = 0; first < filters_; first += kPanel) {
        panels_.emplace_back(weights.data() + (part * filters_ + first) * Depth(), Depth(),
                             std::min(kPanel, filters_ - first), 1, Depth(), kPanel);
      }
    }
  }

  bool HasConstantAddend() const {
    return results_.sum().addend == nullptr || results_.sum().addend->constant;
  }
  // A column without a filter becomes 1, of which there is no doubt.
  void LoadAddends() {
    const Value* addend = results_.sum().addend;
    const float* from = addend == nullptr ? nullptr : addend->tensor.As<float>().data();
    addends_.resize(panels_.size());
    for (std::size_t p = 0; p < panels_.size(); ++p) {
      const auto [first, count] = FiltersOf(static_cast<std::int64_t>(p));
      const std::int64_t width = PanelWidth<Real>(count);
      Addends& of = addends_[p];
      of.greatest = from == nullptr ? 0 : kernels_.greatest(from + first, count);
      for (std::int64_t i = 0; i < kMaxRows * width; ++i) {
        const std::int64_t c = i % width;
        of.values[At(i)] = c >= count ? 1 : from == nullptr ? 0 : from[first + c];
      }
    }
  }

  struct Addends {
    std::array<float, At(kMaxRealRows<Real>* kPanel)> values;  // of a tile
    double greatest;
  };
  struct Filters {
    std::int64_t first, count;
  };
  Filters FiltersOf(std::int64_t panel) const {
    const std::int64_t first = panel % PartPanels() * kPanel;
    return {panel / PartPanels() * filters_ + first, std::min(kPanel, filters_ - first)};
  }

  // `greatest`: magnitude of all images.
  template <typename T>
  void RunOn(const T* images, double greatest) {
    const std::int64_t channels = shape_.channels / Parts();
    std::int64_t size = 1;
    for (const WindowAxis& axis : shape_.axes) size *= axis.input;
    for (std::int64_t n = 0; n < shape_.batch; ++n) {
      for (std::int64_t part = 0; part < Parts(); ++part) {
        image_.Fill(kernels_, threads_, images + (n * Parts() + part) * channels * size,
                    shape_.GroupFilters(), memory_->data);
        MultiplyPart(n, part, greatest);
      }
    }
  }

  void MultiplyPart(std::int64_t n, std::int64_t part, double greatest) {
    constexpr std::int64_t kPositions = kTiles * kMaxRows;
    const std::int64_t nanoseconds = positions_ * filters_ * (Depth() + 4) / 8;
    threads_.For(CeilDivide(positions_, kPositions) * PartPanels(), nanoseconds,
                 [&](std::int64_t i) {
                   const std::int64_t from = i / PartPanels() * kPositions;
                   MultiplyTiles(n, part * PartPanels() + i % PartPanels(), from,
                                 std::min(from + kPositions, positions_), greatest);
                 });
  }

  // Positions [from, end) of image `n` by a panel.
  void MultiplyTiles(std::int64_t n, std::int64_t panel, std::int64_t from, std::int64_t end,
                     double greatest) {
    const auto [first, filters] = FiltersOf(panel);
    const RealPanels<Real>& weights = panels_[At(panel)];
    const double bound =
        Results::Bound(Depth(), greatest * weights.greatest, addends_[At(panel)].greatest);
    std::array<Real, At(kMaxRows * kPanel)> sums;
    RealTile<Real, Real> tile;
    tile.offsets = offsets_.data();
    tile.values = weights.values.data();
    tile.taps = Depth();
    tile.columns = PanelWidth<Real>(filters);
    tile.sums = sums.data();
    for (; from < end; from += kMaxRows) {
      tile.row_count = static_cast<int>(std::min(kMaxRows, end - from));
      image_.Windows(from, tile.row_count, tile.rows);
      for (int r = 0; own_ && r < tile.row_count; ++r) tile.rows[r] += first;
      tile_(tile);
      Settle(tile, panel, (n * shape_.filters + first) * positions_ + from, bound);
    }
  }

  // Rounds a tile; the sum of its first row and column is y[element].
  void Settle(const RealTile<Real, Real>& tile, std::int64_t panel, std::int64_t element,
              double bound) {
    const std::int64_t filters = FiltersOf(panel).count;
    const float* addend = addends_[At(panel)].values.data();
    std::array<float, At(kMaxRows * kPanel)> rounded;
    std::array<std::int32_t, At(kMaxRows * kPanel)> doubtful;
    const std::int64_t count = results_.Round({.sums = tile.sums,
                                               .n = tile.row_count * tile.columns,
                                               .addend = addend,
                                               .addend_step = 1,
                                               .bound = bound,
                                               .y = rounded.data()},
                                              doubtful.data());
    TransposeMatrix(reinterpret_cast<const std::byte*>(rounded.data()),
                    {tile.row_count, filters, tile.columns}, sizeof(float),
                    reinterpret_cast<std::byte*>(results_.y() + element), positions_);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t r = doubtful[At(i)] / tile.columns, c = doubtful[At(i)] % tile.columns;
      if (c >= filters) continue;
      results_.Put(element + c * positions_ + r, tile.rows[r] + (own_ ? c : 0), offsets_,
                   tile.values + c, tile.columns, addend[c]);
    }
  }

  ConvShape shape_;
  std::int64_t positions_;
  bool own_;
  std::int64_t filters_;  // that are computed together: of a group, or of all
  Results results_;
  const Kernels& kernels_;
  void (*tile_)(const RealTile<Real, Real>&);
  Threads& threads_;
  RealImage<Real> image_;
  Buffer* memory_;
  std::vector<std::int64_t> offsets_;
  std::vector<RealPanels<Real>> panels_;
  std::vector<Addends> addends_;  // of each panel
};

}  // namespace

template <typename Results>
std::unique_ptr<Step> MakeRealConv(const NodePlan& node, const ConvShape& shape, Results results) {
  using Image = RealImage<typename Results::Real>;
  const auto window = WindowOf(node, shape.axes);
  if (!window.has_value() || shape.filters == 0 || shape.batch == 0) return nullptr;
  if (window->y.output < 1 || window->x.output < 1) return nullptr;
  const Image image(*window, shape.GroupChannels(), HasOwnElements(shape) ? shape.filters : 0);
  const double input = static_cast<double>(shape.GroupChannels()) *
                       static_cast<double>(window->y.input) * static_cast<double>(window->x.input);
  constexpr double kMostMore = 16;     // times the input
  constexpr double kSmall = 0x1p16;    // elements
  constexpr double kLargest = 0x1p26;  // elements: half a gigabyte
  const double all = HasOwnElements(shape) ? input * static_cast<double>(shape.groups) : input;
  if (image.Size() > std::min(kLargest, std::max(kSmall, kMostMore * all))) return nullptr;
  const auto memory = node.Scratch(image.Bytes());
  if (!memory.has_value()) return nullptr;
  return std::make_unique<RealConv<Results>>(node, shape, image, *memory, std::move(results));
}

template std::unique_ptr<Step> MakeRealConv(const NodePlan&, const ConvShape&, RealResults);
template std::unique_ptr<Step> MakeRealConv(const NodePlan&, const ConvShape&, FloatResults);

}  // namespace qtx::backend::engine
