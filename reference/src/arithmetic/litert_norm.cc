// LiteRT's L2_NORMALIZATION of 8 bits.  Source: tflite_float64.S12.
#include "arithmetic/kernel_types.h"
#include "arithmetic/tflite_kernels.h"
#include "qtx/format/shape.h"

namespace qtx::reference {
namespace {

using std::int64_t;

// One line of elements that lie `step` apart.
class Line {
 public:
  Line(const Operand& x, int64_t first, int64_t step, int64_t size)
      : x_(&x), first_(first), step_(step), size_(size) {}

  void Put(Output* y) const {
    int64_t squares = 0;
    for (int64_t k = 0; k < size_; ++k) squares += x_->integer(At(k)) * x_->integer(At(k));
    FixedMultiplier root = InverseRoot(squares);
    const bool is_signed = x_->tensor().elem_type == format::ElementType::kInt8Q;
    if (is_signed) root.shift += 7;
    for (int64_t k = 0; k < size_; ++k) {
      const int64_t value = x_->integer(At(k));
      y->PutStored(At(k), MultiplyTwice(is_signed ? value : value * 128, root) + y->offset(At(k)));
    }
  }

 private:
  int64_t At(int64_t k) const { return first_ + k * step_; }

  const Operand* x_;
  int64_t first_, step_, size_;
};

}  // namespace

// Source: LiteRT's kernels/l2norm.cc, kernels/internal/reference/{,integer_ops/}l2normalization.h.
Result<std::optional<format::Tensor>> RunLiteRtNorm(const Call& call) {
  const format::Tensor* x = call.Input(0);
  if (x == nullptr || call.outputs.empty() || call.Int("p") != 2 ||
      !HasNormKernel(call.arithmetic, call.node, *x, call.outputs[0])) {
    return std::optional<format::Tensor>();
  }
  const auto rank = static_cast<int64_t>(x->dims.size());
  const auto axis = static_cast<std::size_t>((call.Int("axis") + rank) % rank);
  constexpr int64_t kMostElements = 8256;  // whose squares are less than 2^29
  const int64_t size = x->dims[axis];
  if (size > kMostElements) return std::optional<format::Tensor>();
  QTX_ASSIGN_OR_RETURN(const Operand input, Operand::Make(*x));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Make(call, x->dims));
  int64_t step = 1;
  for (std::size_t d = axis + 1; d < x->dims.size(); ++d) step *= x->dims[d];
  const int64_t lines = size == 0 ? 0 : format::ElementCount(*x) / size;
  for (int64_t line = 0; line < lines; ++line) {
    Line(input, line / step * step * size + line % step, step, size).Put(&y);
  }
  return std::optional(y.Take());
}

}  // namespace qtx::reference
