// Softmax and LogSoftmax of FLOAT in arithmetic `exact`: rows in binary64 with an error bound, and
// by the general path those where it does not decide how an element rounds.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/ops/softmax_rows.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

constexpr double kUnit = 0x1p-53;  // the error of one rounding
// Of an exponential, relative: 2^-48 of its own and, as its argument is a difference below 200 that
// is rounded, 2^-46.
constexpr double kExponential = 0x1p-45;

class FloatSoftmax : public Step {
 public:
  FloatSoftmax(const NodePlan& node, const Value* x, Value* y, const AxisRows& rows,
               bool logarithms, std::unique_ptr<RowsStep> exactly)
      : x_(x),
        y_(y),
        rows_(rows),
        logarithms_(logarithms),
        exponentials_(node.kernels().exponentials),
        threads_(node.threads()),
        exactly_(std::move(exactly)) {
    const std::int64_t elements = std::max<std::int64_t>(rows.length, 1);
    rows_of_piece_ = std::max<std::int64_t>(1, 1024 / elements);
    pieces_ = (rows.count() + rows_of_piece_ - 1) / rows_of_piece_;
    doubtful_.resize(static_cast<std::size_t>(rows.count()));
    // ln(1 + rest) and the shares take as many sums as a row has elements.
    sums_ = 2 * static_cast<double>(rows.length) * kUnit;
  }

  std::string_view Path() const override { return "float rows"; }
  Result<void> Run() override {
    if (y_->tensor.bytes.empty()) return {};
    std::atomic<bool> any{false};
    threads_.For(pieces_, rows_.count() * rows_.length * 3, [&](std::int64_t piece) {
      const std::int64_t end = std::min(rows_.count(), (piece + 1) * rows_of_piece_);
      Row row;
      row.exponents.resize(static_cast<std::size_t>(rows_.length));
      row.values.resize(row.exponents.size());
      for (std::int64_t r = piece * rows_of_piece_; r < end; ++r) {
        const bool certain = RunRow(rows_.First(r), row);
        doubtful_[static_cast<std::size_t>(r)] = certain ? 0 : 1;
        if (!certain) any = true;
      }
    });
    return any ? RunDoubtful() : Result<void>();
  }

 private:
  // Of one thread.
  struct Row {
    std::vector<double> exponents, values;  // x less the greatest of the row; exp of it
  };

  Result<void> RunDoubtful() {
    std::vector<std::int64_t> rows;
    for (std::size_t r = 0; r < doubtful_.size(); ++r) {
      if (doubtful_[r] != 0) rows.push_back(static_cast<std::int64_t>(r));
    }
    return exactly_->RunRows(rows);
  }

  // False if the rounding of an element is in doubt, as it is in rows with NaN or infinity.
  bool RunRow(std::int64_t first, Row& row) const {
    const float* x = x_->tensor.As<float>().data() + first;
    const std::int64_t n = rows_.length;
    float greatest = -std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < n; ++i) greatest = std::max(greatest, x[i * rows_.stride]);
    for (std::int64_t i = 0; i < n; ++i) {
      row.exponents[static_cast<std::size_t>(i)] =
          static_cast<double>(x[i * rows_.stride]) - static_cast<double>(greatest);
    }
    exponentials_(row.exponents.data(), n, row.values.data());
    const double sum = SumOf(row.values);
    float* y = y_->tensor.As<float>().data() + first;
    return logarithms_ ? PutLogarithms(row, sum, y) : PutShares(row, sum, y);
  }

  // Four sums, as one is slower.
  static double SumOf(const std::vector<double>& values) {
    std::array<double, 4> sums{};
    std::size_t i = 0;
    for (; i + 4 <= values.size(); i += 4) {
      for (std::size_t k = 0; k < 4; ++k) sums[k] += values[i + k];
    }
    for (; i < values.size(); ++i) sums[0] += values[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  // What lies below exp(-200) rounds to 0 whatever it is.
  bool PutShares(const Row& row, double sum, float* y) const {
    const double error = 2 * kExponential + sums_;
    bool certain = true;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      const double share = row.values[i] / sum;
      const auto low = static_cast<float>(share - share * error);
      const auto high = static_cast<float>(share + share * error);
      certain &= low == high;
      y[static_cast<std::int64_t>(i) * rows_.stride] = high;
    }
    return certain;
  }

  struct Logarithm {
    double value, error;
  };

  // ln(1 + rest), rest >= 0. The C library's logarithm is but where to begin: with y near it,
  // ln(s) = y + ln(1 + d), d = s exp(-y) - 1, which lies within d^2 of y + d.
  Logarithm LogarithmOf(double rest) const {
    const double inherited = rest / (1 + rest) * (kExponential + sums_);
    if (rest < 0x1p-10) {
      const double series =
          rest * (1 - rest * (1.0 / 2 - rest * (1.0 / 3 - rest * (1.0 / 4 - rest / 5))));
      return {series, inherited + series * 0x1p-50};
    }
    const double near = std::log1p(rest);
    const double minus = -near;
    double decay = 0;
    exponentials_(&minus, 1, &decay);
    const double d = (1 + rest) * decay - 1;
    if (!(std::fabs(d) < 0x1p-30)) return {near, std::numeric_limits<double>::infinity()};
    return {near + d, inherited + d * d + 0x1p-47 + near * 0x1p-52};
  }

  // x - greatest - ln(sum): two numbers of one sign.
  bool PutLogarithms(const Row& row, double sum, float* y) const {
    const Logarithm logarithm = LogarithmOf(RestOf(row, sum));
    bool certain = true;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      const double value = row.exponents[i] - logarithm.value;
      const double error = logarithm.error - value * 0x1p-51;
      const auto low = static_cast<float>(value - error);
      const auto high = static_cast<float>(value + error);
      certain &= low == high;
      y[static_cast<std::int64_t>(i) * rows_.stride] = high;
    }
    return certain;
  }

  // The sum without the first of the greatest elements, whose exponential is 1: next to it, a small
  // rest loses its bits.
  static double RestOf(const Row& row, double sum) {
    if (sum > 2) return sum - 1;
    double rest = 0;
    bool found = false;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      if (row.exponents[i] == 0 && !std::exchange(found, true)) continue;
      rest += row.values[i];
    }
    return rest;
  }

  const Value* x_;
  Value* y_;
  AxisRows rows_;
  bool logarithms_;
  void (*exponentials_)(const double*, std::int64_t, double*);
  Threads& threads_;
  std::unique_ptr<RowsStep> exactly_;
  std::int64_t rows_of_piece_ = 1, pieces_ = 0;
  std::vector<std::uint8_t> doubtful_;  // of each row
  double sums_ = 0;
};

}  // namespace

std::unique_ptr<Step> MakeFloatSoftmax(const NodePlan& node, const Value* x, Value* y,
                                       const AxisRows& rows, bool logarithms,
                                       std::unique_ptr<RowsStep> exactly) {
  constexpr std::int64_t kLongest = std::int64_t{1} << 24;
  if (!IsFloat(*x) || !IsFloat(*y) || rows.length > kLongest) return exactly;
  return std::make_unique<FloatSoftmax>(node, x, y, rows, logarithms, std::move(exactly));
}

}  // namespace qtx::backend::engine
