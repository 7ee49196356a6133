// Codes of the plain types float8, FLOAT4E2M1 and FLOAT8E8M0, which have their own rounding rules.
#pragma once

#include <cstdint>
#include <string>

#include "engine/number.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// Attributes saturate and round_mode.
struct SmallFloatRules {
  bool saturates = true;
  std::string round_mode = "up";
};
/// True for these types.
bool HasSmallFloatCodes(format::ElementType type);

/// The code to which x rounds: cast.S9, cast.S10.  REQUIRES: HasSmallFloatCodes(type).
std::uint32_t SmallFloatCode(const Number& x, format::ElementType type,
                             const SmallFloatRules& rules);

}  // namespace qtx::backend::engine
