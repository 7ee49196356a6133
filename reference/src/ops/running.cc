#include "ops/running.h"

#include "ops/move.h"

namespace qtx::reference {

void ForEachRunningLine(
    const Call& call,
    const std::function<void(std::int64_t first, std::int64_t step, std::int64_t count)>& put) {
  const format::Dims& dims = call.inputs[0]->dims;
  const std::size_t axis = FromFirst(IntegersAt(call, 1)[0], dims.size());
  const std::int64_t size = dims[axis];
  const std::int64_t step = Product(dims, axis + 1, dims.size());
  const bool reverse = call.Int("reverse") != 0;
  const std::int64_t lines = size == 0 ? 0 : format::ElementCount(*call.inputs[0]) / size;
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::int64_t first = line / step * step * size + line % step;
    const std::int64_t last = first + (size - 1) * step;
    put(reverse ? last : first, reverse ? -step : step, size);
  }
}

}  // namespace qtx::reference
