// LogSoftmax, and Softmax where there are no terms: rows enclosed in intervals.
#include <algorithm>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/operators.h"
#include "engine/ops/softmax_rows.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

class SoftmaxStep : public RowsStep {
 public:
  SoftmaxStep(const Value* x, Value* y, const AxisRows& rows, bool logarithms)
      : RowsStep(rows), x_(x), y_(y), logarithms_(logarithms) {}

  Result<void> RunRows(std::span<const std::int64_t> which) override {
    const NumberReader x(x_->tensor);
    NumberWriter writer(y_->tensor);
    for (const std::int64_t row : which) RunRow(rows_.First(row), x, writer);
    return {};
  }

 private:
  void RunRow(std::int64_t first, const NumberReader& x, NumberWriter& writer) const {
    Number largest = Number::Infinity(-1);
    std::vector<std::int64_t> finite;
    std::vector<Number> numbers;
    for (std::int64_t i = 0; i < rows_.length; ++i) {
      const std::int64_t element = first + i * rows_.stride;
      Number number = x(element);
      largest = Greater(largest, number);
      if (!number.finite()) continue;
      finite.push_back(element);
      numbers.push_back(std::move(number));
    }
    // A row with a NaN or infinity, or of nothing but minus infinities, has no shares.
    const bool shares = largest.finite();
    const Number nothing = logarithms_ ? Number::Infinity(-1) : Number();
    for (std::int64_t i = 0; i < rows_.length; ++i) {
      writer.Put(first + i * rows_.stride, shares ? nothing : Number::Nan());
    }
    if (!shares) return;
    for (Number& number : numbers) number = number - largest;
    PutEnclosed(writer, finite, [&](mpfr_prec_t bits) { return Values(numbers, bits); });
  }

  // With the largest at 0 once, the others' exponentials sum to `rest`.
  std::vector<Interval> Values(const std::vector<Number>& numbers, mpfr_prec_t bits) const {
    std::vector<Interval> values;
    Interval rest(0, bits);
    bool found = false;
    for (const Number& number : numbers) {
      values.push_back(Exp(Interval(number.value(), bits)));
      if (number.Sign() == 0 && !std::exchange(found, true)) continue;
      rest = rest + values.back();
    }
    const Interval sum = Interval(1, bits) + rest;
    const Interval logarithm = Log1p(rest);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = logarithms_ ? Interval(numbers[i].value(), bits) - logarithm : values[i] / sum;
    }
    return values;
  }

  const Value* x_;
  Value* y_;
  bool logarithms_;
};

}  // namespace

std::unique_ptr<RowsStep> MakeSoftmaxRows(const Value* x, Value* y, const AxisRows& rows,
                                          bool logarithms) {
  return std::make_unique<SoftmaxStep>(x, y, rows, logarithms);
}

StepResult PrepareLogSoftmax(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  const format::Dims& dims = x->tensor.dims;
  const AxisRows rows = SoftmaxRowsOf(node, dims);
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&x, 1), y, Plain::kDouble));
  return MakeFloatSoftmax(node, x, y, rows, true, MakeSoftmaxRows(x, y, rows, true));
}

}  // namespace qtx::backend::engine
