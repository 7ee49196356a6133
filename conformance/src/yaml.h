// YAML as a plain tree, bounded: the only interface to yaml-cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::conformance {

/// A scalar keeps its text; its reader interprets it.
struct Yaml {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;     // of a scalar
  bool quoted = false;  // of a scalar: "1.0" is a string, 1.0 a number
  int line = 1;
  std::vector<std::string> keys;  // of a map, parallel to items
  std::vector<Yaml> items;        // of a list or map

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }
  /// nullptr if this is not a map or lacks the key.
  const Yaml* Find(std::string_view key) const;
};

/// "a list", for error messages.
std::string_view KindName(Yaml::Kind kind);

/// Parses the documents of `text` and skips empty ones. `first_line` is the line of the file at
/// which `text` begins.
/// Errors: kInvalid at "where:line" for malformed YAML, anchors and aliases (they can explode),
/// keys that repeat or are not scalars; kTooLarge past the bounds of case.h.
Result<std::vector<Yaml>> ParseYaml(std::string_view text, const std::string& where,
                                    int first_line = 1);

}  // namespace qtx::conformance
