#include "ops/pool.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;

// Index of the greatest real among `sources`; the first NaN, if there is one, as in IEEE 754
// maximum.
std::int64_t Greatest(const Operand& x, const std::vector<std::int64_t>& sources) {
  std::int64_t best = sources[0];
  Dyadic value = x.exact(best);
  for (const std::int64_t source : sources) {
    if (value.kind == Dyadic::Kind::kNan) break;
    const Dyadic candidate = x.exact(source);
    if (candidate.kind == Dyadic::Kind::kNan || Compare(candidate, value) > 0) {
      best = source;
      value = candidate;
    }
  }
  return best;
}

// With one scale the greatest real is the greatest stored value.
std::int64_t GreatestStored(const Operand& x, const std::vector<std::int64_t>& sources) {
  std::int64_t best = sources[0];
  for (const std::int64_t source : sources) {
    if (x.stored(source) > x.stored(best)) best = source;
  }
  return best;
}

// The greatest real of each window; padding never takes part.  Source: max_pool.S1 to max_pool.S4.
Result<format::Tensor> MaxPool(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Window window, PoolWindow(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, PoolDims(call, window)));
  Converter converter(call.arithmetic, x, &output);
  const bool one_scale = x.is_integer() && x.per_tensor();
  PoolWalk walk(call, window);
  while (walk.Next()) {
    if (walk.sources().empty()) {
      return Error{ErrorCode::kInvalid, "attribute 'dilations'", "a window holds no element of x"};
    }
    converter.Put(walk.element(),
                  one_scale ? GreatestStored(x, walk.sources()) : Greatest(x, walk.sources()));
  }
  return output.Take();
}

constexpr AttributeRule kAttributes[] = {
    {"auto_pad", AttributeType::kString}, {"ceil_mode", AttributeType::kInt},
    {"dilations", AttributeType::kInts},  {"kernel_shape", AttributeType::kInts},
    {"pads", AttributeType::kInts},       {"storage_order", AttributeType::kInt},
    {"strides", AttributeType::kInts},
};

}  // namespace

const Operator kMaxPool = {.op_type = "MaxPool",
                           .min_inputs = 1,
                           .max_inputs = 1,
                           .attributes = kAttributes,
                           .check = CheckPoolAttributes,
                           .run = MaxPool};

}  // namespace qtx::reference::ops
