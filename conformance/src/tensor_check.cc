#include "tensor_check.h"

#include <cmath>
#include <string>
#include <utility>

#include "qtx/format/shape.h"

namespace qtx::conformance {
namespace {

Error Malformed(const char* field, std::string message) {
  return {ErrorCode::kProtocol, field, std::move(message)};
}

Result<void> CheckParameters(const format::Quantization& q, const format::Dims& dims) {
  const auto parameters = format::ParameterDims(q, dims);
  if (!parameters) return Malformed("quantization", parameters.error().message);
  const auto count = format::ElementCount(*parameters);
  if (!count) return Malformed("quantization", count.error().message);
  const auto fits = [&](std::size_t size) { return std::cmp_equal(size, *count) || size == 1; };
  if (!fits(q.scale.size()) || (!q.offset.empty() && q.offset.size() != q.scale.size())) {
    return Malformed("quantization", "found " + std::to_string(q.scale.size()) + " scales and " +
                                         std::to_string(q.offset.size()) + " offsets, expected " +
                                         std::to_string(*count));
  }
  for (const float scale : q.scale) {
    if (!(scale > 0) || std::isinf(scale)) {
      return Malformed("quantization.scale", "not positive and finite");
    }
  }
  return {};
}

}  // namespace

Result<void> CheckTensor(const format::Tensor& tensor) {
  const auto count = format::ElementCount(tensor.dims);
  if (!count) return Malformed("dims", count.error().message);
  const auto bytes = format::PackedBytes(tensor.elem_type, *count);
  if (!bytes) return Malformed("elem_type", bytes.error().message);
  if (std::cmp_not_equal(tensor.bytes.size(), *bytes)) {
    return Malformed("data", "found " + std::to_string(tensor.bytes.size()) + " bytes, expected " +
                                 std::to_string(*bytes));
  }
  if (format::IsQuantized(tensor.elem_type) != tensor.quantization.has_value()) {
    return Malformed("quantization", "expected it exactly for a quantized type");
  }
  if (!tensor.quantization) return {};
  return CheckParameters(*tensor.quantization, tensor.dims);
}

}  // namespace qtx::conformance
