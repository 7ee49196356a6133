// Softmax of any reals to any type. The argument on ties is that of softmax.cc.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/ops/reals.h"
#include "engine/ops/select.h"
#include "engine/ops/softmax_rows.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Nearer to zero than any midpoint of a type whose scale is a binary32, and taken from a share 1/n
// it passes no midpoint but 1/n itself; above all that ExpOfNegative leaves out.
constexpr Term kNearlyNothing{0x1p-800, 1};

class GeneralSoftmax : public RowsStep {
 public:
  GeneralSoftmax(const Value* x, Value* y, const AxisRows& rows, std::string place)
      : RowsStep(rows), x_(x), y_(y), place_(std::move(place)) {}

  Result<void> RunRows(std::span<const std::int64_t> which) override {
    if (y_->tensor.bytes.empty()) return {};
    const std::vector<Term> reals = RealsOf(x_->tensor);
    values_.clear();
    for (const Term& real : reals) values_.push_back(ValueOf(real));
    RealWriter writer(y_->tensor);
    for (const std::int64_t row : which) {
      QTX_RETURN_IF_ERROR(RunRow(rows_.First(row), writer));
    }
    writer.Finish();
    return {};
  }

 private:
  const DoubleDouble& At(std::int64_t element) const {
    return values_[static_cast<std::size_t>(element)];
  }
  static bool Less(const DoubleDouble& a, const DoubleDouble& b) {
    return a.high < b.high || (a.high == b.high && a.low < b.low);
  }

  // NaN where the row holds a NaN, plus infinity or nothing but minus infinity: it has no shares.
  DoubleDouble Largest(std::int64_t first, std::int64_t end) const {
    DoubleDouble largest{-kInfinity, 0};
    for (std::int64_t i = first; i < end; i += rows_.stride) {
      if (std::isnan(At(i).high)) return At(i);
      if (Less(largest, At(i))) largest = At(i);
    }
    return std::isfinite(largest.high) ? largest : DoubleDouble{kNan, 0};
  }

  Result<void> RunRow(std::int64_t first, RealWriter& writer) {
    const std::int64_t end = first + rows_.length * rows_.stride;
    const DoubleDouble largest = Largest(first, end);
    const Term nan{kNan, 1};
    exponentials_.clear();
    Row row;
    for (std::int64_t i = first; i < end; i += rows_.stride) {
      if (std::isnan(largest.high)) {
        writer.Put(i, {&nan, 1});
        continue;
      }
      const bool nothing = std::isinf(At(i).high);  // minus infinity
      const bool less = Less(At(i), largest);
      exponentials_.push_back(nothing ? DoubleDouble{} : ExpOfNegative(largest - At(i)));
      row.tops += less ? 0 : 1;
      row.others += less && !nothing ? 1 : 0;
      if (less) row.rest = row.rest + exponentials_.back();
    }
    for (std::size_t k = 0; k < exponentials_.size(); ++k) {
      const std::int64_t element = first + static_cast<std::int64_t>(k) * rows_.stride;
      if (PutShare(element, exponentials_[k], !Less(At(element), largest), row, writer)) continue;
      return Error{ErrorCode::kUnsupported, place_, "a rounding too close to a tie"};
    }
    return {};
  }

  /// The sum over a row is tops + rest.
  struct Row {
    std::int64_t tops = 0;    // elements that equal the largest
    std::int64_t others = 0;  // finite ones that do not
    DoubleDouble rest{};
  };

  // False where the rounding is in doubt.
  bool PutShare(std::int64_t element, const DoubleDouble& exponential, bool top, const Row& row,
                RealWriter& writer) const {
    const bool nothing = std::isinf(At(element).high);
    if (nothing || (top && row.others == 0)) {
      const Term share{nothing ? 0.0 : 1.0, 1};
      writer.Put(element, {&share, 1}, row.tops);
      return true;
    }
    if (top && row.rest.high < 0x1p-60) return PutNearlyUniform(element, row, writer);
    const DoubleDouble sum = DoubleDouble{static_cast<double>(row.tops), 0} + row.rest;
    return PutQuotient(element, exponential / sum, writer);
  }

  // 1 / (n + r) lies below 1 / n, where a tie may be, by r / n of it, less r / n of that again.
  static bool PutNearlyUniform(std::int64_t element, const Row& row, RealWriter& writer) {
    const double below =
        std::max(row.rest.high, kNearlyNothing.integer) / static_cast<double>(row.tops);
    const std::array<Term, 2> low{Term{1, 1}, Term{-below * (1 + 0x1p-40), 1}};
    const std::array<Term, 2> high{Term{1, 1}, Term{-below * (1 - 0x1p-40), 1}};
    return writer.PutBetween(element, low, high, row.tops);
  }

  // Errors, relative: the difference of two reals 2^-104, so 2^-94 in its exponential, which is off
  // by 2^-95 of its own; each addition 2^-103, the quotient a few 2^-100. What is below exp(-600)
  // has an absolute error.
  bool PutQuotient(std::int64_t element, const DoubleDouble& value, RealWriter& writer) const {
    if (value.high == 0) return writer.PutBetween(element, {}, {&kNearlyNothing, 1});
    const double additions = static_cast<double>(rows_.length);
    const double error = value.high * std::ldexp(additions + 0x1p12, -103);
    const std::array<Term, 3> low{Term{value.high, 1}, Term{value.low, 1}, Term{-error, 1}};
    const std::array<Term, 3> high{Term{value.high, 1}, Term{value.low, 1}, Term{error, 1}};
    return writer.PutBetween(element, low, high);
  }

  const Value* x_;
  Value* y_;
  std::string place_;
  std::vector<DoubleDouble> values_, exponentials_;
};

}  // namespace

Result<void> RowsStep::Run() {
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows_.count()));
  std::iota(all.begin(), all.end(), 0);
  return RunRows(all);
}

AxisRows SoftmaxRowsOf(const NodePlan& node, const format::Dims& dims) {
  const bool flattens = node.opset() < 13;  // softmax.S4
  return RowsOf(dims, AxisOf(node.Int("axis"), dims.size()), flattens);
}

std::unique_ptr<RowsStep> MakeGeneralSoftmax(const NodePlan& node, const Value* x, Value* y,
                                             const AxisRows& rows) {
  return std::make_unique<GeneralSoftmax>(x, y, rows, node.Because({}).where);
}

StepResult PrepareGeneralSoftmax(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  const format::Dims& dims = x->tensor.dims;
  const AxisRows rows = SoftmaxRowsOf(node, dims);
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&x, 1), y, Plain::kNumbers));
  const bool real = IsRealOutput(y->tensor.elem_type);
  if (real && !IsRealOutput(x->tensor.elem_type) && node.arithmetic() != Arithmetic::kExact) {
    return node.Unsupported("rows of FLOAT16 or BFLOAT16 in an arithmetic other than exact");
  }
  if (!IsRealOutput(x->tensor.elem_type) || !real) {
    return MakeSoftmaxRows(x, y, rows, false);
  }
  return MakeFloatSoftmax(node, x, y, rows, false, MakeGeneralSoftmax(node, x, y, rows));
}

}  // namespace qtx::backend::engine
