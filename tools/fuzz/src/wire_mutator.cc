// Source: protobuf's "Encoding": a field is a varint, number << 3 | type, then a varint (0), 8
// bytes (1), a length and as many bytes (2), or 4 bytes (5).
#include "wire_mutator.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

namespace qtx::fuzz {
namespace {

constexpr int kMaxDepth = 24;
constexpr std::size_t kMaxLeaf = 4096;  // bytes that a text may grow to

struct Field {
  std::uint32_t number = 0;  // 0: a frame, which has a length alone
  std::uint32_t type = 2;
  std::uint64_t value = 0;    // of types 0, 1 and 5
  std::string bytes;          // of type 2, unless it is a message
  std::vector<Field> fields;  // of a message
  bool is_message = false;
};
using Fields = std::vector<Field>;

std::optional<std::uint64_t> TakeVarint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) return std::nullopt;
    const auto byte = static_cast<std::uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> TakeFixed(std::string_view& bytes, std::size_t size) {
  if (bytes.size() < size) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  bytes.remove_prefix(size);
  return value;
}

std::optional<Fields> Parse(std::string_view bytes, int depth);

bool IsText(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c >= ' ' && c <= '~'; });
}

std::optional<Field> TakePayload(std::string_view& bytes, std::uint32_t number, int depth) {
  const auto size = TakeVarint(bytes);
  if (!size || *size > bytes.size()) return std::nullopt;
  Field field{.number = number};
  const std::string_view payload = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  auto fields = IsText(payload) && number != 0 ? std::nullopt : Parse(payload, depth + 1);
  field.is_message = fields.has_value();
  if (fields)
    field.fields = *std::move(fields);
  else
    field.bytes = payload;
  return field;
}

std::optional<Field> TakeField(std::string_view& bytes, int depth) {
  const auto tag = TakeVarint(bytes);
  if (!tag || *tag >> 3 == 0 || *tag >> 3 >= 1U << 29) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(*tag >> 3);
  const auto type = static_cast<std::uint32_t>(*tag & 7);
  if (type == 2) return TakePayload(bytes, number, depth);
  std::optional<std::uint64_t> value;
  if (type == 0) value = TakeVarint(bytes);
  if (type == 1) value = TakeFixed(bytes, 8);
  if (type == 5) value = TakeFixed(bytes, 4);
  if (!value) return std::nullopt;
  return Field{.number = number, .type = type, .value = *value};
}

// nullopt for what is no message; of a message within, what is none is a text.
std::optional<Fields> Parse(std::string_view bytes, int depth) {
  if (depth > kMaxDepth || (depth > 0 && bytes.empty())) return std::nullopt;
  Fields fields;
  while (!bytes.empty()) {
    auto field = TakeField(bytes, depth);
    if (!field) return std::nullopt;
    fields.push_back(*std::move(field));
  }
  return fields;
}

std::optional<Fields> ParseInput(std::string_view bytes, bool framed) {
  if (!framed) return Parse(bytes, 0);
  Fields frames;
  while (!bytes.empty()) {
    auto frame = TakePayload(bytes, 0, 0);
    if (!frame) return std::nullopt;
    frames.push_back(*std::move(frame));
  }
  return frames;
}

void PutVarint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

std::string Serialize(const Fields& fields) {
  std::string out;
  for (const Field& field : fields) {
    if (field.number != 0) PutVarint(std::uint64_t{field.number} << 3 | field.type, out);
    if (field.type == 0) {
      PutVarint(field.value, out);
    } else if (field.type == 2) {
      const std::string payload = field.is_message ? Serialize(field.fields) : field.bytes;
      PutVarint(payload.size(), out);
      out += payload;
    } else {
      for (unsigned i = 0; i < (field.type == 1 ? 8U : 4U); ++i)
        out.push_back(static_cast<char>(field.value >> (8 * i)));
    }
  }
  return out;
}

// A field by the list that has it.
struct Place {
  Fields* in;
  std::size_t at;
  Field& field() const { return (*in)[at]; }
};

void Collect(Fields& fields, std::vector<Place>& places) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    places.push_back({&fields, i});
    Collect(fields[i].fields, places);
  }
}

class Mutator {
 public:
  Mutator(Fields& root, std::mt19937& draw, const MutateLeaf& leaf)
      : root_(root), draw_(draw), leaf_(leaf) {
    Collect(root_, places_);
  }

  void Change() {
    if (places_.empty()) return Insert(root_, 0);
    const Place place = Any();
    switch (Below(10)) {
      case 0:
        place.in->erase(place.in->begin() + static_cast<std::ptrdiff_t>(place.at));
        return;
      case 1:
        return Insert(*place.in, place.at, Field(place.field()));
      case 2:
        return std::swap(place.field(), (*place.in)[Below(place.in->size())]);
      case 3:
        place.field().number = place.field().number == 0 ? 0 : Number();
        return;
      case 4:
        return Copy(place);
      case 5:
        return Insert(*place.in, Below(place.in->size() + 1));
      default:
        return ChangeContents(place.field());
    }
  }

 private:
  std::size_t Below(std::size_t count) { return draw_() % count; }
  Place Any() { return places_[Below(places_.size())]; }

