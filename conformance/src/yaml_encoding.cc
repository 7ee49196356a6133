#include "yaml_encoding.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <utility>
#include <vector>

namespace qtx::conformance {
namespace {

using format::BitSpan;
using format::EncodedField;
using format::EncodedRole;
using format::Encoding;

constexpr std::array<std::string_view, 3> kRoles = {"code", "scale", "base"};

Result<std::int32_t> ReadSmall(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t value, ReadInt(node, place));
  if (value == static_cast<std::int32_t>(value)) return static_cast<std::int32_t>(value);
  return Refuse(place, node, "expected an integer of 32 bits");
}

// Leaves `number` as it is where the key is absent.
Result<void> ReadNumber(const Yaml& node, const Place& place, std::string_view key,
                        std::int32_t* number) {
  const Yaml* found = node.Find(key);
  if (found == nullptr) return {};
  QTX_ASSIGN_OR_RETURN(*number, ReadSmall(*found, place.Child(key)));
  return {};
}

Result<void> ReadNumbers(const Yaml& node, const Place& place, std::string_view key,
                         std::vector<std::int32_t>* numbers) {
  const Yaml* found = node.Find(key);
  if (found == nullptr) return {};
  QTX_ASSIGN_OR_RETURN(*numbers, ReadList(*found, place.Child(key), ReadSmall));
  return {};
}

Result<BitSpan> ReadSpan(const Yaml& node, const Place& place) {
  QTX_RETURN_IF_ERROR(
      ExpectMap(node, place, {"value_bit", "width", "first", "record_bit", "count", "stride"}));
  BitSpan span;
  QTX_RETURN_IF_ERROR(ReadNumber(node, place, "value_bit", &span.value_bit));
  QTX_RETURN_IF_ERROR(ReadNumber(node, place, "width", &span.width));
  QTX_RETURN_IF_ERROR(ReadNumber(node, place, "first", &span.first));
  QTX_RETURN_IF_ERROR(ReadNumber(node, place, "record_bit", &span.record_bit));
  QTX_RETURN_IF_ERROR(ReadNumbers(node, place, "count", &span.count));
  QTX_RETURN_IF_ERROR(ReadNumbers(node, place, "stride", &span.stride));
  return span;
}

Result<void> ReadRole(const Yaml& node, const Place& place, EncodedField* field) {
  QTX_ASSIGN_OR_RETURN(const std::string name, ReadString(node, place));
  const auto* known = std::ranges::find(kRoles, name);
  if (known != kRoles.end()) {
    field->role = static_cast<EncodedRole>(known - kRoles.begin());
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t number, ReadInt(node, place));
  if (number < std::ssize(kRoles) || number > 127)
    return Refuse(place, node, "found '" + name + "', expected code, scale, base or 3 to 127");
  // The tag of field 1, a varint, and the number: how a reader keeps it.
  field->unknown_fields = {'\x08', static_cast<char>(number)};
  return {};
}

Result<EncodedField> ReadField(const Yaml& node, const Place& place) {
  QTX_RETURN_IF_ERROR(ExpectMap(node, place, {"role", "level", "elem_type", "bias", "bits"}));
  EncodedField field;
  if (const Yaml* role = node.Find("role"))
    QTX_RETURN_IF_ERROR(ReadRole(*role, place.Child("role"), &field));
  QTX_RETURN_IF_ERROR(ReadNumber(node, place, "level", &field.level));
  QTX_RETURN_IF_ERROR(ReadNumber(node, place, "bias", &field.bias));
  if (const Yaml* type = node.Find("elem_type")) {
    const Place below = place.Child("elem_type");
    QTX_ASSIGN_OR_RETURN(const std::string name, ReadString(*type, below));
    const auto found = format::ElementTypeFromName(name);
    if (!found) return Refuse(below, *type, "found '" + name + "', expected an element type");
    field.elem_type = *found;
  }
  if (const Yaml* bits = node.Find("bits")) {
    QTX_ASSIGN_OR_RETURN(field.bits, ReadList(*bits, place.Child("bits"), ReadSpan));
  }
  return field;
}

// The keys of a flow map whose numbers are not 0.
class Keys {
 public:
  void Add(std::string_view key, std::int64_t value) {
    if (value != 0) AddText(key, std::to_string(value));
  }
  template <typename T>
  void AddList(std::string_view key, const std::vector<T>& values) {
    if (values.empty()) return;
    std::string text;
    for (const T value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
    AddText(key, "[" + text + "]");
  }
  void AddText(std::string_view key, const std::string& value) {
    text_ += (text_.empty() ? "" : ", ") + std::string(key) + ": " + value;
  }
  std::string Take() { return "{" + std::exchange(text_, "") + "}"; }

 private:
  std::string text_;
};

std::string FieldText(const EncodedField& field) {
  Keys keys;
  const bool unknown = field.unknown_fields.size() == 2 && field.unknown_fields[0] == '\x08';
  keys.AddText("role", unknown ? std::to_string(static_cast<int>(field.unknown_fields[1]))
                               : std::string(kRoles[static_cast<std::size_t>(field.role)]));
  keys.Add("level", field.level);
  std::string type(format::Name(field.elem_type));
  std::ranges::transform(type, type.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  keys.AddText("elem_type", type);
  keys.Add("bias", field.bias);
  std::string bits;
  for (const BitSpan& span : field.bits) {
    Keys map;
    map.Add("value_bit", span.value_bit);
    map.Add("width", span.width);
    map.Add("first", span.first);
    map.Add("record_bit", span.record_bit);
    map.AddList("count", span.count);
    map.AddList("stride", span.stride);
    bits += (bits.empty() ? "" : ", ") + map.Take();
  }
  keys.AddText("bits", "[" + bits + "]");
  return keys.Take();
}

}  // namespace

Result<Encoding> ReadEncoding(const Yaml& node, const Place& place) {
  QTX_RETURN_IF_ERROR(ExpectMap(node, place, {"record_bytes", "record_shape", "field"}));
  Encoding encoding;
  QTX_RETURN_IF_ERROR(ReadNumber(node, place, "record_bytes", &encoding.record_bytes));
  if (const Yaml* shape = node.Find("record_shape")) {
    QTX_ASSIGN_OR_RETURN(encoding.record_shape,
                         ReadList(*shape, place.Child("record_shape"), ReadInt));
  }
  if (const Yaml* fields = node.Find("field")) {
    QTX_ASSIGN_OR_RETURN(encoding.fields, ReadList(*fields, place.Child("field"), ReadField));
  }
  return encoding;
}

std::string EncodingText(const Encoding& encoding) {
  Keys keys;
  keys.Add("record_bytes", encoding.record_bytes);
  keys.AddList("record_shape", encoding.record_shape);
  std::string fields;
  for (const EncodedField& field : encoding.fields)
    fields += (fields.empty() ? "" : ", ") + FieldText(field);
  keys.AddText("field", "[" + fields + "]");
  return keys.Take();
}

}  // namespace qtx::conformance
