// Typed reading of a Yaml tree, with errors that name file, line, key and what was expected.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"
#include "yaml.h"

namespace qtx::conformance {

/// Location of a node for errors: file and dotted key ("inputs.a.scale"); the node has the line.
struct Place {
  std::string file;
  std::string key;

  Place Child(std::string_view name) const;
};

/// kInvalid at "file:line: key".
Error Refuse(const Place& place, const Yaml& node, std::string message);

/// Errors (all): kInvalid for another kind of node or malformed text.
Result<void> ExpectMap(const Yaml& node, const Place& place,
                       std::initializer_list<std::string_view> known_keys);
Result<std::string> ReadString(const Yaml& node, const Place& place);
Result<std::int64_t> ReadInt(const Yaml& node, const Place& place);
Result<std::uint64_t> ReadUint(const Yaml& node, const Place& place);
/// Decimal or hexadecimal, "nan", "inf" and YAML's ".nan", ".inf", correctly rounded to T.
template <typename T>
Result<T> ReadFloat(const Yaml& node, const Place& place);
Result<bool> ReadBool(const Yaml& node, const Place& place);

/// A list of values that `read` parses; a scalar counts as a list of one.
template <typename T>
Result<std::vector<T>> ReadList(const Yaml& node, const Place& place,
                                Result<T> (*read)(const Yaml&, const Place&)) {
  std::vector<T> values;
  if (node.is_scalar()) {
    QTX_ASSIGN_OR_RETURN(values.emplace_back(), read(node, place));
    return values;
  }
  if (!node.is_list()) {
    return Refuse(place, node,
                  "found " + std::string(KindName(node.kind)) + ", expected a list or a scalar");
  }
  values.reserve(node.items.size());
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(values.emplace_back(),
                         read(node.items[i], place.Child(std::to_string(i))));
  }
  return values;
}

/// True for the syntax of an integer ("-12") or a float; determines an attribute's type.
bool LooksLikeInt(std::string_view text);
bool LooksLikeFloat(std::string_view text);

}  // namespace qtx::conformance
