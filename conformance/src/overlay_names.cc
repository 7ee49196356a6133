#include "overlay_names.h"

#include <algorithm>
#include <string_view>

namespace qtx::conformance {
namespace {

Yaml* FindIn(Yaml& map, std::string_view key) {
  const auto found = std::ranges::find(map.keys, key);
  const auto at = static_cast<std::size_t>(found - map.keys.begin());
  return found == map.keys.end() ? nullptr : &map.items[at];
}

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

// Its carrier's name in the place of an added type's, which is the result; "" for any other text.
std::string ToCarrier(Yaml* text, const OverlayNames& names) {
  if (text == nullptr || !text->is_scalar()) return "";
  const auto added = names.types.find(Upper(text->text));
  if (added == names.types.end()) return "";
  text->text = format::Name(added->second);
  return added->first;
}

}  // namespace

AddedNames TakeAddedNames(Yaml& document, const OverlayNames& names) {
  AddedNames taken;
  for (const std::string_view key : {"inputs", "initializers", "before", "expect"}) {
    Yaml* values = FindIn(document, key);
    if (values == nullptr || !values->is_map()) continue;
    for (std::size_t i = 0; i < values->items.size(); ++i) {
      std::string type = ToCarrier(FindIn(values->items[i], "type"), names);
      if (!type.empty()) taken.types[values->keys[i]] = std::move(type);
    }
  }
  Yaml* op = FindIn(document, "op");
  Yaml* attributes = op == nullptr ? nullptr : FindIn(*op, "attributes");
  if (attributes != nullptr) (void)ToCarrier(FindIn(*attributes, "to"), names);
  const auto key = std::ranges::find(document.keys, "arithmetics");
  if (key == document.keys.end()) return taken;
  const auto item = document.items.begin() + (key - document.keys.begin());
  std::erase_if(item->items, [&](const Yaml& name) {
    if (!name.is_scalar() || !names.arithmetics.contains(name.text)) return false;
    taken.arithmetics.push_back(name.text);
    return true;
  });
  if (!item->items.empty() || taken.arithmetics.empty()) return taken;
  document.items.erase(item);
  document.keys.erase(key);
  return taken;
}

}  // namespace qtx::conformance
