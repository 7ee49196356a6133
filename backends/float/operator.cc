#include "float/operator.h"

#include <algorithm>
#include <map>

namespace qtx::backend::floats {

using format::ElementType;
using format::Tensor;

bool Operator::Takes(Inputs inputs) const {
  return std::ranges::all_of(inputs, [](const Tensor* input) {
    return input == nullptr || input->elem_type == ElementType::kFloat;
  });
}

Result<Tensor> Operator::RunFused(const Context& context, Inputs inputs, const Epilogue&) const {
  return Run(context, inputs);
}

Error Unsupported(std::string message) { return {ErrorCode::kUnsupported, "", std::move(message)}; }

std::int64_t Product(std::span<const std::int64_t> dims) {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) product *= dim;
  return product;
}

std::vector<std::int64_t> IntegersOf(const Tensor& tensor) {
  return format::UnpackIntegers(tensor);
}

void ForChannels(const Context& context, std::int64_t channels, std::int64_t multiply_adds,
                 const std::function<void(std::int64_t, std::int64_t)>& run) {
  // Several ranges per thread, so that no thread waits long for the last one.
  const std::int64_t step = std::max<std::int64_t>(1, channels / (8 * context.workers.count()));
  context.workers.For((channels + step - 1) / step, multiply_adds,
                      [&](std::int64_t i) { run(i * step, std::min(channels, (i + 1) * step)); });
}

Result<std::unique_ptr<Operator>> MakeOperator(const NodeInfo& info) {
  static const std::map<std::string_view, MakeFunction*> kMakers = {
      {"Conv", MakeConv},
      {"Gemm", MakeGemm},
      {"MatMul", MakeMatMul},
      {"MaxPool", MakeMaxPool},
      {"AveragePool", MakeAveragePool},
      {"GlobalAveragePool", MakeReduceMean},
      {"ReduceMean", MakeReduceMean},
      {"Relu", MakeUnary},
      {"LeakyRelu", MakeUnary},
      {"HardSigmoid", MakeUnary},
      {"HardSwish", MakeUnary},
      {"Exp", MakeUnary},
      {"Sigmoid", MakeUnary},
      {"Tanh", MakeUnary},
      {"Sqrt", MakeUnary},
      {"Clip", MakeClip},
      {"Add", MakeBinary},
      {"Sub", MakeBinary},
      {"Mul", MakeBinary},
      {"Div", MakeBinary},
      {"BatchNormalization", MakeBatchNormalization},
      {"Softmax", MakeSoftmax},
      {"Identity", MakeReshaping},
      {"Dropout", MakeReshaping},
      {"Flatten", MakeReshaping},
      {"Reshape", MakeReshaping},
      {"Squeeze", MakeReshaping},
      {"Unsqueeze", MakeReshaping},
      {"Concat", MakeConcat},
      {"Transpose", MakeTranspose},
      {"Pad", MakePad},
  };
  std::unique_ptr<Operator> none;
  if (!info.node.domain.empty() && info.node.domain != "ai.onnx") return none;
  const auto maker = kMakers.find(info.node.op_type);
  return maker == kMakers.end() ? std::move(none) : maker->second(info);
}

}  // namespace qtx::backend::floats
