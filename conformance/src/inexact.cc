#include "inexact.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "qtx/format/levels.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Quantization;
using format::Tensor;

constexpr int kFineBits = 12;  // of a step: 16 and 12 bits leave room in 32

bool HasSteps(const format::ValueInfo& output) {
  return output.type && output.type->quantization &&
         format::IsIntegerStorage(output.type->elem_type) &&
         format::BitWidth(output.type->elem_type) <= 16 &&
         output.type->elem_type != ElementType::kBipolar1Q;
}

// Stores 2^kFineBits steps in the place of one, without offset and range.
bool Refine(format::ValueInfo& output) {
  Quantization& q = *output.type->quantization;
  if (!q.offset_tensor.empty() || !q.scale_tensor.empty() || HasLevels(q)) return false;
  output.type->elem_type = ElementType::kInt32Q;
  for (float& scale : q.scale) scale = std::ldexp(scale, -kFineBits);
  q.offset.clear();
  q.quant_min.reset();
  q.quant_max.reset();
  q.scheme = format::Scheme::kUnspecified;
  q.requantization.reset();
  return true;
}

// Adds the elements of one output; false where a quotient is not known.
bool Add(const Tensor& right, const Tensor& got, const Tensor& fine, Inexactness& sum) {
  if (got.elem_type != right.elem_type || got.dims != right.dims || fine.dims != right.dims ||
      got.bytes.size() != right.bytes.size() || !right.quantization ||
      !format::ParameterDims(*right.quantization, right.dims)) {
    return false;
  }
  const format::ParameterMap map(*right.quantization, right.dims);
  const std::vector<std::int64_t> expected = format::UnpackIntegers(right);
  const std::vector<std::int64_t> given = format::UnpackIntegers(got);
  const std::vector<std::int64_t> quotients = format::UnpackIntegers(fine);
  sum.has_bytes = sum.has_bytes || format::BitWidth(right.elem_type) <= 8;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (given[i] == expected[i]) continue;
    if (quotients[i] == INT32_MIN || quotients[i] == INT32_MAX) return false;
    const auto offset = format::OffsetAt(*right.quantization, map(static_cast<std::int64_t>(i)));
    const double quotient = std::ldexp(static_cast<double>(quotients[i]), -kFineBits) + offset;
    const double miss = std::abs(static_cast<double>(given[i]) - quotient);
    sum.steps = std::max(sum.steps, miss - 0.5);
    if (miss > 1) {
      ++sum.far;
      sum.share = std::max(sum.share, (miss - 1) / std::abs(quotient - offset));
    }
    sum.tie = std::max(sum.tie, std::abs(quotient - std::floor(quotient) - 0.5));
    sum.distance = std::max(sum.distance, std::abs(given[i] - expected[i]));
    ++sum.elements;
  }
  return true;
}

}  // namespace

void Inexactness::Join(const Inexactness& other) {
  steps = std::max(steps, other.steps);
  elements += other.elements;
  distance = std::max(distance, other.distance);
  far += other.far;
  share = std::max(share, other.share);
  tie = std::max(tie, other.tie);
  has_bytes = has_bytes || other.has_bytes;
}

std::optional<Inexactness> InexactnessOf(const Question& question, const reference::Arithmetic& row,
                                         const Outputs& right, const Outputs& got) {
  Question fine = question;
  std::vector<format::ValueInfo>& outputs = fine.model.graph.outputs;
  if (outputs.size() != right.size() || outputs.size() != got.size()) return std::nullopt;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (got[i] == right[i]) continue;
    if (!HasSteps(outputs[i]) || !Refine(outputs[i])) return std::nullopt;
  }
  const auto quotients = Answer(fine, row, nullptr);
  if (!quotients || quotients->size() != right.size()) return std::nullopt;
  Inexactness sum;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (got[i] != right[i] && !Add(right[i], got[i], (*quotients)[i], sum)) return std::nullopt;
  }
  return sum;
}

}  // namespace qtx::conformance
