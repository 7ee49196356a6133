// ReduceMean and GlobalAveragePool: sums in binary64, by ascending index, then divided and rounded
// once.
#include <algorithm>

#include "float/operator.h"

namespace qtx::backend::floats {
namespace {

using format::Dims;
using format::Tensor;

// Where elements with coordinates along some axes lie, in row-major order of those.
std::vector<std::int64_t> Offsets(const Tensor& x, const std::vector<bool>& chosen, bool value) {
  const Dims strides = format::RowMajorStrides(x.dims);
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t axis = 0; axis < x.dims.size(); ++axis) {
    if (chosen[axis] != value) continue;
    std::vector<std::int64_t> next;
    next.reserve(offsets.size() * static_cast<std::size_t>(x.dims[axis]));
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < x.dims[axis]; ++i) next.push_back(offset + i * strides[axis]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

// Computes several sums at a time, since each addition waits only for the last one of its own sum.
constexpr std::size_t kSums = 8;

void Means(const float* x, std::span<const std::int64_t> kept, std::span<const std::int64_t> taken,
           float* y) {
  for (std::size_t i = 0; i < kept.size(); i += kSums) {
    const std::size_t n = std::min(kSums, kept.size() - i);
    const float* from[kSums];
    double sums[kSums] = {};
    for (std::size_t j = 0; j < kSums; ++j) from[j] = x + kept[i + std::min(j, n - 1)];
    for (const std::int64_t offset : taken) {
      for (std::size_t j = 0; j < kSums; ++j) sums[j] += static_cast<double>(from[j][offset]);
    }
    for (std::size_t j = 0; j < n; ++j) {
      y[i + j] = static_cast<float>(sums[j] / static_cast<double>(taken.size()));
    }
  }
}

class ReduceMean : public Operator {
 public:
  explicit ReduceMean(const NodeInfo& info)
      : global_(info.node.op_type == "GlobalAveragePool"),
        keep_(global_ || info.attributes.Int("keepdims") != 0),
        nothing_for_none_(!global_ && info.attributes.Int("noop_with_empty_axes") != 0),
        axes_(global_ ? std::vector<std::int64_t>() : info.attributes.Ints("axes")) {}

  bool Takes(Inputs inputs) const override {
    return Operator::Takes(inputs.first(std::min<std::size_t>(1, inputs.size())));
  }

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const Tensor* x = InputOr(inputs, 0);
    const std::vector<bool> reduced = Reduced(*x, InputOr(inputs, 1));
    Dims dims;
    for (std::size_t axis = 0; axis < reduced.size(); ++axis) {
      if (!reduced[axis]) dims.push_back(x->dims[axis]);
      if (reduced[axis] && keep_) dims.push_back(1);
    }
    QTX_ASSIGN_OR_RETURN(Tensor y, context.buffers.NewTensor(std::move(dims)));
    const auto kept = Offsets(*x, reduced, false);
    const auto taken = Offsets(*x, reduced, true);
    const std::int64_t tasks = (std::ssize(kept) + kSumsOfTask - 1) / kSumsOfTask;
    context.workers.For(tasks, 16 * format::ElementCount(*x), [&](std::int64_t i) {
      const std::int64_t first = i * kSumsOfTask;
      const auto n = static_cast<std::size_t>(std::min(kSumsOfTask, std::ssize(kept) - first));
      Means(DataOf(*x), std::span(kept).subspan(static_cast<std::size_t>(first), n), taken,
            DataOf(y) + first);
    });
    return y;
  }

 private:
  static constexpr std::int64_t kSumsOfTask = 64;

  std::vector<bool> Reduced(const Tensor& x, const Tensor* given) const {
    std::vector<bool> reduced(x.dims.size(), false);
    if (global_) {
      std::fill(reduced.begin() + 2, reduced.end(), true);
      return reduced;
    }
    const std::vector<std::int64_t> axes = given != nullptr ? IntegersOf(*given) : axes_;
    if (axes.empty()) reduced.assign(x.dims.size(), !nothing_for_none_);
    for (const std::int64_t axis : axes) reduced[AxisOf(axis, x.dims.size())] = true;
    return reduced;
  }

  bool global_, keep_, nothing_for_none_;
  std::vector<std::int64_t> axes_;
};

}  // namespace

Result<std::unique_ptr<Operator>> MakeReduceMean(const NodeInfo& info) {
  return std::make_unique<ReduceMean>(info);
}

}  // namespace qtx::backend::floats
