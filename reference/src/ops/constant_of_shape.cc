#include <cstddef>
#include <vector>

#include "ops/common.h"
#include "ops/registry.h"
#include "parameters.h"

namespace qtx::reference::ops {
namespace {

// The element of `one` becomes each of `y`, of its type. Elements of less than a byte are packed as
// PackIntegers has them: the first in the low bits, and zeros behind the last.
void Repeat(const format::Tensor& one, format::Tensor* y) {
  std::vector<std::byte> pattern(one.bytes.begin(), one.bytes.end());
  const auto bits = static_cast<unsigned>(format::BitWidth(one.elem_type));
  if (bits < 8) {
    const unsigned value = std::to_integer<unsigned>(pattern[0]) & ((1U << bits) - 1);
    unsigned byte = 0;
    for (unsigned shift = 0; shift < 8; shift += bits) byte |= value << shift;
    pattern = {static_cast<std::byte>(byte)};
  }
  for (std::size_t i = 0; i < y->bytes.size(); ++i) y->bytes[i] = pattern[i % pattern.size()];
  const auto used = static_cast<unsigned>(format::ElementCount(*y)) * bits % 8;  // of the last byte
  if (used != 0) y->bytes.back() &= static_cast<std::byte>((1U << used) - 1);
}

// A tensor of one stored value.  Source: constant_of_shape.S1, constant_of_shape.S2.
Result<format::Tensor> ConstantOfShape(const Call& call) {
  const format::Attribute* value = call.node.Find("value");
  format::Tensor one;
  if (value != nullptr && value->t) {
    QTX_ASSIGN_OR_RETURN(one, format::Decode(*value->t));
  } else {
    QTX_ASSIGN_OR_RETURN(one, format::MakeTensor(format::ElementType::kFloat, {}));
  }
  QTX_ASSIGN_OR_RETURN(format::Dims dims, call.OutputDims());
  QTX_ASSIGN_OR_RETURN(format::Tensor y, format::MakeTensor(one.elem_type, std::move(dims)));
  Repeat(one, &y);
  y.elem_type = call.outputs[0].elem_type;  // as an initializer
  y.quantization = call.outputs[0].quantization;
  if (y.quantization) {
    QTX_RETURN_IF_ERROR(CheckParameters(y.elem_type, *y.quantization, y.dims));
  }
  return y;
}

}  // namespace

const Operator kConstantOfShape = {.op_type = "ConstantOfShape", .run = ConstantOfShape};

}  // namespace qtx::reference::ops
