// Codes of plain float8, FLOAT4E2M1 and FLOAT8E8M0, whose rounding has rules of its own.
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
/// True for the types these rules are about.
bool HasSmallFloatCodes(format::ElementType type);

/// The code x is rounded to: cast.S9, cast.S10.  REQUIRES: HasSmallFloatCodes(type).
std::uint32_t SmallFloatCode(const Number& x, format::ElementType type,
                             const SmallFloatRules& rules);

}  // namespace qtx::backend::engine
