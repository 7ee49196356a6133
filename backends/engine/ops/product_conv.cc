// Conv as an inner product per output position: rows are windows of the padded image, read where
// they lie, so that nothing is copied for overlapping windows.
#include <algorithm>
#include <optional>
#include <utility>

#include "engine/ops/conv.h"
#include "engine/product.h"
#include "engine/product_epilogue.h"

namespace qtx::backend::engine {
namespace {

// Weights as [filters][taps][channels], the order in which a window's elements lie.
std::vector<std::int16_t> ChannelsLast(const ConvPlan& plan) {
  const std::int64_t taps = plan.Taps();
  const std::int64_t channels = plan.GroupChannels();
  std::vector<std::int16_t> values(plan.weights.values.size());
  auto to = values.begin();
  for (std::int64_t m = 0; m < plan.filters; ++m) {
    const std::int16_t* filter = plan.weights.values.data() + m * channels * taps;
    for (std::int64_t t = 0; t < taps; ++t) {
      for (std::int64_t c = 0; c < channels; ++c) *to++ = filter[c * taps + t];
    }
  }
  return values;
}

// The contiguous parts of a window: whole lines of taps, or single taps with dilation or groups.
std::vector<Stretch> StretchesOf(const ConvPlan& plan, const PaddedImage& image) {
  const WindowAxis& line = plan.axes.back();
  const bool together = plan.groups == 1 && line.dilation == 1;
  const std::int64_t length = plan.GroupChannels() * (together ? line.kernel : 1);
  std::vector<Stretch> stretches;
  const std::vector<std::int64_t> taps = image.TapOffsets();
  for (std::size_t t = 0; t < taps.size();
       t += together ? static_cast<std::size_t>(line.kernel) : 1) {
    stretches.push_back({static_cast<std::int32_t>(taps[t]), static_cast<std::int32_t>(length)});
  }
  return stretches;
}

/// A and W: operands of the kernels. Elements of the buffer are used in place if they are operands
/// and there is no padding; otherwise they are copied to `image`.
template <typename A, typename W>
class ProductConv : public Step {
 public:
  using Products = ProductKernels<A, W>;

  ProductConv(const NodePlan& node, const ConvPlan& plan, const Products& kernels,
              std::vector<PackedWeights<W>> weights, Requantizer requantizer)
      : shape_(plan),
        x_type_(plan.x),
        eight_bits_(plan.eight_bits),
        image_(plan.axes, plan.channels),
        offsets_(image_.WindowOffsets()),
        kernels_(kernels),
        all_(node.kernels()),
        threads_(node.threads()),
        weights_(std::move(weights)),
        requantizer_(std::move(requantizer)) {}

  Result<void> FindBuffers(const NodePlan& node, const format::Tensor& y) {
    QTX_ASSIGN_OR_RETURN(x_, node.InputBuffer(0, Layout::kChannelsLast));
    if (Copies()) {
      QTX_ASSIGN_OR_RETURN(scratch_,
                           node.Scratch(image_.size() * static_cast<std::int64_t>(sizeof(A))));
    }
    QTX_ASSIGN_OR_RETURN(y_, node.OutputBuffer(y.dims, Layout::kChannelsLast));
    return {};
  }

  std::string_view Path() const override {
    return sizeof(A) == 1 ? "byte products" : "word products";
  }
  Result<void> Run() override {
    const std::int64_t in = x_->size / std::max<std::int64_t>(shape_.batch, 1);
    for (std::int64_t n = 0; n < shape_.batch; ++n) {
      const A* image =
          Copies() ? Load(x_->data + n * in) : reinterpret_cast<const A*>(x_->data + n * in);
      for (std::int64_t g = 0; g < shape_.groups; ++g) {
        Multiply<A, W>(kernels_, weights_[static_cast<std::size_t>(g)],
                       {.base = image + g * shape_.GroupChannels(), .offsets = offsets_},
                       requantizer_, TargetOf(n, g), threads_);
      }
    }
    return {};
  }

 private:
  static constexpr bool kBytes = sizeof(A) == 1;
  bool Widens() const { return !kBytes && eight_bits_; }
  bool Copies() const { return Widens() || !image_.plain(); }

