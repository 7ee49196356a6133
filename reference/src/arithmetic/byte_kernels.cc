#include "arithmetic/byte_kernels.h"

#include <algorithm>
#include <cmath>

#include "arithmetic/kernel_types.h"
#include "arithmetic/round.h"

namespace qtx::reference {
namespace {

using format::Dims;

// onnxruntime.S1: the last axis that both have and that is longer than 1 in the result decides.
bool BeginsWithA(const Dims& a, const Dims& b) {
  if (a.empty() || b.empty()) return BeginsWithA(a.empty() ? Dims{1} : a, b.empty() ? Dims{1} : b);
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 1; i <= common; ++i) {
    const std::int64_t size = a[a.size() - i];
    if (size != 1 || b[b.size() - i] != 1) return size == 1;
  }
  return true;
}

}  // namespace

bool HasByteKernel(const Arithmetic& arithmetic, std::initializer_list<const Operand*> inputs,
                   const Output& output) {
  if (arithmetic.kernels != Arithmetic::Kernels::kOnnxRuntime) return false;
  const format::Tensor& y = output.tensor();
  return Is8Bit(y) && HasOneScale(y) && std::ranges::all_of(inputs, [&y](const Operand* x) {
           return x->tensor().elem_type == y.elem_type && HasOneScale(x->tensor());
         });
}

std::int64_t ConvertedByte(float shifted, const Output& output) {
  if (!(shifted >= -0x1p31F && shifted < 0x1p31F)) return output.min();
  const auto rounded = static_cast<std::int64_t>(RoundFloat(shifted, TieRule::kHalfEven));
  return std::clamp(rounded, output.min(), output.max());
}

ByteCombiner::ByteCombiner(Kind kind, const Operand& a, const Operand& b, const Output& output)
    : kind_(kind),
      a_first_(BeginsWithA(a.tensor().dims, b.tensor().dims)),
      offset_(static_cast<float>(output.offset(0))) {
  const auto offset = [](const Operand& x) {
    return format::OffsetAt(*x.tensor().quantization, 0);
  };
  a_ = {a.scale(0) / output.scale(0), offset(a)};
  b_ = {b.scale(0) / output.scale(0), offset(b)};
  factor_ = a.scale(0) * b.scale(0) / output.scale(0);
  const Side& first = a_first_ ? a_ : b_;
  const Side& second = a_first_ ? b_ : a_;
  const float offsets = std::fma(second.ratio, static_cast<float>(second.offset),
                                 first.ratio * static_cast<float>(first.offset));
  constant_ = offset_ - offsets;
}

float ByteCombiner::Shifted(std::int32_t a, std::int32_t b) const {
  if (kind_ == Kind::kProduct) {
    return static_cast<float>((a - a_.offset) * (b - b_.offset)) * factor_ + offset_;
  }
  const auto x = static_cast<float>(a);
  const auto y = static_cast<float>(b);
  if (a_first_) return std::fma(y, b_.ratio, std::fma(x, a_.ratio, constant_));
  return std::fma(x, a_.ratio, std::fma(y, b_.ratio, constant_));
}

}  // namespace qtx::reference
