// Powers of elements, rounded by the arithmetic.  Source: pow.S1 to pow.S5, exact.S6.
#pragma once

#include <cstdint>
#include <optional>

#include "arithmetic/output.h"
#include "interval.h"
#include "operand.h"

namespace qtx::reference {

/// x^y: exactly where that is a number of bounded size, otherwise enclosed.
struct Power {
  std::optional<Real> exact;
  Enclosure enclose;  // when not exact: of a number that is no tie of any element type
};
Power PowerOf(const Dyadic& x, const Dyadic& y);
/// The same of any rational x.  REQUIRES: y is finite.
Power PowerOf(const Rational& x, const Dyadic& y);
/// The binary32 nearest to x^y.
float NearestPower(float x, float y);

/// Puts x[ix]^y[iy]. Borrows its operands and the output.
class PowerPutter {
 public:
  PowerPutter(const Arithmetic& arithmetic, const Operand& x, const Operand& y, Output* output);
  void Put(std::int64_t element, std::int64_t ix, std::int64_t iy);

 private:
  void PutExact(std::int64_t element, const Dyadic& x, const Dyadic& y);
  bool PutModular(std::int64_t element, std::int64_t ix, const Dyadic& y);

  Domain domain_;
  const Operand* x_;
  const Operand* y_;
  Output* output_;
  bool integers_;  // plain ones, of x and the output
};

}  // namespace qtx::reference
