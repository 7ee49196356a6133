// The JSON in the metadata of models and journals.
#pragma once

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>

#include "qtx/format/json.h"
#include "qtx/format/json_reader.h"

namespace qtx::calibrate {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

using format::JsonFields;
using format::WriteText;

inline constexpr format::JsonBounds kJsonBounds = {.depth = 8, .values = std::int64_t{1} << 24};

}  // namespace qtx::calibrate
