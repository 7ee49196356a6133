// Parameters that are products of factors, from fine to coarse, and code books.
// Source: spec/format/quantization.md, quantization.C13 to C19, C21, S6, S7 and S9.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/levels.h"

namespace qtx::format {

/// The clause that a type's parameters break, and where: "scale_levels[1].value".
struct LevelFault {
  std::string rule;
  std::string field;
  std::string message;
};

/// Multiplies the levels of `q`, a copy of `type`'s whose other parameters are inline: scale_levels
/// become `scale`, base_levels one inline level with a value for each parameter. Each value is the
/// exact product of its factors, rounded once to a binary32, ties to even. Factors that the records
/// of an encoding have are those of initializer `name`.
/// `positive`: as no initializer may have factors of 0 or below in its scale (quantization.C16).
std::optional<LevelFault> MultiplyLevels(const ModelView& view, const TensorType& type,
                                         std::string_view name, Quantization* q,
                                         bool positive = false);

/// The levels of `type`, each parameter as two factors (qtx/format/levels.h). REQUIRES: `q` has all
/// other parameters inline.
std::optional<LevelFault> SplitLevels(const ModelView& view, const TensorType& type,
                                      std::string_view name, const Quantization& q,
                                      Factors* factors);

/// quantization.C18 and C21 of inline parameters: every real is a binary64.
std::optional<LevelFault> CheckBases(ElementType storage, const Quantization& q);

/// quantization.C19 of a type whose parameters in initializers `resolved` has inline.
std::optional<LevelFault> CheckCodeBook(ElementType storage, const Quantization& declared,
                                        const Quantization& resolved);

}  // namespace qtx::format
