#include "qtx/format/rename.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace qtx::format {
namespace {

constexpr std::uint64_t kNameTag = (8U << 3U) | 2U;  // TensorProto.name: field 8, length-delimited

Error Malformed() { return {ErrorCode::kInvalid, "initializer", "malformed TensorProto"}; }

// A base-128 varint at `at`, which moves past it.
std::optional<std::uint64_t> TakeVarint(std::string_view wire, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && at < wire.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(wire[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>((value & 0x7FU) | 0x80U);
  return bytes + static_cast<char>(value);
}

struct Field {
  std::uint64_t tag = 0;
  std::size_t begin = 0, end = 0;  // in bytes, tag included
};

// The field at `at`. Groups, long out of use, do not occur in a TensorProto.
Result<Field> FieldAt(std::string_view wire, std::size_t at) {
  Field field{.begin = at};
  const auto tag = TakeVarint(wire, at);
  if (!tag) return Malformed();
  field.tag = *tag;
  std::uint64_t size = 0;
  switch (*tag & 7U) {
    case 0:
      if (!TakeVarint(wire, at)) return Malformed();
      break;
    case 1:
      size = 8;
      break;
    case 2: {
      const auto length = TakeVarint(wire, at);
      if (!length) return Malformed();
      size = *length;
      break;
    }
    case 5:
      size = 4;
      break;
    default:
      return Malformed();
  }
  if (size > wire.size() - at) return Malformed();
  field.end = at + static_cast<std::size_t>(size);
  return field;
}

}  // namespace

Result<TensorData> Renamed(TensorData data, const std::string& name) {
  std::optional<Field> found;
  for (std::size_t at = 0; at < data.wire.size();) {
    QTX_ASSIGN_OR_RETURN(const Field field, FieldAt(data.wire, at));
    if (field.tag == kNameTag) found = field;  // the last one counts
    at = field.end;
  }
  const std::string bytes = Varint(kNameTag) + Varint(name.size()) + name;
  if (found) {
    data.wire.replace(found->begin, found->end - found->begin, bytes);
  } else {
    data.wire += bytes;
  }
  data.name = name;
  return data;
}

}  // namespace qtx::format
