// Softmax over one axis, correctly rounded.
//
// With stored values q and the largest of them m, softmax[i] = e[i] / sum e[j], e[j] = exp(-(m -
// q[j]) * scale): only 256 different exponents, tabulated in double-double arithmetic (about 104
// bits).
//
// Ties. Let the distinct exponents have the counts n_d. softmax[i] = c for a rational c > 0 says
// exp(-d_i s) - c * sum n_d exp(-d s) = 0 with rational coefficients, and by Lindemann-Weierstrass
// the exp of distinct rationals are linearly independent over the rationals: every coefficient is
// zero, so there is but one exponent. Then softmax is 1/n, a rational rounded exactly. In every
// other case there is no tie, and a value at a relative distance from it that the error bound
// exceeds is left to the general path, and there refused rather than guessed.
#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/double_double.h"
#include "engine/exact.h"
#include "engine/ops/inexact_softmax.h"
#include "engine/ops/softmax_rows.h"
#include "engine/plan.h"

namespace qtx::backend::engine {
namespace {

struct Operand {
  const Value* value = nullptr;
  PerTensor type;
  bool is_signed = false;
};

class Softmax : public Step {
 public:
  /// `general` computes the node if a rounding is in doubt.
  Softmax(Operand x, Value* y, PerTensor output, const AxisRows& rows,
          std::unique_ptr<Step> general)
      : x_(x), y_(y), output_(output), general_(std::move(general)), rows_(rows) {
    for (std::size_t d = 0; d < table_.size(); ++d) {
      // A difference of stored values times a binary32 fits binary64.
      table_[d] = ExpOfNegative(static_cast<double>(d) * x.type.scale);
    }
  }

  std::string_view Path() const override { return "softmax"; }
  Result<void> Run() override {
    if (y_->tensor.bytes.empty()) return {};
    for (std::int64_t row = 0; row < rows_.count(); ++row) {
      if (!RunRow(rows_.First(row))) return general_->Run();
    }
    return {};
  }

 private:
  // Order-preserving code of a stored byte, 0..255.
  std::uint8_t Code(std::int64_t element) const {
    return static_cast<std::uint8_t>(Bytes(x_.value->tensor)[element] ^ (x_.is_signed ? 0x80 : 0));
  }

  // Returns false if a rounding is in doubt.
  bool RunRow(std::int64_t first) {
    std::uint8_t largest = 0;
    std::uint8_t least = 255;
    for (std::int64_t i = 0; i < rows_.length; ++i) {
      const std::uint8_t code = Code(first + i * rows_.stride);
      largest = std::max(largest, code);
      least = std::min(least, code);
    }
    const bool uniform = largest == least;
    const DoubleDouble sum = SumOf(first, largest);
    std::array<std::int64_t, 256> results;
    std::bitset<256> known;
    for (std::int64_t i = 0; i < rows_.length; ++i) {
      const std::int64_t element = first + i * rows_.stride;
      const std::size_t code = Code(element);
      if (!known[code]) {
        const auto result = uniform ? std::optional(Uniform()) : RoundQuotient(largest - code, sum);
        if (!result.has_value()) return false;
        results[code] = *result;
        known.set(code);
      }
      StoreInteger(y_->tensor.elem_type, results[code], element, y_->tensor.bytes.data());
    }
    return true;
  }

  // At most 256 terms: a row's elements, or in a longer one the different ones.
  DoubleDouble SumOf(std::int64_t first, std::size_t largest) const {
    DoubleDouble sum{};
    if (rows_.length <= 256) {
      for (std::int64_t i = 0; i < rows_.length; ++i) {
        sum = sum + table_[largest - Code(first + i * rows_.stride)];
      }
      return sum;
    }
    std::array<std::int64_t, 256> counts{};
    for (std::int64_t i = 0; i < rows_.length; ++i) ++counts[Code(first + i * rows_.stride)];
    for (std::size_t d = 0; d <= largest; ++d) {
      const std::int64_t count = counts[largest - d];
      if (count > 0) sum = sum + table_[d] * DoubleDouble{static_cast<double>(count), 0};
    }
    return sum;
  }

  std::int64_t Uniform() const {
    const std::array<Term, 1> one{Term{1, 1}};
    return RoundHalfEven({one, output_.scale, rows_.length}, output_.Rounded()) + output_.offset;
  }

  std::optional<std::int64_t> RoundQuotient(std::size_t d, const DoubleDouble& sum) const {
    const format::IntegerRange range = output_.Rounded();
    // Five roundings of 2^-53 in binary64 decide most.
    const double near = table_[d].high / (sum.high * output_.scale);
    const double whole = std::nearbyint(near);
    if (std::fabs(near - whole) + near * 0x1p-50 < 0.5) {
      return std::clamp(static_cast<std::int64_t>(whole), range.min, range.max) + output_.offset;
    }
    const DoubleDouble value = table_[d] / (sum * DoubleDouble{output_.scale, 0});
    if (value.high >= static_cast<double>(range.max) + 1) return range.max + output_.offset;
    const double floor = std::floor(value.high);
    const DoubleDouble beyond = value - DoubleDouble{floor + 0.5, 0};
    // Errors: table 2^-95 relative, sum and quotient a few 2^-100 more; 2^-90 bounds them together.
    if (std::fabs(beyond.high) <= std::ldexp(value.high, -90)) return std::nullopt;
    const auto nearest = static_cast<std::int64_t>(floor) + (beyond.high > 0 ? 1 : 0);
    return std::clamp(nearest, range.min, range.max) + output_.offset;
  }

  Operand x_;
  Value* y_;
  PerTensor output_;
  std::unique_ptr<Step> general_;
  AxisRows rows_;
  std::array<DoubleDouble, 256> table_{};
};

}  // namespace

StepResult PrepareSoftmax(const NodePlan& node) {
  auto inexact = PrepareInexactSoftmax(node);
  if (!inexact.has_value()) return inexact.error();
  if (inexact->has_value()) return *std::move(*inexact);
  QTX_RETURN_IF_ERROR(EightBitInput(node, 0));
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x_type, node.TypeOf(0));
  const format::Dims& dims = x_type->dims;
  const AxisRows rows = SoftmaxRowsOf(node, dims);
  QTX_ASSIGN_OR_RETURN(const format::Tensor y_type, node.OutputType(dims));
  auto output = PerTensorOf(y_type);
  if (!output.has_value()) return node.Because(output.error());
  const int bits = format::BitWidth(y_type.elem_type);
  if (bits != 8 && bits != 16) return node.Unsupported("an output of other than 8 or 16 bits");
  // Below this the quotient by the scale stays far inside binary64, and rounding a uniform row is
  // exact.
  if (output->scale < 0x1p-100 || rows.length > (std::int64_t{1} << 32)) {
    return node.Unsupported("an output scale below 2^-100 or an axis above 2^32");
  }
  Operand x;
  QTX_ASSIGN_OR_RETURN(x.value, node.Input(0));
  QTX_ASSIGN_OR_RETURN(x.type, PerTensorOf(x.value->tensor));
  x.is_signed = x.value->tensor.elem_type == format::ElementType::kInt8Q;
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  std::unique_ptr<Step> general = MakeGeneralSoftmax(node, x.value, y, rows);
  return std::make_unique<Softmax>(x, y, *output, rows, std::move(general));
}

}  // namespace qtx::backend::engine
