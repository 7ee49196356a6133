#include <cmath>
#include <limits>

#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// a - floor(a / b) * b, or with `truncates` a - trunc(a / b) * b.  Source: mod.S1, mod.S3.
Real Remainder(const Dyadic& a, const Dyadic& b, bool truncates) {
  const bool finite = a.kind == Dyadic::Kind::kFinite;
  const bool divides =
      b.kind != Dyadic::Kind::kNan && (b.kind == Dyadic::Kind::kInfinite || b.mantissa != 0);
  if (!finite || !divides) return {false, std::numeric_limits<double>::quiet_NaN(), {}};
  if (b.kind == Dyadic::Kind::kInfinite) {
    const bool same = a.mantissa == 0 || (a.mantissa < 0) == (b.mantissa < 0);
    return ToReal(truncates || same ? a : b);
  }
  const Rational dividend = ToRational(a);
  const Rational divisor = ToRational(b);
  const Rational quotient = dividend / divisor;
  const mpz_class whole = Round(quotient, truncates ? TieRule::kTowardZero : TieRule::kDown);
  return {true, 0, dividend - whole * divisor};
}

// The binary32 nearest to the same of two binary32: std::fmod is exact.  Source: mod.S4.
float Remainder32(float a, float b, bool truncates) {
  const float remainder = std::fmod(a, b);
  const bool moves = !truncates && remainder != 0 && std::signbit(remainder) != std::signbit(b);
  return moves ? remainder + b : remainder;
}

// Source: mod.S1 to mod.S4.
Result<format::Tensor> Mod(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand a, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand b, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const bool truncates = call.Int("fmod") != 0;
  const bool in_binary32 = DomainFor(call.arithmetic, output) == Domain::kFloat32;
  const format::Dims& dims = output.tensor().dims;
  const std::vector<std::int64_t> ia = BroadcastIndices(a.tensor().dims, dims);
  const std::vector<std::int64_t> ib = BroadcastIndices(b.tensor().dims, dims);
  for (std::size_t i = 0; i < ia.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    if (in_binary32) {
      output.PutFloat(element, Remainder32(a.binary32(ia[i]), b.binary32(ib[i]), truncates));
    } else {
      output.PutReal(element, Remainder(a.exact(ia[i]), b.exact(ib[i]), truncates));
    }
  }
  return output.Take();
}

}  // namespace

const Operator kMod = {.op_type = "Mod", .run = Mod};

}  // namespace qtx::reference::ops
