// One result of a matrix product or a convolution: a sum of products, and its conversion to the
// output's type.
#pragma once

#include <optional>
#include <vector>

#include "values.h"

namespace qtx::backend::faulty {

/// The elements of x and w that one result multiplies, in the order of the sum; x -1 is padding.
struct Pair {
  std::int64_t x = -1;
  std::int64_t w = 0;
};

struct Factors {
  const Values* x = nullptr;
  const Values* w = nullptr;
  const Values* bias = nullptr;   // a plain INT32 one is in units of the accumulator
  std::int64_t channel_axis = 0;  // of w
  std::int64_t spatial = 1;       // kernel positions: a channel's pairs lie together
  float alpha = 1;
  float beta = 1;
};

/// Products are added as integers.  Source: float32.S4; `exact` gives the same either way.
bool AddsIntegers(const Factors& factors);
/// Of at most 16 bits, which Dot takes.
bool HasIntegerAccumulator(const Factors& factors);

/// Sum of (x - x_offset) * (w - w_offset).
std::int64_t Dot(const Call& call, const Factors& factors, const std::vector<Pair>& pairs);

/// The same over reals, times alpha, plus beta times the bias.
template <class N>
N RealDot(const Factors& factors, const std::vector<Pair>& pairs, std::optional<std::size_t> bias);

/// Brings accumulators of one node to its output.
template <class N>
class Requantizer {
 public:
  Requantizer(const Call& call, const Factors& factors, Writer<N>& writer)
      : call_(call), factors_(factors), writer_(writer) {}
  /// `w` is any weight of the result's channel.
  void Put(std::size_t element, std::int64_t accumulator, std::size_t w,
           std::optional<std::size_t> bias);

 private:
  Exact BiasInUnits(float scales, std::size_t bias) const;
  void PutTwice(std::size_t element, std::int64_t accumulator, const mpq_class& multiplier);

  const Call& call_;
  const Factors& factors_;
  Writer<N>& writer_;
};

}  // namespace qtx::backend::faulty
