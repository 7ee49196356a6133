#include "arithmetic/softmax.h"

#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;

// exp(x) / sum of exp over one axis.  Source: softmax.S1 and .S2 (ONNX Softmax-13; earlier versions
// flatten the axes from `axis` on, which is the same only for the last one).
Result<format::Tensor> Softmax(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, RealAt(call, 0));
  const format::Dims& dims = x.tensor().dims;
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto axis_or_error =
      format::NormalizeAxis(call.node.IntOr("axis", call.opset >= 13 ? -1 : 1), rank);
  if (!axis_or_error.has_value()) return At("attribute 'axis'", axis_or_error.error());
  const std::int64_t axis = *axis_or_error;
  if (call.opset != 0 && call.opset < 13 && axis != rank - 1) {
    return Error{ErrorCode::kUnsupported, "attribute 'axis'",
                 "Softmax before opset 13 over several axes"};
  }
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
  const std::int64_t total = format::ElementCount(x.tensor());
  const std::int64_t size = dims[static_cast<std::size_t>(axis)];
  const std::int64_t stride = format::RowMajorStrides(dims)[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> row(static_cast<std::size_t>(size));
  for (std::int64_t first = 0; first < total; ++first) {
    if (first / stride % size != 0) continue;  // not the beginning of a row
    for (std::int64_t k = 0; k < size; ++k) row[static_cast<std::size_t>(k)] = first + k * stride;
    PutSoftmaxRow(call.arithmetic, x, row, &output);
  }
  return output.Take();
}

constexpr AttributeRule kAttributes[] = {{"axis", AttributeType::kInt}};

}  // namespace

const Operator kSoftmax = {.op_type = "Softmax",
                           .min_inputs = 1,
                           .max_inputs = 1,
                           .attributes = kAttributes,
                           .run = Softmax};

}  // namespace qtx::reference::ops
