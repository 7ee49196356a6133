// A reduced failure in the output of `qtx shrink` and `qtx fuzz`.
#pragma once

#include <string>

#include "json.h"
#include "qtx/conformance/shrink.h"
#include "qtx/format/print.h"

namespace qtx::cli {

/// The member `shrunk`; `folder` is that of the reproducer, empty where none is written.
inline void WriteShrunk(Json& json, const conformance::Shrunk& shrunk, const std::string& folder) {
  json.Key("shrunk");
  json.BeginObject();
  json.Field("nodes", shrunk.nodes);
  json.Field("elements", shrunk.elements);
  json.Field("runs", shrunk.runs);
  json.Field("form", shrunk.place.form);
  json.Field("place", shrunk.place.says);
  json.Field("candidate", shrunk.candidate);
  json.Field("cause", shrunk.cause);
  json.Field("folder", folder);
  json.EndObject();
}

/// Where it is wrong and why, each on a line after `indent`.
inline format::Printable Explanation(const conformance::Shrunk& shrunk, const char* indent) {
  constexpr std::size_t kMaxText = 900;  // characters
  format::Printable text = format::Format("{}smallest form: {}\n", indent,
                                          format::Printable(shrunk.place.form, kMaxText));
  if (!shrunk.place.says.empty()) {
    text += format::Format("{}place: {}\n", indent,
                           format::Printable(shrunk.place.says, kMaxText));
  }
  const std::string cause = shrunk.cause.empty() ? "unknown" : shrunk.cause;
  text += format::Format("{}cause: {}\n", indent, format::Printable(cause, kMaxText));
  return text;
}

}  // namespace qtx::cli
