#include "ops/bits.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: bitwise_or.S1.
Result<format::Tensor> BitwiseOr(const Call& call) {
  return RunOnBits(call, [](std::uint64_t a, std::uint64_t b) { return a | b; });
}

}  // namespace

const Operator kBitwiseOr = {.op_type = "BitwiseOr", .run = BitwiseOr};

}  // namespace qtx::reference::ops
