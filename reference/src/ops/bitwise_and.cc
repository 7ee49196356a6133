#include "ops/bits.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: bitwise_and.S1.
Result<format::Tensor> BitwiseAnd(const Call& call) {
  return RunOnBits(call, [](std::uint64_t a, std::uint64_t b) { return a & b; });
}

}  // namespace

const Operator kBitwiseAnd = {.op_type = "BitwiseAnd", .run = BitwiseAnd};

}  // namespace qtx::reference::ops
