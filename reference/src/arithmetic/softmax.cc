#include "arithmetic/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "arithmetic/byte_kernels.h"
#include "arithmetic/fixed_softmax.h"
#include "arithmetic/function.h"
#include "arithmetic/kernel_types.h"
#include "arithmetic/tflite_kernels.h"
#include "arithmetic/tflite_words.h"

namespace qtx::reference {
namespace {

bool IsFinite(const Dyadic& x) { return x.kind == Dyadic::Kind::kFinite; }
bool IsMinusInfinity(const Dyadic& x) {
  return x.kind == Dyadic::Kind::kInfinite && x.mantissa < 0;
}

// One row over the exact reals.
class ExactRow {
 public:
  ExactRow(const Operand& input, std::span<const std::int64_t> row);
  void Put(std::int64_t element, std::size_t at, Output* output);
  void PutLog(std::int64_t element, std::size_t at, Output* output);
  bool defined() const { return defined_; }

 private:
  Rational Below(std::size_t at) const { return ToRational(values_[at]) - ToRational(max_); }
  const Interval& Sum(int bits);

  std::vector<Dyadic> values_;
  Dyadic max_;
  bool defined_ = true;
  std::int64_t finite_ = 0;  // elements that are not minus infinity
  bool all_equal_ = true;    // of those
  std::optional<Shares> shares_;
  std::map<int, Interval> sums_;  // of the exponentials of x - max, by precision
};

ExactRow::ExactRow(const Operand& input, std::span<const std::int64_t> row) {
  for (const std::int64_t i : row) {
    const Dyadic x = input.exact(i);
    values_.push_back(x);
    if (IsMinusInfinity(x)) continue;
    defined_ = defined_ && IsFinite(x);
    if (!defined_) return;
    if (finite_++ == 0) max_ = x;
    const int order = Compare(x, max_);
    all_equal_ = all_equal_ && order == 0;
    if (order > 0) max_ = x;
  }
  defined_ = finite_ > 0;
  if (defined_) shares_.emplace(values_, max_);
}

const Interval& ExactRow::Sum(int bits) {
  if (const auto known = sums_.find(bits); known != sums_.end()) return known->second;
  Interval sum(0, bits);
  for (std::size_t k = 0; k < values_.size(); ++k) {
    if (IsFinite(values_[k])) sum += Exp(Interval(Below(k), bits));
  }
  return sums_.emplace(bits, std::move(sum)).first->second;
}

// Unless all differences are zero the quotient is irrational (Lindemann-Weierstrass), hence never a
// tie.
void ExactRow::Put(std::int64_t element, std::size_t at, Output* output) {
  if (IsMinusInfinity(values_[at])) return output->PutReal(element, Real{});
  if (all_equal_) {
    return output->PutReal(element, {true, 0, Rational(1, static_cast<unsigned long>(finite_))});
  }
  const auto share = shares_->At(at);
  if (share && output->PutIfCertain(element, *share)) return;
  output->CountFallback();
  const Rational below = Below(at);
  // But for DOUBLE, the ties next to zero lie at 2^-168 and more: less than e^-200 nothing but the
  // sign matters.
  if (below <= -200 && !output->is_plain()) {
    return output->PutReal(element, {true, 0, ToRational({1, -250, Dyadic::Kind::kFinite})});
  }
  output->PutEnclosed(element,
                      [this, &below](int bits) { return Exp(Interval(below, bits)) / Sum(bits); });
}

// x - max - log(sum): 0 where one element stands alone, else irrational for the same reason.
void ExactRow::PutLog(std::int64_t element, std::size_t at, Output* output) {
  if (IsMinusInfinity(values_[at])) {
    return output->PutReal(element, {false, -std::numeric_limits<double>::infinity(), {}});
  }
  if (finite_ == 1) return output->PutReal(element, Real{});
  const auto share = shares_->LogAt(at);
  if (share && output->PutIfCertain(element, *share)) return;
  output->CountFallback();
  const Rational below = Below(at);
  output->PutEnclosed(element,
                      [this, &below](int bits) { return Interval(below, bits) - Log(Sum(bits)); });
}

// float32.S3: maximum, differences, nearest exponentials, their sum in index order; then quotients,
// or differences less the nearest logarithm of the sum.
void PutFloatRow(const Operand& input, std::span<const std::int64_t> row, RowFunction function,
                 Output* output) {
  float max = -std::numeric_limits<float>::infinity();
  for (const std::int64_t i : row) max = std::max(max, input.binary32(i));
  std::vector<float> exponentials;
  float sum = 0;
  for (const std::int64_t i : row) {
    exponentials.push_back(Exp32(input.binary32(i) - max));
    sum += exponentials.back();
  }
  if (function == RowFunction::kSoftmax) {
    for (std::size_t k = 0; k < row.size(); ++k) output->PutFloat(row[k], exponentials[k] / sum);
    return;
  }
  const float logarithm = NearestFloat(Logarithm(), sum);
  for (const std::int64_t i : row) output->PutFloat(i, input.binary32(i) - max - logarithm);
}

// tflite.S8, for 8-bit types with one scale.
void PutStoredRow(const Operand& input, std::span<const std::int64_t> row, Output* output) {
  std::int32_t max = std::numeric_limits<std::int32_t>::min();
  for (const std::int64_t i : row) max = std::max(max, input.stored(i));
  const float scale = -input.scale(0);
  std::vector<float> exponentials;
  float sum = 0;
  for (const std::int64_t i : row) {
    exponentials.push_back(Exp32(scale * static_cast<float>(max - input.stored(i))));
    sum += exponentials.back();
  }
  const float factor = 1.0F / (sum * output->scale(0));
  for (std::size_t k = 0; k < row.size(); ++k) {
    output->PutStored(row[k], StoredHalfAway(exponentials[k] * factor, row[k], *output));
  }
}

// LiteRT's LOG_SOFTMAX of 8 bits: tflite_float64.S11.
void PutStoredLogRow(const Operand& input, std::span<const std::int64_t> row, Output* output) {
  std::int32_t max = std::numeric_limits<std::int32_t>::min();
  for (const std::int64_t i : row) max = std::max(max, input.stored(i));
  const float scale = input.scale(0);
  float sum = 0;
  for (const std::int64_t i : row) {
    sum += Exp32(-scale * static_cast<float>(max - input.stored(i)));
  }
  const float ratio = scale / output->scale(0);
  const float logarithm = scale * static_cast<float>(max) + NearestFloat(Logarithm(), sum);
  const float subtrahend = logarithm / output->scale(0);
  for (const std::int64_t i : row) {
    const float steps = ratio * static_cast<float>(input.stored(i)) - subtrahend;
    output->PutStored(i, QuantizedQuotient(steps, output->offset(i), QuantizeRecipe{},
                                           output->min(), output->max()));
  }
}

// e^x in binary32.
float NearestExponential(double x) {
  const double value = std::exp(x);  // within 1 ulp, as in Exp32
  if (const auto certain = CertainlyFloat({value, value * 0x1p-50})) return *certain;
  return NearestFloat([x](int bits) { return Exp(Interval(Rational(x), bits)); });
}

// onnxruntime.S5: the exponentials are multiplied by what leaves their sum just within binary32.
void PutTableRow(const Operand& input, std::span<const std::int64_t> row, Output* output) {
  constexpr double kReserve = 5;  // of the sum's natural logarithm
  const float share = std::numeric_limits<float>::max() / static_cast<float>(row.size());
  const auto logarithm = static_cast<double>(NearestFloat(Logarithm(), share));
  const auto scale = static_cast<double>(input.scale(0));
  const double shift = std::max(0.0, logarithm - kReserve) / scale;
  std::int32_t max = std::numeric_limits<std::int32_t>::min();
  for (const std::int64_t i : row) max = std::max(max, input.stored(i));
  std::vector<float> exponentials;
  float sum = 0;
  for (const std::int64_t i : row) {
    exponentials.push_back(NearestExponential((input.stored(i) - max + shift) * scale));
    sum += exponentials.back();
  }
  const auto steps = static_cast<double>(std::floor(1.0F / output->scale(0)));
  for (std::size_t k = 0; k < row.size(); ++k) {
    const double quotient = static_cast<double>(exponentials[k]) * steps / static_cast<double>(sum);
    output->PutStored(row[k], QuantizedQuotient(quotient, output->offset(row[k]), QuantizeRecipe{},
                                                output->min(), output->max()));
  }
}

}  // namespace

void PutSoftmaxRow(const Arithmetic& arithmetic, RowFunction function, const Operand& input,
                   std::span<const std::int64_t> row, Output* output) {
  const Domain domain = DomainFor(arithmetic, *output);
  const bool log = function == RowFunction::kLogSoftmax;
  constexpr std::size_t kMostWords = std::size_t{1} << 16;  // whose sum has 31 bits
  if (!log && row.size() <= kMostWords &&
      HasWordKernel(arithmetic, input.tensor(), output->tensor())) {
    return PutWordSoftmaxRow(input, row, output);
  }
  if (!log && arithmetic.litert == Arithmetic::LiteRt::kReference &&
      HasFixedSoftmax(input, row.size(), *output)) {
    return PutFixedSoftmaxRow(input, row, output);
  }
  if (domain == Domain::kStored && !log && HasSoftmaxKernel(input.tensor(), output->tensor())) {
    return PutStoredRow(input, row, output);
  }
  if (log && HasLogSoftmaxKernel(arithmetic, input.tensor(), output->tensor())) {
    return PutStoredLogRow(input, row, output);
  }
  if (!log && HasByteKernel(arithmetic, {&input}, *output)) return PutTableRow(input, row, output);
  ExactRow exact(input, row);
  if (!exact.defined()) {
    const Real nan{false, std::numeric_limits<double>::quiet_NaN(), {}};
    for (const std::int64_t i : row) output->PutReal(i, nan);
    return;
  }
  const bool floats = input.tensor().elem_type == format::ElementType::kFloat &&
                      output->tensor().elem_type == format::ElementType::kFloat;
  if (domain == Domain::kFloat32 || (domain == Domain::kStored && log && floats)) {  // tflite.S17
    return PutFloatRow(input, row, function, output);
  }
  for (std::size_t k = 0; k < row.size(); ++k) {
    log ? exact.PutLog(row[k], k, output) : exact.Put(row[k], k, output);
  }
}

}  // namespace qtx::reference
