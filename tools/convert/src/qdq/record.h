// The imports of the model that a lowered one came from, in its metadata_props: lowering.S5.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::convert {

/// Key in metadata_props; the value is "<lowered opset>:<domain>=<version>,...".
inline constexpr std::string_view kImportsKey = "qtx.imports";

std::string ImportsText(std::int64_t lowered, const std::vector<format::OpsetImport>& imports);
/// The imports recorded, if the model still has the opset it was lowered to.
std::optional<std::vector<format::OpsetImport>> ImportsIn(const format::Model& model);

}  // namespace qtx::convert
