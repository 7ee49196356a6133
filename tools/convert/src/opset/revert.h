// What a move to another opset changed, as a record that takes it back: lowering.S10.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "qtx/format/model.h"

namespace qtx::convert {

/// The record of what `original` had and `moved`, which ToOpset made of it, has not; nullopt where
/// their graphs are equal.  Errors: kTooLarge.
Result<std::optional<std::string>> OpsetRecord(const format::Model& original,
                                               const format::Model& moved);

/// The model that the record was made of, if `moved` is what ToOpset makes of it and it keeps the
/// rules of the format. `moved` has the imports that the original had.
/// Errors: kInvalid, saying what does not agree.
Result<format::Model> FromOpsetRecord(const format::Model& moved, std::string_view record,
                                      std::int64_t opset);

}  // namespace qtx::convert
