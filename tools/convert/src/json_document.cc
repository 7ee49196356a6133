#include "json_document.h"

#include "bounds.h"
#include "errors.h"

namespace qtx::convert {

Result<void> ParseObject(std::string_view text, rapidjson::Document& document) {
  QTX_RETURN_IF_ERROR(CheckTextSize(text));
  QTX_RETURN_IF_ERROR(format::ParseJson(text, kJsonBounds, document, /*python_floats=*/true));
  if (!document.IsObject()) return Invalid("found no object, expected an object");
  return {};
}

}  // namespace qtx::convert