  // One that is in the message, a neighbour of it, or a small one.
  std::uint32_t Number() {
    const std::uint32_t near = places_.empty() ? 1 : Any().field().number;
    return std::max<std::uint32_t>(1, Below(2) == 0
                                          ? near + static_cast<std::uint32_t>(Below(3)) - 1
                                          : static_cast<std::uint32_t>(Below(24)));
  }

  static void Insert(Fields& fields, std::size_t at, Field field) {
    fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(at), std::move(field));
  }

  void Insert(Fields& fields, std::size_t at) {
    constexpr std::array<std::uint32_t, 4> kTypes = {0, 2, 5, 1};
    Field field{.number = Number(), .type = kTypes[Below(kTypes.size())]};
    ChangeContents(field);
    Insert(fields, at, std::move(field));
  }

  // Another field of the same type lends its contents, or comes beside this one.
  void Copy(const Place& place) {
    const Field other = Any().field();
    if (other.type == place.field().type && other.number != 0 && Below(2) == 0) {
      const std::uint32_t number = place.field().number;
      place.field() = other;
      place.field().number = number;
    } else if ((other.number == 0) == (place.field().number == 0)) {
      Insert(*place.in, place.at, other);
    }
  }

  void ChangeContents(Field& field) {
    if (field.type != 2) {
      field.value = Boundary(field.value, field.type);
    } else if (!field.is_message) {
      field.bytes = Below(4) == 0 ? Packed(field.bytes) : leaf_(field.bytes, kMaxLeaf);
    } else if (Below(4) == 0) {  // what has the form of a message may be a text
      field.bytes = leaf_(Serialize(field.fields), kMaxLeaf);
      field.is_message = false;
    } else {
      Insert(field.fields, Below(field.fields.size() + 1));
    }
  }

  std::uint64_t Boundary(std::uint64_t value, std::uint32_t type) {
    // Of floats: infinities, NaN, the least and the largest.
    constexpr std::array<std::uint64_t, 7> kFloats = {0x7F800000, 0xFF800000, 0x7FC00000, 1,
                                                      0x00800000, 0x7F7FFFFF, 0x80000000};
    constexpr std::array<std::uint64_t, 6> kDoubles = {0x7FF0000000000000, 0xFFF0000000000000,
                                                       0x7FF8000000000000, 1,
                                                       0x7FEFFFFFFFFFFFFF, 0x8000000000000000};
    switch (Below(6)) {
      case 0:
        return value + 1;
      case 1:
        return value - 1;
      case 2:
        return value ^ std::uint64_t{1} << Below(64);
      case 3:
        return (std::uint64_t{1} << Below(64)) - Below(2);
      case 4:
        if (type == 5) return kFloats[Below(kFloats.size())];
        if (type == 1) return kDoubles[Below(kDoubles.size())];
        return 0 - std::uint64_t{Below(9)};
      default:
        return Below(17);
    }
  }

  // The payload as varints, of which one is changed, doubled or left out.
  std::string Packed(std::string_view payload) {
    std::vector<std::uint64_t> values;
    while (const auto value = TakeVarint(payload)) values.push_back(*value);
    const std::size_t at = Below(values.size() + 1);
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(at);
    if (at == values.size() || Below(3) == 0)
      values.insert(place, Boundary(Below(4), 0));
    else if (Below(2) == 0)
      values.erase(place);
    else
      *place = Boundary(*place, 0);
    std::string out;
    for (const std::uint64_t value : values) PutVarint(value, out);
    return out;
  }

  Fields& root_;
  std::mt19937& draw_;
  const MutateLeaf& leaf_;
  std::vector<Place> places_;
};

}  // namespace

std::optional<std::string> MutateWire(const std::string& bytes, bool framed, std::mt19937& draw,
                                      const MutateLeaf& leaf) {
  auto fields = ParseInput(bytes, framed);
  if (!fields) return std::nullopt;
  for (auto left = 1 + draw() % 4; left > 0; --left) Mutator(*fields, draw, leaf).Change();
  return Serialize(*fields);
}

std::optional<std::string> CrossWire(const std::string& a, const std::string& b, bool framed,
                                     std::mt19937& draw) {
  auto into = ParseInput(a, framed);
  auto from = ParseInput(b, framed);
  if (!into || !from) return std::nullopt;
  std::vector<Place> places, lent;
  Collect(*into, places);
  Collect(*from, lent);
  if (places.empty() || lent.empty()) return std::nullopt;
  const Field& field = lent[draw() % lent.size()].field();
  std::vector<Place> alike;
  std::ranges::copy_if(places, std::back_inserter(alike), [&](const Place& place) {
    return place.field().number == field.number && place.field().type == field.type;
  });
  if (alike.empty() && field.number == 0) return std::nullopt;
  const auto& among = alike.empty() ? places : alike;
  const Place place = among[draw() % among.size()];
  if (!alike.empty() && draw() % 2 == 0)
    place.field() = field;
  else
    place.in->insert(place.in->begin() + static_cast<std::ptrdiff_t>(place.at), field);
  return Serialize(*into);
}

}  // namespace qtx::fuzz
