// LOGISTIC and TANH of 8 bits.
#include <mpfr.h>

#include <cmath>

#include "arithmetic/output.h"
#include "arithmetic/tflite_kernels.h"

namespace qtx::reference {
namespace {

using std::int64_t;

// The binary32 nearest to tanh(x): MPFR rounds correctly to as many bits as the result has.
float Tanh32(float x) {
  mpfr_t value;
  mpfr_init2(value, 24);
  mpfr_set_flt(value, x, MPFR_RNDN);
  mpfr_tanh(value, value, MPFR_RNDN);
  const float result = mpfr_get_flt(value, MPFR_RNDN);
  mpfr_clear(value);
  return result;
}

float Logistic32(float x) { return 1.0F / (1.0F + Exp32(-x)); }

template <typename Function>
Result<std::optional<format::Tensor>> PutAll(const Call& call, Function stored_of) {
  QTX_ASSIGN_OR_RETURN(const Operand x, Operand::Make(*call.Input(0)));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Make(call, x.tensor().dims));
  const int64_t count = format::ElementCount(x.tensor());
  for (int64_t i = 0; i < count; ++i) y.PutStored(i, stored_of(x, i, y));
  return std::optional(y.Take());
}

}  // namespace

// Source: LiteRT f674577 kernels/internal/common.h LUTPopulateInt8, kernels/activations.cc
// SigmoidPrepare and TanhPrepare.
Result<std::optional<format::Tensor>> RunTfliteTable(const Call& call) {
  if (!IsStoredUnary(call)) return std::optional<format::Tensor>();
  const bool logistic = call.node.op_type == "Sigmoid";
  return PutAll(call, [logistic](const Operand& x, int64_t i, const Output& y) {
    const float real = x.scale(i) * static_cast<float>(x.integer(i));
    const float value = logistic ? Logistic32(real) : Tanh32(real);
    const float steps = std::round(value * (1.0F / y.scale(i)));
    return static_cast<int64_t>(steps + static_cast<float>(y.offset(i)));
  });
}

}  // namespace qtx::reference
