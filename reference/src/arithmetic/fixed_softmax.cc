#include "arithmetic/fixed_softmax.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "arithmetic/kernel_types.h"
#include "arithmetic/round.h"

namespace qtx::reference {
namespace {

using std::int64_t;

constexpr int64_t kNearlyOne = (int64_t{1} << 31) - 1;  // in units of 2^-31
constexpr int kInputBits = 26;                          // fractional bits of an exponent
constexpr int kSumBits = 19;                            // fractional bits of the sum

int64_t Saturated(int64_t value) {
  using Limits = std::numeric_limits<std::int32_t>;
  return std::clamp<int64_t>(value, Limits::min(), Limits::max());
}

// The high half of the doubled product: high of tflite.S3.
int64_t High(int64_t a, int64_t b) {
  const int64_t product = a * b;
  const int64_t nudge = product >= 0 ? int64_t{1} << 30 : 1 - (int64_t{1} << 30);
  return Saturated((product + nudge) / (int64_t{1} << 31));
}

int64_t Halved(int64_t value, int times) { return RoundShift(value, times, TieRule::kHalfAway); }

// exp(a) in units of 2^-31, of a <= 0 in units of 2^-26.
int64_t Exponential(int64_t a) {
  // exp(-2^j), j from -2 to 4.
  constexpr std::array<int64_t, 7> kFactors = {1672461947, 1302514674, 790015084, 290630308,
                                               39332535,   720401,     242};
  constexpr int64_t kQuarter = int64_t{1} << 24, kEighth = int64_t{1} << 28;
  constexpr int64_t kThird = 715827883, kAtEighth = 1895147668;  // 1/3, exp(-1/8)
  if (a == 0) return kNearlyOne;
  const int64_t rest = (a & (kQuarter - 1)) - kQuarter;  // of [-1/4, 0)
  const int64_t x = Saturated(rest * 32) + kEighth;
  const int64_t square = High(x, x);
  const int64_t cubes = Halved(High(square, square), 2) + High(square, x);
  int64_t result = kAtEighth + High(kAtEighth, x + Halved(High(cubes, kThird) + square, 1));
  for (std::size_t j = 0; j < kFactors.size(); ++j) {
    if (((rest - a) >> (24 + j)) % 2 != 0) result = High(result, kFactors[j]);
  }
  return result;
}

}  // namespace

// Three steps of Newton's method.
int64_t FixedReciprocal(int64_t half) {
  constexpr int64_t kUnit29 = int64_t{1} << 29;
  int64_t v = 1515870810 + High(half, -1010580540);  // 48/17 - 32/17 * half, in units of 2^-29
  for (int step = 0; step < 3; ++step) v += Saturated(4 * High(v, kUnit29 - High(half, v)));
  return Saturated(2 * v);
}

bool HasFixedSoftmax(const Operand& input, std::size_t length, const Output& output) {
  constexpr std::size_t kMost = 4095;  // whose sum has 31 bits
  if (length > kMost || !HasSoftmaxKernel(input.tensor(), output.tensor())) return false;
  const bool is_signed = output.tensor().elem_type == format::ElementType::kInt8Q;
  return output.scale(0) == 0x1p-8F && output.offset(0) == (is_signed ? -128 : 0) &&
         input.scale(0) > 0x1p-26F;
}

void PutFixedSoftmaxRow(const Operand& input, std::span<const int64_t> row, Output* output) {
  const double steps = static_cast<double>(input.scale(0)) * 0x1p26;
  const FixedMultiplier factor = ToFixed(std::min(steps, 0x1p31 - 1));
  const auto least = -static_cast<int64_t>(std::ldexp(31.0, kInputBits - factor.shift));
  int64_t max = std::numeric_limits<int64_t>::min();
  for (const int64_t i : row) max = std::max<int64_t>(max, input.stored(i));
  std::vector<int64_t> exponentials;
  int64_t sum = 0;
  for (const int64_t i : row) {
    const int64_t below = input.stored(i) - max;
    const int64_t shifted = below * (int64_t{1} << factor.shift);
    exponentials.push_back(below < least ? 0 : Exponential(High(shifted, factor.mantissa)));
    sum += Halved(exponentials.back(), 31 - kSumBits);
  }
  const int zeros = std::countl_zero(static_cast<std::uint32_t>(sum));
  const int64_t reciprocal = FixedReciprocal(sum << (zeros - 1));
  for (std::size_t k = 0; k < row.size(); ++k) {
    const int64_t share = Halved(High(reciprocal, exponentials[k]), 35 - zeros);
    output->PutStored(row[k], share + output->offset(row[k]));
  }
}

}  // namespace qtx::reference
