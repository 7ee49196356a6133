// ArgMax and ArgMin differ in one word.
#pragma once

#include "ops/common.h"

namespace qtx::reference {

enum class Extreme { kGreatest, kLeast };

/// The positions along attribute `axis` of input 0's greatest or least elements, as INT64.
/// Source: arg_max.S1 to arg_max.S4, arg_min.S1 to arg_min.S4.
Result<format::Tensor> RunArg(const Call& call, Extreme extreme);

}  // namespace qtx::reference
