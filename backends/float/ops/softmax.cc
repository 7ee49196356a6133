// Softmax: exp(x - max), each divided by their sum, which is taken in binary64 by ascending index
// and rounded once.
#include <algorithm>
#include <limits>

#include "float/operator.h"

namespace qtx::backend::floats {
namespace {

using format::Tensor;

void SoftmaxRow(const Kernels& kernels, const float* x, std::int64_t n, float* y) {
  float most = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < n; ++i) most = std::max(most, x[i]);  // NaN comes with its own exp
  kernels.unary[static_cast<int>(Unary::kExp)]({x, y, n, most, 0});
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(y[i]);
  const auto divisor = static_cast<float>(sum);
  kernels.binary[static_cast<int>(Binary::kDiv)]({y, &divisor, y, n, 1, 0});
}

class Softmax : public Operator {
 public:
  explicit Softmax(const NodeInfo& info)
      : axis_(info.attributes.Int("axis")), flattens_(info.opset < 13) {}

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const Tensor* x = InputOr(inputs, 0);
    QTX_ASSIGN_OR_RETURN(Tensor y, context.buffers.NewTensor(x->dims));
    const std::size_t axis = AxisOf(axis_, x->dims.size());
    const auto dims = std::span(x->dims);
    const std::int64_t n = flattens_ ? Product(dims.subspan(axis)) : dims[axis];
    const std::int64_t stride = flattens_ ? 1 : Product(dims.subspan(axis + 1));
    const std::int64_t count = format::ElementCount(y);
    if (count == 0) return y;
    context.workers.For(count / n, 64 * count, [&](std::int64_t i) {
      const std::int64_t first = i / stride * n * stride + i % stride;
      if (stride == 1) return SoftmaxRow(context.kernels, DataOf(*x) + first, n, DataOf(y) + first);
      Scratch row(context.buffers, n);
      for (std::int64_t j = 0; j < n; ++j) row.data()[j] = DataOf(*x)[first + j * stride];
      SoftmaxRow(context.kernels, row.data(), n, row.data());
      for (std::int64_t j = 0; j < n; ++j) DataOf(y)[first + j * stride] = row.data()[j];
    });
    return y;
  }

 private:
  std::int64_t axis_;
  bool flattens_;
};

}  // namespace

Result<std::unique_ptr<Operator>> MakeSoftmax(const NodeInfo& info) {
  return std::make_unique<Softmax>(info);
}

}  // namespace qtx::backend::floats
