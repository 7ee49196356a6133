#include "arithmetic/function.h"

#include <cmath>
#include <limits>

namespace qtx::reference {
namespace {

// One scale and few stored values on both sides: equal stored values have equal results.
bool IsTable(const Operand& input, const Output& output) {
  return input.is_integer() && input.per_tensor() && output.per_tensor() &&
         input.tensor().quantization && format::BitWidth(input.tensor().elem_type) <= 16;
}

}  // namespace

Approximation Within(double value, double units) {
  return {value, std::abs(value) * units * 0x1p-53 + 0x1p-1000};
}

// libm's log is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors").
RealFunction Logarithm() {
  return {.enclose = [](const Interval& x) { return Log(x); },
          .approximate = [](double x) { return Within(std::log(x), 4); }};
}

float NearestFloat(const RealFunction& f, float x) {
  const Approximation close = f.approximate(static_cast<double>(x));
  if (!std::isfinite(x) || !std::isfinite(close.value)) return static_cast<float>(close.value);
  if (const auto certain = CertainlyFloat(close)) return *certain;
  const Rational exact(static_cast<double>(x));
  if (f.rational) {
    if (const auto value = f.rational(exact)) return NearestFloat(*value);
  }
  return NearestFloat([&f, &exact](int bits) { return f.enclose(Interval(exact, bits)); });
}

FunctionPutter::FunctionPutter(const Arithmetic& arithmetic, const RealFunction& f,
                               const Operand& input, Output* output)
    : domain_(DomainFor(arithmetic, *output)), f_(&f), input_(&input), output_(output) {
  if (!IsTable(input, *output)) return;
  const format::IntegerRange range = format::StorageRange(input.tensor().elem_type);
  lowest_ = range.min;
  known_.assign(static_cast<std::size_t>(range.max - range.min + 1), -1);
}

void FunctionPutter::PutExact(std::int64_t element, std::int64_t source) {
  const Dyadic x = input_->exact(source);
  if (x.kind != Dyadic::Kind::kFinite) {
    const double infinity = ToReal(x).special;
    const double limit = f_->approximate(infinity).value;
    if (!std::isfinite(limit)) return output_->PutReal(element, {false, limit, {}});
    if (!f_->limit) return output_->PutReal(element, {true, 0, Rational(limit)});
    return output_->PutEnclosed(
        element, [this, infinity](int bits) { return f_->limit(infinity < 0 ? -1 : 1, bits); });
  }
  const bool is_double = ExactDouble(x).has_value();
  if (is_double || !f_->special) {
    const Approximation close = f_->approximate(NearDouble(x));
    if (!std::isfinite(close.value)) {  // outside the domain, or a pole
      return output_->PutReal(element, {false, close.value, {}});
    }
    if (is_double && output_->PutIfCertain(element, close)) return;
  } else if (const auto special = f_->special(ToRational(x))) {
    return output_->PutReal(element, {false, *special, {}});
  }
  output_->CountFallback();
  const Rational exact = ToRational(x);
  if (f_->rational) {
    if (const auto value = f_->rational(exact)) return output_->PutReal(element, {true, 0, *value});
  }
  output_->PutEnclosed(element,
                       [this, &exact](int bits) { return f_->enclose(Interval(exact, bits)); });
}

void FunctionPutter::Put(std::int64_t element, std::int64_t source) {
  if (!known_.empty()) {
    std::int64_t& first = known_[static_cast<std::size_t>(input_->stored(source) - lowest_)];
    if (first >= 0) return output_->PutSame(element, first);
    first = element;
  }
  if (domain_ != Domain::kFloat32) return PutExact(element, source);  // also tflite.S11
  const float x = input_->binary32(source);
  output_->PutFloat(element, f_->binary32 ? f_->binary32(x) : NearestFloat(*f_, x));
}

}  // namespace qtx::reference
