#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

Error NotInRange(const Call& call, std::size_t input, const std::string& expected) {
  Error error{ErrorCode::kInvalid, InputName(call, input), "expected " + expected};
  error.clause = "range.C3";
  return error;
}

// ceil((limit - start) / delta), which may be negative.
Result<mpz_class> StepsBetween(const Call& call, const Dyadic& start, const Dyadic& limit,
                               const Dyadic& delta) {
  const std::array ends = {start, limit, delta};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].kind != Dyadic::Kind::kFinite) return NotInRange(call, i, "a finite number");
  }
  if (delta.mantissa == 0) return NotInRange(call, 2, "another number than 0");
  const Rational steps = (ToRational(limit) - ToRational(start)) / ToRational(delta);
  return mpz_class(-Round(-steps, TieRule::kDown));
}

// Source: range.S1, range.S2.
Result<format::Tensor> Range(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand start, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand limit, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const Operand delta, OperandAt(call, 2));
  QTX_ASSIGN_OR_RETURN(const mpz_class steps,
                       StepsBetween(call, start.exact(0), limit.exact(0), delta.exact(0)));
  if (!steps.fits_slong_p()) return NotInRange(call, 1, "fewer than 2^63 steps");
  const std::int64_t count = std::max<std::int64_t>(steps.get_si(), 0);
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, {count}));
  const bool in_binary32 = DomainFor(call.arithmetic, output) == Domain::kFloat32;
  const Rational first = ToRational(start.exact(0)), step = ToRational(delta.exact(0));
  for (std::int64_t i = 0; i < count; ++i) {
    if (in_binary32) {
      output.PutFloat(i, start.binary32(0) + static_cast<float>(i) * delta.binary32(0));
    } else {
      output.PutReal(i, {true, 0, first + Rational(static_cast<long>(i)) * step});
    }
  }
  return output.Take();
}

}  // namespace

const Operator kRange = {.op_type = "Range", .run = Range};

}  // namespace qtx::reference::ops
