#include "json_document.h"

#include <rapidjson/error/en.h>

#include <algorithm>
#include <set>
#include <string>

#include "bounds.h"
#include "errors.h"

namespace qtx::convert {

Result<void> ParseObject(std::string_view text, rapidjson::Document& document) {
  QTX_RETURN_IF_ERROR(CheckTextSize(text));
  QTX_RETURN_IF_ERROR(format::CheckJsonBounds(text, kJsonBounds));
  // Iterative: nesting does not use the stack.
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag |
                 rapidjson::kParseNanAndInfFlag | rapidjson::kParseValidateEncodingFlag>(
      text.data(), text.size());
  if (document.HasParseError()) {
    return Invalid(
        format::PlaceIn(text, document.GetErrorOffset()),
        std::string("found no JSON: ") + rapidjson::GetParseError_En(document.GetParseError()));
  }
  if (!document.IsObject()) return Invalid("found no object, expected an object");
  return {};
}

Result<void> CheckMembers(const rapidjson::Value& object,
                          std::initializer_list<std::string_view> known) {
  std::set<std::string_view> seen;
  for (const auto& member : object.GetObject()) {
    const std::string_view key(member.name.GetString(), member.name.GetStringLength());
    if (std::ranges::find(known, key) == known.end()) {
      std::string names;
      for (const std::string_view name : known)
        names.append(names.empty() ? "" : ", ").append(name);
      return Invalid("found unknown key '" + std::string(key.substr(0, 80)) +
                     "', expected one of " + names);
    }
    if (!seen.insert(key).second)
      return Invalid("found key '" + std::string(key) + "' twice, expected it once");
  }
  return {};
}

}  // namespace qtx::convert
