#include <algorithm>
#include <cstring>

#include "float/ops/movement.h"

namespace qtx::backend::floats {
namespace {

using format::Dims;
using format::Tensor;

class Concat : public Movement {
 public:
  explicit Concat(const NodeInfo& info) : axis_(info.attributes.Int("axis")) {}

  bool Takes(Inputs inputs) const override {
    return Movement::Takes(inputs) && std::ranges::all_of(inputs, [&](const Tensor* input) {
             return input != nullptr && input->elem_type == inputs[0]->elem_type;
           });
  }

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const Tensor& first = *inputs[0];
    const std::size_t axis = AxisOf(axis_, first.dims.size());
    Dims dims = first.dims;
    dims[axis] = 0;
    for (const Tensor* input : inputs) dims[axis] += input->dims[axis];
    QTX_ASSIGN_OR_RETURN(Tensor y, NewLike(context, first, std::move(dims)));
    const auto outer = static_cast<std::size_t>(Product(std::span(y.dims).first(axis)));
    const std::size_t y_row = outer == 0 ? 0 : y.bytes.size() / outer;
    std::byte* to = y.bytes.data();
    for (const Tensor* input : inputs) {
      const std::size_t row = outer == 0 ? 0 : input->bytes.size() / outer;
      if (row == 0) continue;
      for (std::size_t i = 0; i < outer; ++i) {
        std::memcpy(to + i * y_row, input->bytes.data() + i * row, row);
      }
      to += row;
    }
    return y;
  }

 private:
  std::int64_t axis_;
};

}  // namespace

Result<std::unique_ptr<Operator>> MakeConcat(const NodeInfo& info) {
  return std::make_unique<Concat>(info);
}

}  // namespace qtx::backend::floats
