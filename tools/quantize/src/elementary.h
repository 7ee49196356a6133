// Portable logarithm and power, from correctly rounded operations only, so that searches do not
// depend on the C library.
#pragma once

namespace qtx::quantize {

/// log2(x) within 2^-49 relative or absolute, whichever is larger.  REQUIRES: x > 0, finite.
double Log2(double x);
/// x^p within 2^-44 relative.  REQUIRES: x >= 0 and p > 0, both finite; x^p in the normal range.
double Power(double x, double p);

}  // namespace qtx::quantize
