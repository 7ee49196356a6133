#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Gemm of A, B and C, each with its parameters.  Source: q_gemm.S1 to .S5.
Result<format::Tensor> QGemm(const Call& call) {
  ExtendedCall gemm(call);
  gemm.Add(0, {1, 2});
  gemm.Add(3, {4, 5}, {ParameterShape::Kind::kAxis, call.Int("transB") != 0 ? 0 : 1});
  gemm.AddPlain(6);
  if (call.Input(7) != nullptr) gemm.SetOutput({7, 8});
  return gemm.Run(kGemm.run);
}

}  // namespace

const Operator kQGemm = {.op_type = "QGemm", .domain = kMicrosoft, .run = QGemm};

}  // namespace qtx::reference::ops
