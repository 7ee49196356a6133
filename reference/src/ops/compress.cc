#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The slices whose place is true.  Source: compress.S1, compress.S2.
Result<format::Tensor> Compress(const Call& call) {
  const format::Dims& dims = call.inputs[0]->dims;
  const bool is_list = call.node.Find("axis") == nullptr;
  const std::size_t axis = is_list ? 0 : AxisOf(call, dims.size());
  const std::int64_t outer = is_list ? 1 : Product(dims, 0, axis);
  const std::int64_t inner = is_list ? 1 : Product(dims, axis + 1, dims.size());
  const std::int64_t size = is_list ? format::ElementCount(*call.inputs[0]) : dims[axis];
  std::vector<std::int64_t> kept;
  const std::vector<std::int64_t> condition = format::UnpackIntegers(*call.inputs[1]);
  for (std::size_t k = 0; k < condition.size(); ++k) {
    if (condition[k] != 0) kept.push_back(static_cast<std::int64_t>(k));
  }
  std::vector<std::int64_t> sources;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t k : kept) {
      for (std::int64_t i = 0; i < inner; ++i) sources.push_back((o * size + k) * inner + i);
    }
  }
  format::Dims shape = is_list ? format::Dims{0} : dims;
  shape[axis] = std::ssize(kept);
  return Selected(call, std::move(shape), sources);
}

}  // namespace

const Operator kCompress = {.op_type = "Compress", .run = Compress};

}  // namespace qtx::reference::ops
