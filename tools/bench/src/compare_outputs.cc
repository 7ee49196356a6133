#include "compare_outputs.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace qtx::bench {
namespace {

using format::Tensor;

// For 64-bit integers, which networks do not produce, the largest difference may be inexact.
std::vector<double> Values(const Tensor& tensor) {
  if (tensor.elem_type == format::ElementType::kInt64) {
    const auto values = tensor.As<std::int64_t>();
    return {values.begin(), values.end()};
  }
  return format::StoredValues(tensor);
}

bool HasValues(const Tensor& tensor) {
  return format::BitWidth(tensor.elem_type) > 0 &&
         tensor.elem_type != format::ElementType::kUint64 &&
         tensor.elem_type != format::ElementType::kComplex64 &&
         tensor.elem_type != format::ElementType::kComplex128;
}

void Add(const std::vector<double>& expected, const std::vector<double>& got, Comparison& sum) {
  sum.elements += std::ssize(expected);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool both_nan = std::isnan(expected[i]) && std::isnan(got[i]);
    if (expected[i] == got[i] || both_nan) continue;
    ++sum.differing;
    const double difference = std::abs(expected[i] - got[i]);
    const bool incomparable = std::isnan(difference);  // one is NaN
    sum.largest_difference = incomparable ? HUGE_VAL : std::max(sum.largest_difference, difference);
  }
}

}  // namespace

std::optional<Comparison> CompareOutputs(std::span<const Tensor> expected,
                                         std::span<const Tensor> got) {
  if (expected.size() != got.size()) return std::nullopt;
  Comparison sum;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].elem_type != got[i].elem_type || expected[i].dims != got[i].dims ||
        expected[i].bytes.size() != got[i].bytes.size() || !HasValues(expected[i])) {
      return std::nullopt;
    }
    Add(Values(expected[i]), Values(got[i]), sum);
  }
  return sum;
}

}  // namespace qtx::bench
