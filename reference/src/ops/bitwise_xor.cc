#include "ops/bits.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: bitwise_xor.S1.
Result<format::Tensor> BitwiseXor(const Call& call) {
  return RunOnBits(call, [](std::uint64_t a, std::uint64_t b) { return a ^ b; });
}

}  // namespace

const Operator kBitwiseXor = {.op_type = "BitwiseXor", .run = BitwiseXor};

}  // namespace qtx::reference::ops
