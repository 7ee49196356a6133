#include "ops/bits.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: bitwise_not.S1.
Result<format::Tensor> BitwiseNot(const Call& call) {
  return RunOnBits(call, [](std::uint64_t x, std::uint64_t) { return ~x; });
}

}  // namespace

const Operator kBitwiseNot = {.op_type = "BitwiseNot", .run = BitwiseNot};

}  // namespace qtx::reference::ops
