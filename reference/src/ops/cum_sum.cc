#include "ops/registry.h"
#include "ops/running.h"

namespace qtx::reference::ops {
namespace {

// Puts the running sums of the elements `first`, first + step, ...: `count` of them.
class RunningSum {
 public:
  RunningSum(const Call& call, const Operand& x, Output* output)
      : in_binary32_(DomainFor(call.arithmetic, *output) == Domain::kFloat32),
        exclusive_(call.Int("exclusive") != 0),
        x_(&x),
        output_(output) {}

  void Put(std::int64_t first, std::int64_t step, std::int64_t count) const {
    float sum32 = 0;
    ExactSum sum;
    for (std::int64_t k = 0, at = first; k < count; ++k, at += step) {
      const auto put = [&] {
        in_binary32_ ? output_->PutFloat(at, sum32) : output_->PutReal(at, sum.Value());
      };
      if (exclusive_) put();
      if (in_binary32_) {
        sum32 += x_->binary32(at);
      } else {
        sum.Add(x_->exact(at));
      }
      if (!exclusive_) put();
    }
  }

 private:
  bool in_binary32_;
  bool exclusive_;
  const Operand* x_;
  Output* output_;
};

// Source: cum_sum.S1 to cum_sum.S3.
Result<format::Tensor> CumSum(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const RunningSum sums(call, x, &output);
  ForEachRunningLine(call, [&sums](std::int64_t first, std::int64_t step, std::int64_t count) {
    sums.Put(first, step, count);
  });
  return output.Take();
}

}  // namespace

const Operator kCumSum = {.op_type = "CumSum", .run = CumSum};

}  // namespace qtx::reference::ops
