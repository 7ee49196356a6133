// Cast between all types of numbers.  Source: spec/ops/cast.md.
#include "engine/ops/cast.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "engine/ops/elementwise.h"
#include "engine/ops/operators.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;

// The number that FLOAT8E8M0 stores for x >= 2^-127, by the way it is rounded.
Number PowerOfTwoNear(const Number& x, const std::string& mode) {
  const mpq_class& value = x.value();
  long exponent = static_cast<long>(mpz_sizeinbase(value.get_num_mpz_t(), 2)) -
                  static_cast<long>(mpz_sizeinbase(value.get_den_mpz_t(), 2));
  if (PowerOfTwo(exponent) > value) --exponent;
  const mpq_class below = PowerOfTwo(exponent);
  if (value == below) return below;
  const bool up = mode == "up" || (mode == "nearest" && value * 2 >= below * 3);
  return up ? mpq_class(below * 2) : below;
}

Number ToScale(const Number& x, const SmallFloatRules& rules) {
  if (x.nan() || x.Sign() < 0) return Number::Nan();
  const mpq_class least = PowerOfTwo(-127);
  const mpq_class greatest = PowerOfTwo(127);
  const bool above = !x.finite() || x.value() > greatest;
  if (above || x.value() < least) {
    if (!rules.saturates) return Number::Nan();
    return above ? greatest : least;
  }
  return PowerOfTwoNear(x, rules.round_mode);
}

}  // namespace

std::uint32_t SmallFloatCode(const Number& x, ElementType type, const SmallFloatRules& rules) {
  if (type == ElementType::kFloat8E8M0) {
    const Number scale = ToScale(x, rules);
    const double value =
        scale.nan() ? std::numeric_limits<double>::quiet_NaN() : scale.value().get_d();
    return format::EncodeSmallFloat(type, value);
  }
  double value = x.Sign() * std::numeric_limits<double>::infinity();
  if (x.nan()) value = std::numeric_limits<double>::quiet_NaN();
  if (x.finite()) value = RoundToOdd(x.value());
  const std::uint32_t code = format::EncodeSmallFloat(type, value);
  if (x.nan() || rules.saturates || type == ElementType::kFloat4E2M1) return code;
  // Beyond half a step past the largest finite value it is not that value any more; at the half it
  // goes to the even code, which is the one beyond when the largest is odd.
  const std::uint32_t largest =
      format::EncodeSmallFloat(type, std::numeric_limits<double>::infinity());
  const double top = format::DecodeSmallFloat(type, largest);
  const double half = (top - format::DecodeSmallFloat(type, largest - 1)) / 2;
  const double past = std::fabs(value) - (top + half);
  if (past < 0 || (past == 0 && largest % 2 == 0)) return code;
  if (type != ElementType::kFloat8E5M2) {
    return format::EncodeSmallFloat(type, std::numeric_limits<double>::quiet_NaN());
  }
  return value < 0 ? 0xFC : 0x7C;
}

bool HasSmallFloatCodes(ElementType type) {
  return !format::IsQuantized(type) &&
         (format::IsSmallFloat(type) || type == ElementType::kFloat8E8M0);
}

StepResult PrepareGeneralCast(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(x->tensor.dims));
  const ElementType to = y->tensor.elem_type;
  const SmallFloatRules rules{node.Int("saturate") == 1, node.String("round_mode")};
  for (const Value* value : {x, static_cast<const Value*>(y)}) {
    QTX_RETURN_IF_ERROR(
        CheckTypes(node, std::span(&value, 1), std::span<const Value* const>(), Plain::kAny));
  }
  if (HasSmallFloatCodes(to)) {
    return MakeCoding({x}, y, [to, rules](std::span<const Number> o) -> std::uint64_t {
      return SmallFloatCode(o[0], to, rules);
    });
  }
  return MakeElementwise({x}, y, [](std::span<const Number> o) -> Real { return o[0]; });
}

}  // namespace qtx::backend::engine
