#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: reverse_sequence.S1.
Result<format::Tensor> ReverseSequence(const Call& call) {
  const format::Dims& dims = call.inputs[0]->dims;
  const std::vector<std::int64_t> lengths = IntegersAt(call, 1);
  const bool batch_first = call.Int("batch_axis") == 0;
  const std::int64_t inner = Product(dims, 2, dims.size());
  std::vector<std::int64_t> sources;
  for (std::int64_t i = 0; i < dims[0]; ++i) {
    for (std::int64_t k = 0; k < dims[1]; ++k) {
      const std::int64_t time = batch_first ? k : i;
      const std::int64_t length = lengths[static_cast<std::size_t>(batch_first ? i : k)];
      const std::int64_t from = time < length ? length - 1 - time : time;
      const std::int64_t slice = batch_first ? i * dims[1] + from : from * dims[1] + k;
      for (std::int64_t e = 0; e < inner; ++e) sources.push_back(slice * inner + e);
    }
  }
  return Selected(call, dims, sources);
}

}  // namespace

const Operator kReverseSequence = {.op_type = "ReverseSequence", .run = ReverseSequence};

}  // namespace qtx::reference::ops
