#include "ops/bits.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: bit_shift.S1 to bit_shift.S3.
Result<format::Tensor> BitShift(const Call& call) {
  const bool left = call.String("direction") == "LEFT";
  const format::ElementType type = call.inputs[0]->elem_type;
  const bool is_signed = format::StorageRange(type).min < 0;
  const auto width = static_cast<std::uint64_t>(format::BitWidth(type));
  return RunOnBits(call, [=](std::uint64_t a, std::uint64_t b) -> std::uint64_t {
    const bool negative = is_signed && static_cast<std::int64_t>(a) < 0;
    if (b >= width) return negative && !left ? ~std::uint64_t{0} : 0;  // a negative b, too
    if (left) return a << b;
    return negative ? static_cast<std::uint64_t>(static_cast<std::int64_t>(a) >> b) : a >> b;
  });
}

}  // namespace

const Operator kBitShift = {.op_type = "BitShift", .run = BitShift};

}  // namespace qtx::reference::ops
