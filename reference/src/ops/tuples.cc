#include "ops/tuples.h"

#include <utility>

#include "ops/move.h"

namespace qtx::reference {

using format::Dims;

IndexTuples TuplesAt(const Call& call, std::int64_t batch_dims) {
  const Dims& data = call.inputs[0]->dims;
  const Dims& indices = call.inputs[1]->dims;
  const Dims strides = format::RowMajorStrides(data);
  const auto batch = static_cast<std::size_t>(batch_dims);
  const auto depth = static_cast<std::size_t>(indices.back());
  IndexTuples tuples;
  tuples.slice_size = Product(data, batch + depth, data.size());
  const std::vector<std::int64_t> values = IntegersAt(call, 1);
  const std::int64_t count = Product(indices, 0, indices.size() - 1);
  const std::int64_t per_batch = Product(indices, batch, indices.size() - 1);
  const std::int64_t batch_stride = Product(data, batch, data.size());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t start = i / per_batch * batch_stride;
    for (std::size_t k = 0; k < depth; ++k) {
      const std::int64_t index = values[static_cast<std::size_t>(i) * depth + k];
      start += (index < 0 ? index + data[batch + k] : index) * strides[batch + k];
    }
    tuples.starts.push_back(start);
  }
  return tuples;
}

std::vector<std::int64_t> ElementsAlongAxis(const Call& call) {
  const Dims& data = call.inputs[0]->dims;
  const std::size_t axis = AxisOf(call, data.size());
  Dims strides = format::RowMajorStrides(data);
  const std::int64_t step = std::exchange(strides[axis], 0);
  std::vector<std::int64_t> elements = IntegersAt(call, 1);
  StridedIndex line(call.inputs[1]->dims, std::move(strides));
  for (std::int64_t& element : elements) {
    const std::int64_t index = element < 0 ? element + data[axis] : element;
    element = *line + index * step;
    line.Next();
  }
  return elements;
}

}  // namespace qtx::reference
