#include <cmath>

#include "arithmetic/root.h"
#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Elements of x over the norm of a line of them. Borrows x and the output.
class LineNormalizer {
 public:
  LineNormalizer(const Call& call, const Operand& x, Output* output)
      : in_binary32_(DomainFor(call.arithmetic, *output) == Domain::kFloat32),
        squares_(call.Int("p") == 2),
        x_(&x),
        output_(output) {}

  // The line of `count` elements `first`, first + step, ...
  void Put(std::int64_t first, std::int64_t step, std::int64_t count) const {
    const std::int64_t end = first + count * step;
    if (in_binary32_) return PutFloat32(first, step, end);
    ExactSum sum;
    for (std::int64_t i = first; i != end; i += step) {
      Dyadic x = x_->exact(i);
      x.mantissa = std::abs(x.mantissa);
      squares_ ? sum.AddProduct(x, x) : sum.Add(x);
    }
    const Real total = sum.Value();
    for (std::int64_t i = first; i != end; i += step) PutQuotient(i, total);
  }

 private:
  // Each power is rounded, then added in order of the elements; the root, the quotient.
  void PutFloat32(std::int64_t first, std::int64_t step, std::int64_t end) const {
    float sum = 0;
    for (std::int64_t i = first; i != end; i += step) {
      const float x = x_->binary32(i);
      sum += squares_ ? x * x : std::abs(x);
    }
    const float norm = squares_ ? std::sqrt(sum) : sum;
    for (std::int64_t i = first; i != end; i += step) {
      output_->PutFloat(i, norm == 0 ? 0 : x_->binary32(i) / norm);
    }
  }

  // x / sqrt(total) is the root of x^2 / total, with the sign of x.
  void PutQuotient(std::int64_t element, const Real& total) const {
    const Dyadic x = x_->exact(element);
    if (!total.finite) {
      const bool vanishes = x.kind == Dyadic::Kind::kFinite && !std::isnan(total.special);
      return output_->PutReal(element, vanishes ? Real{} : Real{false, std::nan(""), {}});
    }
    if (total.value == 0) return output_->PutReal(element, {});
    const Rational real = ToRational(x);
    if (!squares_) return output_->PutReal(element, {true, 0, real / total.value});
    const Rational square = real * real / total.value;
    if (const auto root = RationalRoot(square, 2)) {
      return output_->PutReal(element, {true, 0, real < 0 ? Rational(-*root) : *root});
    }
    output_->PutEnclosed(element, [&](int bits) {
      const Interval root = Sqrt(Interval(square, bits));
      return real < 0 ? Interval(Rational(0), bits) - root : root;
    });
  }

  bool in_binary32_;
  bool squares_;
  const Operand* x_;
  Output* output_;
};

// Source: lp_normalization.S1 to lp_normalization.S3.
Result<format::Tensor> LpNormalization(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const format::Dims& dims = x.tensor().dims;
  const std::size_t axis = AxisOf(call, dims.size());
  const std::int64_t size = dims[axis];
  const std::int64_t step = Product(dims, axis + 1, dims.size());
  const LineNormalizer normalizer(call, x, &output);
  const std::int64_t lines = size == 0 ? 0 : format::ElementCount(x.tensor()) / size;
  for (std::int64_t line = 0; line < lines; ++line) {
    normalizer.Put(line / step * step * size + line % step, step, size);
  }
  return output.Take();
}

}  // namespace

const Operator kLpNormalization = {.op_type = "LpNormalization", .run = LpNormalization};

}  // namespace qtx::reference::ops
