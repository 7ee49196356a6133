#include "yaml_reader.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace qtx::conformance {
namespace {

Result<std::string_view> Scalar(const Yaml& node, const Place& place, std::string_view expected) {
  if (node.is_scalar()) return std::string_view(node.text);
  return Refuse(
      place, node,
      "found " + std::string(KindName(node.kind)) + ", expected " + std::string(expected));
}

template <typename T>
std::optional<T> ParseWhole(std::string_view text, int base) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename T>
Result<T> ReadInteger(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(const std::string_view text, Scalar(node, place, "an integer"));
  if (const auto value = ParseWhole<T>(text, 10)) return *value;
  return Refuse(place, node,
                "found '" + std::string(text) + "', expected a decimal integer of 64 bits");
}

// from_chars takes neither a plus sign nor "0x"; YAML writes ".nan" and ".inf".
template <typename T>
std::optional<T> ParseReal(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text == "nan" || text == ".nan" || text == ".NaN") {
    return std::numeric_limits<T>::quiet_NaN();
  }
  T value{};
  if (text == "inf" || text == ".inf" || text == ".Inf") {
    value = std::numeric_limits<T>::infinity();
  } else {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) text.remove_prefix(2);
    if (text.empty() || text[0] == '-') return std::nullopt;
    const auto [end, status] =
        std::from_chars(text.data(), text.data() + text.size(), value,
                        hex ? std::chars_format::hex : std::chars_format::general);
    if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  }
  return negative ? -value : value;
}

}  // namespace

Place Place::Child(std::string_view name) const {
  return {file, key.empty() ? std::string(name) : key + "." + std::string(name)};
}

Error Refuse(const Place& place, const Yaml& node, std::string message) {
  std::string where = place.file + ":" + std::to_string(node.line);
  if (!place.key.empty()) where += ": " + place.key;
  return Error{ErrorCode::kInvalid, std::move(where), std::move(message)};
}

Result<void> ExpectMap(const Yaml& node, const Place& place,
                       std::initializer_list<std::string_view> known_keys) {
  if (!node.is_map()) {
    return Refuse(place, node, "found " + std::string(KindName(node.kind)) + ", expected a map");
  }
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    if (std::ranges::find(known_keys, node.keys[i]) != known_keys.end()) continue;
    std::string expected;
    for (const std::string_view known : known_keys) {
      expected += (expected.empty() ? "" : ", ") + std::string(known);
    }
    return Refuse(place, node.items[i],
                  "unknown key '" + node.keys[i] + "', expected one of " + expected);
  }
  return {};
}

Result<std::string> ReadString(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(const std::string_view text, Scalar(node, place, "text"));
  return std::string(text);
}

Result<std::int64_t> ReadInt(const Yaml& node, const Place& place) {
  return ReadInteger<std::int64_t>(node, place);
}

Result<std::uint64_t> ReadUint(const Yaml& node, const Place& place) {
  return ReadInteger<std::uint64_t>(node, place);
}

template <typename T>
Result<T> ReadFloat(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(const std::string_view text, Scalar(node, place, "a number"));
  if (const auto value = ParseReal<T>(text)) return *value;
  return Refuse(place, node,
                "found '" + std::string(text) + "', expected a number that a binary" +
                    std::to_string(8 * sizeof(T)) + " can hold (0.5, 0x1p-1, nan, -inf)");
}
template Result<float> ReadFloat<float>(const Yaml&, const Place&);
template Result<double> ReadFloat<double>(const Yaml&, const Place&);

Result<bool> ReadBool(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(const std::string_view text, Scalar(node, place, "true or false"));
  if (text == "true") return true;
  if (text == "false") return false;
  return Refuse(place, node, "found '" + std::string(text) + "', expected true or false");
}

bool LooksLikeInt(std::string_view text) { return ParseWhole<std::int64_t>(text, 10).has_value(); }
bool LooksLikeFloat(std::string_view text) { return ParseReal<double>(text).has_value(); }

}  // namespace qtx::conformance
