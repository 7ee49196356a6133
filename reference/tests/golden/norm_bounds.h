// Units of u for the normalisations: s (x - m) / sqrt(v + epsilon) + b over groups of n elements.
//
// BatchNormalization is given m and v: the product s (x - m) / sqrt(v + epsilon) has the roundings
// of a difference, a sum, a root (half of what is below it, and its own), a product and a quotient,
// at most 6 u of itself with second-order terms; it is at most |y| + |b|.
//
// The others sum n elements for m, off by dm <= (n + 1) u A where A is the group's mean magnitude,
// and n squares for v. Since the exact differences sum to 0, dm changes v by dm^2 alone: v is off
// by (n + 3) u of itself, its root by half of that. So y is off by |s| dm / sqrt(v + epsilon), and
// by ((n + 3) / 2 + 7) u of |y| + |b|. RMSNormalization has no m.
#pragma once

#include "tests/golden/bounds.h"

namespace qtx::reference::golden {

double BatchNormUnits(const NodeRun& run);     // absolute
double LayerNormRelative(const NodeRun& run);  // also of InvStdDev
double LayerNormUnits(const NodeRun& run);     // absolute, also of Mean
double InstanceNormRelative(const NodeRun& run);
double InstanceNormUnits(const NodeRun& run);
double GroupNormRelative(const NodeRun& run);
double GroupNormUnits(const NodeRun& run);
double RmsNormRelative(const NodeRun& run);

}  // namespace qtx::reference::golden
