#include "ops/tuples.h"

#include <algorithm>

#include "ops/move.h"

namespace qtx::reference {
namespace {

using format::Dims;

Error Misfit(const Call& call, std::int64_t batch_dims) {
  return Error{ErrorCode::kInvalid, InputName(call, 1),
               "shape " + format::ToString(call.inputs[1]->dims) +
                   " does not index data of shape " + format::ToString(call.inputs[0]->dims) +
                   " with " + std::to_string(batch_dims) + " batch axes"};
}

Result<void> CheckRanks(const Call& call, std::int64_t batch_dims) {
  const Dims& data = call.inputs[0]->dims;
  const Dims& indices = call.inputs[1]->dims;
  if (call.inputs[1]->elem_type != format::ElementType::kInt64) {
    return Error{ErrorCode::kInvalid, InputName(call, 1), "expected type INT64"};
  }
  const auto rank = static_cast<std::int64_t>(data.size());
  const auto limit = std::min(rank, static_cast<std::int64_t>(indices.size()));
  if (limit < 1) return Misfit(call, batch_dims);
  if (batch_dims < 0 || batch_dims >= limit) {
    return Error{
        ErrorCode::kInvalid, "attribute 'batch_dims'",
        "found " + std::to_string(batch_dims) + ", expected 0 to " + std::to_string(limit - 1)};
  }
  const bool same_batch = std::equal(data.begin(), data.begin() + batch_dims, indices.begin());
  if (!same_batch || indices.back() < 1 || indices.back() > rank - batch_dims) {
    return Misfit(call, batch_dims);
  }
  return {};
}

}  // namespace

Result<IndexTuples> TuplesAt(const Call& call, std::int64_t batch_dims) {
  QTX_RETURN_IF_ERROR(CheckRanks(call, batch_dims));
  const Dims& data = call.inputs[0]->dims;
  const Dims& indices = call.inputs[1]->dims;
  const Dims strides = format::RowMajorStrides(data);
  const auto batch = static_cast<std::size_t>(batch_dims);
  const auto depth = static_cast<std::size_t>(indices.back());
  IndexTuples tuples;
  tuples.outer.assign(indices.begin(), indices.end() - 1);
  tuples.slice.assign(data.begin() + batch_dims + indices.back(), data.end());
  tuples.slice_size = Product(tuples.slice, 0, tuples.slice.size());
  const std::vector<std::int64_t> values = format::UnpackIntegers(*call.inputs[1]);
  const std::int64_t count = Product(tuples.outer, 0, tuples.outer.size());
  const std::int64_t per_batch = Product(tuples.outer, batch, tuples.outer.size());
  const std::int64_t batch_stride = Product(data, batch, data.size());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t start = i / per_batch * batch_stride;
    for (std::size_t k = 0; k < depth; ++k) {
      const std::int64_t value = values[static_cast<std::size_t>(i) * depth + k];
      const auto index = IndexWithin(value, data[batch + k]);
      if (!index.has_value()) return At(InputName(call, 1), index.error());
      start += *index * strides[batch + k];
    }
    tuples.starts.push_back(start);
  }
  return tuples;
}

}  // namespace qtx::reference
