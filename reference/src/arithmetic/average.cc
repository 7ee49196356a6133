#include "arithmetic/average.h"

#include <functional>
#include <numeric>

#include "arithmetic/byte_kernels.h"
#include "arithmetic/kernel_types.h"
#include "arithmetic/round.h"

namespace qtx::reference {
Averager::Averager(const Arithmetic& arithmetic, const Operand& input, Output* output,
                   Kernel kernel)
    : domain_(DomainFor(arithmetic, *output)),
      kernel_(kernel),
      tie_(arithmetic.average.tie),
      input_(&input),
      output_(output),
      same_type_(kernel != Kernel::kNone && kernel != Kernel::kPaddedPool &&
                 HasAverageKernel(arithmetic, input.tensor(), output->tensor())),
      is_bytes_(kernel != Kernel::kNone && HasByteKernel(arithmetic, {&input}, *output)) {
  if (is_bytes_ && kernel_ == Kernel::kGlobalPool) MakeFactor();
}

Averager::Averager(const Call& call, const Operand& input, Output* output, Kernel kernel,
                   StoredSum::Kind kind, std::int64_t count)
    : Averager(call.arithmetic, input, output, kernel) {
  if (count > 0) stored_sum_ = StoredSum::Make(call, kind, input, *output, count);
}

// onnxruntime.S4. A factor that is refused is refused whatever the sizes (onnxruntime.C1).
void Averager::MakeFactor() {
  constexpr std::int64_t kMaxCount = std::int64_t{1} << 24;
  const format::Dims& dims = input_->tensor().dims;
  const std::int64_t count =
      std::accumulate(dims.begin() + 2, dims.end(), std::int64_t{1}, std::multiplies<>());
  factor_ = input_->scale(0) / (output_->scale(0) * static_cast<float>(count));
  if (count >= kMaxCount || !(factor_ >= 0x1p-32F && factor_ < 0x1p8F))
    output_->Refuse("onnxruntime.C1");
}

void Averager::PutStoredMean(std::int64_t element, std::span<const std::int64_t> sources) {
  std::int64_t sum = 0;
  for (const std::int64_t source : sources) sum += input_->stored(source);
  const std::int64_t stored =
      stored_sum_ ? stored_sum_->StoredOf(element, sum)
                  : RoundQuotient(sum, static_cast<std::int64_t>(sources.size()), tie_);
  output_->PutStored(element, stored);
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
  const float mean = sum / static_cast<float>(count);
  if (!is_bytes_) return output_->PutFloat(element, mean);
  const auto offset = static_cast<float>(output_->offset(element));
  output_->PutStored(element, ConvertedByte(mean / output_->scale(element) + offset, *output_));
}

// onnxruntime.S4.
void Averager::PutScaledSum(std::int64_t element, std::span<const std::int64_t> sources) {
  std::int64_t sum = 0;
  for (const std::int64_t source : sources) sum += input_->integer(source);
  const auto held = static_cast<float>(Accumulated(sum, RequantizeRecipe::Accumulator::kWrap32));
  output_->PutStored(element, QuantizedQuotient(held * factor_, output_->offset(element),
                                                QuantizeRecipe{}, output_->min(), output_->max()));
}

void Averager::Put(std::int64_t element, std::span<const std::int64_t> sources,
                   std::int64_t count) {
  constexpr std::int64_t kMaxDivisor = std::int64_t{1} << 29;  // of the certified quotient
  if (stored_sum_) return PutStoredMean(element, sources);
  if (is_bytes_ && kernel_ == Kernel::kGlobalPool) return PutScaledSum(element, sources);
  if (domain_ == Domain::kFloat32) return PutFloatMean(element, sources, count);
  if (domain_ == Domain::kStored && same_type_) return PutStoredMean(element, sources);
  if (input_->is_integer() && input_->per_tensor() && count < kMaxDivisor) {
    return PutIntegerMean(element, sources, count);
  }
  PutExactMean(element, sources, count);
}

}  // namespace qtx::reference
