// Texts for RapidJSON's writers. For modules that use RapidJSON; qtx::format itself does not.
#pragma once

#include <rapidjson/rapidjson.h>

#include <string_view>

#include "qtx/format/text.h"

namespace qtx::format {

/// Writes a string or a key, as JsonString has it.
template <typename Writer>
void WriteText(Writer& writer, std::string_view text) {
  const std::string quoted = JsonString(text);
  writer.RawValue(quoted.data(), quoted.size(), rapidjson::kStringType);
}

}  // namespace qtx::format
