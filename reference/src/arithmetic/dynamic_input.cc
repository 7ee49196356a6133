#include "arithmetic/dynamic_input.h"

#include <cmath>
#include <utility>
#include <vector>

namespace qtx::reference {
namespace {

using format::ElementType;
using format::Tensor;

Result<Tensor> Int8(format::Dims dims, std::span<const std::int32_t> values) {
  QTX_ASSIGN_OR_RETURN(Tensor tensor, format::MakeTensor(ElementType::kInt8, std::move(dims)));
  format::PackInt32(values, tensor);
  return tensor;
}

}  // namespace

bool IsInRange(float value) {
  return value == 0 || (std::abs(value) >= 0x1p-100F && std::abs(value) <= 0x1p100F);
}

bool HasOneScaleFor(const Tensor& w, std::int64_t axis) {
  const format::Quantization& q = *w.quantization;
  return q.axis == format::Dims{axis} &&
         std::ssize(q.scale) == w.dims[static_cast<std::size_t>(axis)];
}

Result<Tensor> SumsOfImage(const Call& call, std::span<const std::int32_t> codes,
                           std::int64_t zero_point) {
  format::Dims dims = call.Input(0)->dims;
  dims[0] = 1;
  const Tensor& weights = *call.Input(1);
  QTX_ASSIGN_OR_RETURN(const Tensor x, Int8(std::move(dims), codes));
  QTX_ASSIGN_OR_RETURN(const Tensor zero,
                       Int8({}, std::vector{static_cast<std::int32_t>(zero_point)}));
  QTX_ASSIGN_OR_RETURN(const Tensor w, Int8(weights.dims, format::UnpackInt32(weights)));
  format::Node node = call.node;
  node.op_type = "ConvInteger";
  node.inputs = {"x", "w", "zero"};
  const std::vector<const Tensor*> inputs = {&x, &w, &zero};
  const std::vector<OutputType> outputs = {{ElementType::kInt32, std::nullopt}};
  const Call sums{node, call.arithmetic, call.opset, inputs, outputs, call.counters};
  QTX_ASSIGN_OR_RETURN(std::vector<Tensor> results,
                       RunOperator(*FindOperator("", "ConvInteger"), sums));
  return std::move(results[0]);
}

}  // namespace qtx::reference
