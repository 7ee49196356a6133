#include "qtx/format/shape.h"

#include <algorithm>

#include "qtx/format/limits.h"

namespace qtx::format {

Result<std::int64_t> ElementCount(std::span<const std::int64_t> dims) {
  if (dims.size() > static_cast<std::size_t>(kMaxRank)) {
    return Error{ErrorCode::kTooLarge, "",
                 "found rank " + std::to_string(dims.size()) + ", expected at most " +
                     std::to_string(kMaxRank)};
  }
  // The product without zero dimensions is bounded too, so that strides never overflow.
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0) {
      return Error{ErrorCode::kInvalid, "",
                   "found dimension " + std::to_string(dim) + ", expected at least 0"};
    }
    if (dim == 0) empty = true;
    if (dim == 0) continue;
    if (product > kMaxElements / dim) {
      return Error{ErrorCode::kTooLarge, "",
                   "found dims " + ToString(dims) + ", expected at most " +
                       std::to_string(kMaxElements) + " elements"};
    }
    product *= dim;
  }
  return empty ? 0 : product;
}

std::optional<Dims> FixedDims(const Shape& shape) {
  Dims dims;
  for (const Dimension& dimension : shape) {
    if (!dimension.value) return std::nullopt;
    dims.push_back(*dimension.value);
  }
  return dims;
}

Shape ToShape(std::span<const std::int64_t> dims) {
  Shape shape;
  for (const std::int64_t dim : dims) shape.push_back({.value = dim, .symbol = {}});
  return shape;
}

Dims RowMajorStrides(std::span<const std::int64_t> dims) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(dims[i], 1);
  }
  return strides;
}

Result<std::int64_t> NormalizeAxis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return Error{ErrorCode::kInvalid, "",
                 "found axis " + std::to_string(axis) + ", expected " + std::to_string(-rank) +
                     " to " + std::to_string(rank - 1)};
  }
  return axis < 0 ? axis + rank : axis;
}

std::string ToString(const Shape& shape) {
  std::string text = "[";
  for (const Dimension& dimension : shape) {
    if (text.size() > 1) text += ',';
    if (dimension.value) {
      text += std::to_string(*dimension.value);
    } else {
      text += dimension.symbol.empty() ? "?" : dimension.symbol;
    }
  }
  return text + "]";
}

std::string ToString(std::span<const std::int64_t> dims) { return ToString(ToShape(dims)); }

}  // namespace qtx::format
