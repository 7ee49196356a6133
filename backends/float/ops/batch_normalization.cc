#include "float/ops/batch_normalization.h"

#include <cmath>

namespace qtx::backend::floats {

using format::Dims;
using format::Tensor;

Normalization NormalizationOf(float epsilon, Inputs inputs) {
  const auto values = [&](std::size_t i) { return inputs[i]->As<float>(); };
  Normalization n;
  n.shift.assign(values(2).begin(), values(2).end());
  n.mean.assign(values(3).begin(), values(3).end());
  for (std::size_t i = 0; i < n.mean.size(); ++i) {
    const double deviation =
        std::sqrt(static_cast<double>(values(4)[i]) + static_cast<double>(epsilon));
    n.factor.push_back(static_cast<float>(static_cast<double>(values(1)[i]) / deviation));
  }
  return n;
}

namespace {

class BatchNormalization : public Operator {
 public:
  explicit BatchNormalization(const NodeInfo& info) : epsilon_(info.attributes.Float("epsilon")) {}

  // An x of rank 1, which has one channel, is not computed here.
  bool Takes(Inputs inputs) const override {
    return Operator::Takes(inputs) && Rank(*inputs[0]) > 1;
  }

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const Tensor* x = InputOr(inputs, 0);
    const Normalization n = NormalizationOf(epsilon_, inputs);
    const std::int64_t channels = x->dims[1];
    QTX_ASSIGN_OR_RETURN(Tensor y, context.buffers.NewTensor(x->dims));
    const std::int64_t size = Product(std::span(x->dims).subspan(2));
    const std::int64_t planes = x->dims[0] * channels;
    context.workers.For(planes, 8 * planes * size, [&](std::int64_t i) {
      const auto c = static_cast<std::size_t>(i % channels);
      context.kernels.normalize({DataOf(*x) + i * size, DataOf(y) + i * size, size}, n.mean[c],
                                n.factor[c], n.shift[c]);
    });
    return y;
  }

 private:
  float epsilon_;
};

}  // namespace

Result<std::unique_ptr<Operator>> MakeBatchNormalization(const NodeInfo& info) {
  std::size_t outputs = 0;
  for (const std::string& output : info.node.outputs) outputs += output.empty() ? 0U : 1U;
  if (outputs != 1 || info.opset < 7 || info.attributes.Int("training_mode") != 0) {
    return std::unique_ptr<Operator>();
  }
  return std::make_unique<BatchNormalization>(info);
}

}  // namespace qtx::backend::floats
