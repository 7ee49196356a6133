#include <algorithm>
#include <cmath>

#include "ops/recurrent.h"
#include "ops/unary.h"

namespace qtx::reference {
namespace {

const RealFunction& Sigmoid() {
  static const RealFunction function = SigmoidFunction();
  return function;
}
const RealFunction& Tanh() {
  static const RealFunction function = TanhFunction();
  return function;
}

// Whether what the last precision leaves open can only be a tie. An interval that the recurrence
// has widened beyond 64 bits tells nothing.
bool IsNarrow(const Rational& low, const Rational& high) {
  const Rational greatest = std::max(Rational(abs(low)), Rational(abs(high)));
  const auto power = [](unsigned bits) { return Rational(1, mpz_class(1) << bits); };
  return high - low <= std::max(Rational(greatest * power(64)), power(1200));
}

}  // namespace

void FloatMath::AddProduct(Value* sum, Value a, Value b) const {
  *sum = fused ? std::fma(a, b, *sum) : *sum + a * b;
}

FloatMath::Value FloatMath::Apply(Activation activation, Value x) const {
  if (activation == Activation::kRelu) return x < 0 ? 0 : x;
  return NearestFloat(activation == Activation::kSigmoid ? Sigmoid() : Tanh(), x);
}

bool FloatMath::Put(Output* output, std::int64_t element, Value x) const {
  output->PutFloat(element, x);
  return true;
}

EnclosingMath::Value EnclosingMath::Apply(Activation activation, Value x) const {
  switch (activation) {
    case Activation::kSigmoid:
      return Bounded(std::move(x), Sigmoid().enclose, 0, 1);
    case Activation::kTanh:
      return Bounded(std::move(x), Tanh().enclose, -1, 1);
    case Activation::kRelu:
      break;
  }
  return Positive(std::move(x));
}

bool EnclosingMath::Put(Output* output, std::int64_t element, const Value& x) const {
  if (x.kind() == EnclosedReal::Kind::kOpen) return false;
  if (x.kind() == EnclosedReal::Kind::kSpecial) {
    output->PutReal(element, {false, x.special(), {}});
    return true;
  }
  const Rational low = x.interval().low();
  const Rational high = x.interval().high();
  if (!output->PutBetween(element, low, high)) {
    if (bits < kLastBits || !IsNarrow(low, high)) return false;
  }
  output->PutEnclosed(element, [&x](int) { return x.interval(); });
  return true;
}

Result<RecurrentOutputs> RecurrentOutputs::Make(const Call& call) {
  RecurrentOutputs outputs;
  outputs.outputs_.resize(3);
  outputs.done_.resize(3);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (!call.Wants(i)) continue;
    QTX_ASSIGN_OR_RETURN(outputs.outputs_[i], Output::Of(call, i));
    const Output& output = *outputs.outputs_[i];
    outputs.done_[i].resize(static_cast<std::size_t>(format::ElementCount(output.tensor())));
    outputs.domain_ = DomainFor(call.arithmetic, output);
  }
  return outputs;
}

std::vector<format::Tensor> RecurrentOutputs::Take() {
  std::vector<format::Tensor> tensors;
  for (std::optional<Output>& output : outputs_) {
    tensors.push_back(output ? output->Take() : format::Tensor());
  }
  return tensors;
}

}  // namespace qtx::reference
