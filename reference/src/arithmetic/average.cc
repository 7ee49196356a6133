#include "arithmetic/average.h"

#include "arithmetic/kernel_types.h"
#include "arithmetic/round.h"

namespace qtx::reference {
Averager::Averager(const Arithmetic& arithmetic, const Operand& input, Output* output,
                   Kernel kernel)
    : domain_(DomainFor(arithmetic, *output)),
      tie_(arithmetic.average.tie),
      input_(&input),
      output_(output),
      same_type_(kernel == Kernel::kPool &&
                 HasAverageKernel(arithmetic, input.tensor(), output->tensor())) {}

void Averager::PutStoredMean(std::int64_t element, std::span<const std::int64_t> sources) {
  std::int64_t sum = 0;
  for (const std::int64_t source : sources) sum += input_->stored(source);
  output_->PutStored(element, RoundQuotient(sum, static_cast<std::int64_t>(sources.size()), tie_));
}

void Averager::PutIntegerMean(std::int64_t element, std::span<const std::int64_t> sources,
                              std::int64_t count) {
  Term sum{0, static_cast<double>(input_->scale(0))};
  for (const std::int64_t source : sources) sum.integer += input_->integer(source);
  output_->PutTerms(element, {&sum, 1}, count);
}

void Averager::PutExactMean(std::int64_t element, std::span<const std::int64_t> sources,
                            std::int64_t count) {
  ExactSum sum;
  for (const std::int64_t source : sources) sum.Add(input_->exact(source));
  Real mean = sum.Value();
  if (mean.finite) mean.value /= Rational(static_cast<long>(count));
  output_->PutReal(element, mean);
}

void Averager::PutFloatMean(std::int64_t element, std::span<const std::int64_t> sources,
                            std::int64_t count) {
  float sum = 0;
  for (const std::int64_t source : sources) sum += input_->binary32(source);
  output_->PutFloat(element, sum / static_cast<float>(count));
}

void Averager::Put(std::int64_t element, std::span<const std::int64_t> sources,
                   std::int64_t count) {
  constexpr std::int64_t kMaxDivisor = std::int64_t{1} << 29;  // of the certified quotient
  if (domain_ == Domain::kFloat32) return PutFloatMean(element, sources, count);
  const bool unpadded = count == static_cast<std::int64_t>(sources.size());
  if (domain_ == Domain::kStored && same_type_ && unpadded) return PutStoredMean(element, sources);
  if (input_->is_integer() && input_->per_tensor() && count < kMaxDivisor) {
    return PutIntegerMean(element, sources, count);
  }
  PutExactMean(element, sources, count);
}

}  // namespace qtx::reference
