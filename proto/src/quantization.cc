#include "qtx/format/quantization.h"

#include <algorithm>

namespace qtx::format {

std::string_view Name(Scheme scheme) {
  switch (scheme) {
    case Scheme::kUnspecified:
      return "unspecified";
    case Scheme::kAsymmetric:
      return "asymmetric";
    case Scheme::kSymmetric:
      return "symmetric";
    case Scheme::kAsymmetricPow2:
      return "asymmetric_pow2";
    case Scheme::kSymmetricPow2:
      return "symmetric_pow2";
    case Scheme::kSymmetricUint8:
      return "symmetric_uint8";
  }
  return "unknown";
}

Result<Dims> ParameterDims(const Quantization& q, std::span<const std::int64_t> dims) {
  if (!q.block_shape.empty() && q.block_shape.size() != q.axis.size()) {
    return Error{ErrorCode::kInvalid, "block_shape",
                 "found " + std::to_string(q.block_shape.size()) + " values, expected " +
                     std::to_string(q.axis.size()) + " (one per axis)"};
  }
  Dims counts;
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    const std::int64_t axis = q.axis[i];
    if (axis < 0 || axis >= static_cast<std::int64_t>(dims.size())) {
      return Error{ErrorCode::kInvalid, "axis",
                   "found " + std::to_string(axis) + ", expected 0 to " +
                       std::to_string(static_cast<std::int64_t>(dims.size()) - 1)};
    }
    if (std::find(q.axis.begin(), q.axis.begin() + static_cast<std::ptrdiff_t>(i), axis) !=
        q.axis.begin() + static_cast<std::ptrdiff_t>(i)) {
      return Error{ErrorCode::kInvalid, "axis", "found " + std::to_string(axis) + " twice"};
    }
    const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[i];
    if (block < 1) {
      return Error{ErrorCode::kInvalid, "block_shape",
                   "found " + std::to_string(block) + ", expected at least 1"};
    }
    const std::int64_t dim = dims[static_cast<std::size_t>(axis)];
    counts.push_back(dim / block + (dim % block == 0 ? 0 : 1));
  }
  return counts;
}

ParameterMap::ParameterMap(const Quantization& q, std::span<const std::int64_t> dims) {
  if (q.axis.empty()) return;
  const Dims counts = *ParameterDims(q, dims);
  const Dims element_strides = RowMajorStrides(dims);
  const Dims parameter_strides = RowMajorStrides(counts);
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    const auto axis = static_cast<std::size_t>(q.axis[i]);
    terms_.push_back({.element_stride = element_strides[axis],
                      .dim = std::max<std::int64_t>(dims[axis], 1),
                      .block = q.block_shape.empty() ? 1 : q.block_shape[i],
                      .parameter_stride = parameter_strides[i]});
    count_ *= counts[i];
  }
}

std::int64_t ParameterMap::operator()(std::int64_t element) const {
  std::int64_t index = 0;
  for (const Term& term : terms_) {
    const std::int64_t coordinate = element / term.element_stride % term.dim;
    index += coordinate / term.block * term.parameter_stride;
  }
  return index;
}

IntegerRange StoredRange(ElementType type, const Quantization& q) {
  IntegerRange range = StorageRange(type);
  if (q.quant_min) range.min = std::max(range.min, *q.quant_min);
  if (q.quant_max) range.max = std::min(range.max, *q.quant_max);
  return range;
}

}  // namespace qtx::format
