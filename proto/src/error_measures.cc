#include "qtx/format/error_measures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "qtx/format/quantization.h"

namespace qtx::format {
namespace {

// The reals of a tensor, with the scale of each element; FLOAT has none.
class Reals {
 public:
  explicit Reals(const Tensor& tensor)
      : values_(StoredValues(tensor)),
        q_(tensor.quantization ? *tensor.quantization : Quantization{.scale = {1}}),
        map_(q_, tensor.dims),
        quantized_(tensor.quantization.has_value()) {
    if (quantized_ && IsIntegerStorage(tensor.elem_type))
      stored_ = StoredRange(tensor.elem_type, q_);
  }

  double operator[](std::size_t i) const {
    return quantized_ ? Scale(i) * (values_[i] - Offset(i)) : values_[i];
  }
  double Scale(std::size_t i) const {
    return static_cast<double>(ScaleAt(q_, map_(static_cast<std::int64_t>(i))));
  }
  bool IsBeyond(std::size_t i, double real) const {
    if (!stored_) return false;
    const double place = real / Scale(i) + Offset(i);
    return place < static_cast<double>(stored_->min) - 0.5 ||
           place > static_cast<double>(stored_->max) + 0.5;
  }
  bool quantized() const { return quantized_; }

 private:
  double Offset(std::size_t i) const { return OffsetAt(q_, map_(static_cast<std::int64_t>(i))); }
  std::vector<double> values_;
  Quantization q_;
  ParameterMap map_;
  bool quantized_;
  std::optional<IntegerRange> stored_;
};

}  // namespace

void ErrorSums::Add(const Tensor& real, const Tensor& value) {
  const Reals r(real), q(value);
  for (std::size_t i = 0; i < static_cast<std::size_t>(ElementCount(real)); ++i) {
    const double error = q[i] - r[i];
    if (!std::isfinite(error)) continue;
    ++count_;
    signal_ += r[i] * r[i];
    noise_ += error * error;
    power_ += q[i] * q[i];
    product_ += r[i] * q[i];
    error_ += error;
    largest_ = std::max(largest_, std::abs(error));
    greatest_ = std::max(greatest_, std::abs(r[i]));
    if (!q.quantized()) continue;
    largest_lsb_ = std::max(largest_lsb_, std::abs(error) / q.Scale(i));
    if (q.IsBeyond(i, r[i])) ++saturated_;
  }
}

ErrorMeasures ErrorSums::Measures() const {
  ErrorMeasures measures{.count = count_, .signal = signal_, .noise = noise_};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  measures.sqnr_db = noise_ == 0 ? kInfinity : 10 * std::log10(signal_ / noise_);
  const double norms = std::sqrt(signal_) * std::sqrt(power_);
  measures.cosine = norms > 0 ? product_ / norms : (noise_ == 0 ? 1 : 0);
  measures.max_error = largest_;
  measures.max_error_lsb = largest_lsb_;
  measures.greatest = greatest_;
  if (count_ == 0) return measures;
  measures.mean_error = error_ / static_cast<double>(count_);
  measures.saturated = static_cast<double>(saturated_) / static_cast<double>(count_);
  return measures;
}

}  // namespace qtx::format
