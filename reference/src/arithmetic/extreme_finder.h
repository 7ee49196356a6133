// The greatest or least of elements by their exact reals.  Source: exact.S2, max_pool.S1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "arithmetic/elementwise.h"
#include "operand.h"

namespace qtx::reference {

/// The end of the order that is looked for.
enum class End { kLeast, kGreatest };

/// True when `a` comes before `b` at that end; a NaN comes before every number (IEEE 754 maximum
/// and minimum), the first of several first.
bool Precedes(End end, const Dyadic& a, const Dyadic& b);

/// Borrows its operand.
class ExtremeFinder {
 public:
  ExtremeFinder(End end, const Operand& x)
      : end_(end), x_(&x), one_scale_(x.per_tensor() && (x.is_integer() || x.is_wide())) {}
  /// The first of `sources` that none of the others precedes.  REQUIRES: there is one.
  std::int64_t At(std::span<const std::int64_t> sources) const;

 private:
  End end_;
  const Operand* x_;
  bool one_scale_;  // the integers are in the order of the reals
};

/// Puts the extreme of one element of each operand. Borrows the operands and the output.
class ExtremeAcross {
 public:
  ExtremeAcross(End end, const Arithmetic& arithmetic, std::span<const Operand> operands,
                Output* output);
  /// `indices`: of the element of each operand.
  void Put(std::int64_t element, std::span<const std::int64_t> indices);

 private:
  End end_;
  std::span<const Operand> operands_;
  std::vector<Converter> converters_;
};

}  // namespace qtx::reference
