#include "engine/ops/linear_resize.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/transpose.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;

// One axis: [outer][from][inner] becomes [outer][places][inner].
struct Pass {
  std::int64_t outer = 1, from = 1, inner = 1;
  std::vector<LinearPlace> places;
  std::int64_t Results() const { return outer * static_cast<std::int64_t>(places.size()) * inner; }
};

constexpr std::int64_t kBlock = 256;  // sums that are requantized at once

class LinearResize : public Step {
 public:
  LinearResize(const Kernels& kernels, std::vector<Pass> passes, PerTensor input, Buffer* x,
               Buffer* y, Requantizer requantizer)
      : kernels_(kernels),
        passes_(std::move(passes)),
        input_(input),
        x_(x),
        y_(y),
        requantizer_(std::move(requantizer)) {}

  std::string_view Path() const override { return "linear resize"; }
  Result<void> Run() override {
    values_.resize(static_cast<std::size_t>(x_->size));
    const std::uint8_t* stored = x_->bytes();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] =
          (kernels_.signed_bytes ? static_cast<std::int8_t>(stored[i]) : stored[i]) - input_.offset;
    }
    for (std::size_t p = 0; p + 1 < passes_.size(); ++p) {
      const Pass& pass = passes_[p];
      next_.resize(static_cast<std::size_t>(pass.Results()));
      std::int32_t* to = next_.data();
      for (std::int64_t o = 0; o < pass.outer; ++o) {
        for (const LinearPlace& place : pass.places) {
          Sum(place, values_.data() + o * pass.from * pass.inner, pass.inner, pass.inner, to);
          to += pass.inner;
        }
      }
      values_.swap(next_);
    }
    RunLast(passes_.back());
    return {};
  }

 private:
  void Sum(const LinearPlace& place, const std::int32_t* from, std::int64_t inner, std::int64_t n,
           std::int32_t* to) const {
    kernels_.sum_pair({.first = from + place.first * inner,
                       .second = from + place.second * inner,
                       .first_weight = place.first_weight,
                       .second_weight = place.second_weight},
                      n, to);
  }

  void RunLast(const Pass& pass) const {
    std::array<std::int32_t, kBlock + kReadAhead> sums{};
    std::int64_t element = 0;
    for (std::int64_t o = 0; o < pass.outer; ++o) {
      const std::int32_t* from = values_.data() + o * pass.from * pass.inner;
      for (const LinearPlace& place : pass.places) {
        for (std::int64_t i = 0; i < pass.inner; i += kBlock) {
          const std::int64_t n = std::min(kBlock, pass.inner - i);
          Sum(place, from + i, pass.inner, n, sums.data());
          requantizer_.Convert({.acc = sums.data(), .stride = n, .columns = n, .element = element},
                               y_->data);
          element += n;
        }
      }
    }
  }

  const Kernels& kernels_;
  std::vector<Pass> passes_;
  PerTensor input_;
  Buffer* x_;
  Buffer* y_;
  Requantizer requantizer_;
  std::vector<std::int32_t> values_, next_;
};

// The resized axes, the innermost of memory first, so that the last pass has the longest runs.
std::vector<Pass> PassesOf(const Buffer& x, const std::vector<LinearAxis>& axes) {
  const Dims strides = StridesOf(x.type.dims, x.layout);
  std::vector<std::size_t> order;
  // Of axes with one stride, all but one have size 1, the last of them the innermost.
  for (std::size_t d = axes.size(); d-- > 0;) order.push_back(d);
  std::ranges::stable_sort(order, {}, [&](std::size_t d) { return strides[d]; });
  Dims sizes = x.type.dims;
  std::vector<Pass> passes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t d = order[i];
    const bool needed = passes.empty() && i + 1 == order.size();
    if (!axes[d].resized && !needed) continue;
    Pass pass{.from = sizes[d], .places = axes[d].places};
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (k != i) (k < i ? pass.inner : pass.outer) *= sizes[order[k]];
    }
    sizes[d] = static_cast<std::int64_t>(axes[d].places.size());
    passes.push_back(std::move(pass));
  }
  return passes;
}

}  // namespace

StepResult PrepareLinearResize(const NodePlan& node, const Dims& dims,
                               const std::vector<LinearAxis>& axes) {
  if (node.arithmetic() != Arithmetic::kExact || axes.empty()) {
    return node.Unsupported("another arithmetic");
  }
  QTX_ASSIGN_OR_RETURN(const PerTensor input, EightBitInput(node, 0));
  double divisor = 1;
  for (const LinearAxis& axis : axes) divisor *= static_cast<double>(axis.divisor);
  if (divisor > 0x1p22) return node.Unsupported("weights of this many digits");
  QTX_ASSIGN_OR_RETURN(const format::Tensor y_type, node.OutputType(dims));
  const Channel channel{.scale = input.scale, .divisor = static_cast<std::int64_t>(divisor)};
  auto requantizer = Requantizer::Make(std::vector(static_cast<std::size_t>(kBlock), channel),
                                       y_type, node.kernels());
  if (!requantizer.has_value()) return node.Unsupported(requantizer.error().Text());
  const Layout layout = node.LayoutOf(0);
  QTX_ASSIGN_OR_RETURN(Buffer * x, node.InputBuffer(0, layout));
  // Where y gets another layout, it has its elements in the same order in both.
  QTX_ASSIGN_OR_RETURN(Buffer * y, node.OutputBuffer(dims, x->layout));
  return std::make_unique<LinearResize>(node.kernels(), PassesOf(*x, axes), input, x, y,
                                        *std::move(requantizer));
}

}  // namespace qtx::backend::engine
