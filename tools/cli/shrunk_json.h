// A reduced failure in the JSON of `qtx shrink` and `qtx fuzz`.
#pragma once

#include <string>

#include "json.h"
#include "qtx/conformance/shrink.h"

namespace qtx::cli {

/// The member `shrunk`; `folder` is that of the reproducer, empty where none is written.
inline void WriteShrunk(Json& json, const conformance::Shrunk& shrunk, const std::string& folder) {
  json.Key("shrunk");
  json.BeginObject();
  json.Field("nodes", shrunk.nodes);
  json.Field("elements", shrunk.elements);
  json.Field("runs", shrunk.runs);
  json.Field("folder", folder);
  json.EndObject();
}

}  // namespace qtx::cli
