// What operators share that only move elements of one, two, four or eight bytes.
#pragma once

#include "float/operator.h"

namespace qtx::backend::floats {

/// Bytes of an element; 0 where several share one.
inline std::int64_t WidthOf(const format::Tensor& tensor) {
  return format::BitWidth(tensor.elem_type) / 8;
}

/// Takes any type of whole bytes that is not quantized.
class Movement : public Operator {
 public:
  bool Takes(Inputs inputs) const override;
};

/// A tensor of `like`'s type and any content.  Errors: those of format::MakeTensor.
Result<format::Tensor> NewLike(const Context& context, const format::Tensor& like,
                               format::Dims dims);

}  // namespace qtx::backend::floats
