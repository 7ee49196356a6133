// JSON for programs: keys in the order written, scales as hex floats. Each document has a schema,
// schema/NAME.schema.json, and begins with its provenance.
#pragma once

#include <string>
#include <string_view>

#include "provenance.h"
#include "qtx/format/json_writer.h"

namespace qtx::cli {

/// Member `judge` of outputs whose answers only the reference was asked for.
inline constexpr std::string_view kJudge = "reference";

class Json : public format::JsonWriter {
 public:
  explicit Json(std::string_view schema) : schema_(schema) {}
  /// The document.  REQUIRES: one object with at least one member was written.
  std::string Text() const { return MakeDocument(schema_, JsonWriter::Text()) + "\n"; }

 private:
  std::string_view schema_;
};

}  // namespace qtx::cli