  const A* Load(const std::byte* elements) {
    A* to = reinterpret_cast<A*>(scratch_->data);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(elements);
    if constexpr (kBytes) {
      image_.Fill(
          bytes, static_cast<A>(x_type_.offset), to, threads_,
          [](const std::uint8_t* from, std::int64_t n, A* out) { std::copy_n(from, n, out); });
    } else if (eight_bits_) {
      image_.Fill(bytes, A{0}, to, threads_,
                  [this](const std::uint8_t* from, std::int64_t n, A* out) {
                    all_.widen(from, n, x_type_.offset, out);
                  });
    } else {
      image_.Fill(
          reinterpret_cast<const std::int16_t*>(elements), A{0}, to, threads_,
          [](const std::int16_t* from, std::int64_t n, A* out) { std::copy_n(from, n, out); });
    }
    return to;
  }

  Target TargetOf(std::int64_t n, std::int64_t g) const {
    const std::int64_t channel = g * shape_.GroupFilters();
    return {.data = y_->data,
            .first = n * shape_.Positions() * shape_.filters + channel,
            .stride = shape_.filters,
            .channel = channel};
  }

  ConvShape shape_;
  PerTensor x_type_;
  bool eight_bits_;
  PaddedImage image_;
  std::vector<std::int64_t> offsets_;
  const Products& kernels_;
  const Kernels& all_;
  Threads& threads_;
  std::vector<PackedWeights<W>> weights_;  // one a group
  Requantizer requantizer_;
  Buffer* x_ = nullptr;
  Buffer* y_ = nullptr;
  Buffer* scratch_ = nullptr;
};

template <typename A, typename W>
std::vector<PackedWeights<W>> PackGroups(const ProductKernels<A, W>& kernels, const ConvPlan& plan,
                                         const OperandRange& range,
                                         std::span<const std::int32_t> addend) {
  const PaddedImage image(plan.axes, plan.channels);
  const std::vector<std::int16_t> values = ChannelsLast(plan);
  const std::vector<Stretch> stretches = StretchesOf(plan, image);
  const std::int64_t depth = plan.GroupChannels() * plan.Taps();
  std::vector<PackedWeights<W>> packed;
  for (std::int64_t g = 0; g < plan.groups; ++g) {
    const auto first = static_cast<std::size_t>(g * plan.GroupFilters());
    packed.emplace_back(
        kernels,
        PackSource{.values = values.data() + static_cast<std::int64_t>(first) * depth,
                   .columns = plan.GroupFilters(),
                   .stretches = stretches,
                   .activation_min = range.min,
                   .activation_max = range.max,
                   .zero = range.zero,
                   .addend = addend.subspan(first, static_cast<std::size_t>(plan.GroupFilters()))});
  }
  return packed;
}

template <typename A, typename W>
StepResult Finish(const NodePlan& node, const ConvPlan& plan, const ProductKernels<A, W>& kernels,
                  std::vector<PackedWeights<W>> weights, Requantizer requantizer) {
  auto step = std::make_unique<ProductConv<A, W>>(node, plan, kernels, std::move(weights),
                                                  std::move(requantizer));
  QTX_RETURN_IF_ERROR(step->FindBuffers(node, plan.y));
  return step;
}

}  // namespace

StepResult MakeProductConv(const NodePlan& node, ConvPlan plan) {
  const Kernels& kernels = node.kernels();
  const auto taken = TakeIntegerBias(plan.outputs, plan.epilogue);
  if (!taken.has_value()) return node.Because(taken.error());
  const std::vector<std::int32_t>& addend = *taken;
  auto requantizer = Requantizer::Make(plan.outputs, plan.y, kernels, plan.epilogue);
  if (!requantizer.has_value()) return node.Because(requantizer.error());
  std::optional<std::vector<PackedWeights<std::int8_t>>> bytes;
  if (plan.eight_bits) {
    bytes = PackGroups(kernels.bytes, plan, OperandRange::OfBytes(plan.x, kernels), addend);
    const std::int64_t depth = plan.GroupChannels() * plan.Taps();
    if (!PaysAsBytes(kernels, (*bytes)[0], depth, plan.GroupFilters(), plan.Positions()))
      bytes.reset();
  }
  if (bytes) {
    return Finish(node, plan, kernels.bytes, *std::move(bytes), *std::move(requantizer));
  }
  const OperandRange range =
      plan.eight_bits ? OperandRange::OfWidened(plan.x, kernels) : OperandRange::OfWords();
  return Finish(node, plan, kernels.words, PackGroups(kernels.words, plan, range, addend),
                *std::move(requantizer));
}

}  // namespace qtx::backend::engine
