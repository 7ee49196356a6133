// Source: flatbuffers' "Internals": the file begins with the offset of the root table; a table
// begins with the signed distance back to its vtable, which holds its own size, the table's, and
// the place of each field in the table (16 bits each, 0: absent). Offsets of 32 bits count from
// where they stand. What a field holds is not in the file: 4 bytes are an offset if a table or a
// vector is where they point to.
#include "flatbuffer_mutator.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace qtx::fuzz {
namespace {

constexpr std::size_t kMaxParts = 1 << 14;
constexpr std::uint32_t kMaxFields = 256;  // of a table

struct Part {
  enum class Kind { kScalar, kOffset, kFieldOf, kLength, kBytes } kind;
  std::size_t at;
  std::size_t size;  // in bytes; of kBytes the vector's
};

template <typename T>
T Get(std::string_view bytes, std::size_t at) {
  T value = 0;
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class Walk {
 public:
  explicit Walk(std::string_view bytes) : bytes_(bytes) {}

  std::vector<Part> Parts() {
    const auto root = Get<std::uint32_t>(bytes_, 0);
    if (IsTable(root)) Table(root);
    return std::move(parts_);
  }

 private:
  std::size_t VtableOf(std::size_t table) const {
    return table - static_cast<std::size_t>(std::int64_t{Get<std::int32_t>(bytes_, table)});
  }

  bool IsTable(std::size_t at) const {
    if (at % 4 != 0 || at < 4 || at + 4 > bytes_.size()) return false;
    const std::size_t vtable = VtableOf(at);
    if (vtable % 2 != 0 || vtable < 4 || vtable > bytes_.size() || vtable + 4 > bytes_.size())
      return false;  // the distance may lead below the beginning
    const auto size = Get<std::uint16_t>(bytes_, vtable);
    const auto own = Get<std::uint16_t>(bytes_, vtable + 2);
    return size >= 4 && size % 2 == 0 && size <= 4 + 2 * kMaxFields &&
           vtable + size <= bytes_.size() && own >= 4 && at + own <= bytes_.size();
  }

  bool IsVector(std::size_t at) const {
    return at % 4 == 0 && at + 4 <= bytes_.size() &&
           Get<std::uint32_t>(bytes_, at) <= bytes_.size() - at - 4;
  }

  void Table(std::size_t table) {
    if (parts_.size() > kMaxParts || !seen_.insert(table).second) return;
    const std::size_t vtable = VtableOf(table);
    const auto size = Get<std::uint16_t>(bytes_, vtable);
    std::vector<std::size_t> ends = {Get<std::uint16_t>(bytes_, vtable + 2)};
    for (std::size_t at = vtable + 4; at < vtable + size; at += 2)
      ends.push_back(Get<std::uint16_t>(bytes_, at));
    std::ranges::sort(ends);
    for (std::size_t at = vtable + 4; at < vtable + size; at += 2) {
      parts_.push_back({Part::Kind::kFieldOf, at, 2});
      const std::size_t field = Get<std::uint16_t>(bytes_, at);
      const auto next = std::ranges::upper_bound(ends, field);
      if (field >= 4 && next != ends.end()) Field(table + field, *next - field);
    }
  }

  // `size` reaches to the next field, over what fills the gap.
  void Field(std::size_t at, std::size_t size) {
    if (at + size > bytes_.size()) return;
    const std::size_t to = at + Get<std::uint32_t>(bytes_, at);
    if (size < 4 || at % 4 != 0 || to == at || (!IsTable(to) && !IsVector(to))) {
      parts_.push_back({Part::Kind::kScalar, at, size >= 8 ? 8U : size >= 4 ? 4U : 1U});
      return;
    }
    parts_.push_back({Part::Kind::kOffset, at, 4});
    if (IsTable(to))
      Table(to);
    else
      Vector(to);
  }

  void Vector(std::size_t vector) {
    if (parts_.size() > kMaxParts || !seen_.insert(vector).second) return;
    parts_.push_back({Part::Kind::kLength, vector, 4});
    const std::size_t count = Get<std::uint32_t>(bytes_, vector);
    const auto at = [&](std::size_t i) { return vector + 4 + 4 * i; };
    bool is_tables = count > 0 && vector + 4 + 4 * count <= bytes_.size();
    for (std::size_t i = 0; is_tables && i < count; ++i)
      is_tables = IsTable(at(i) + Get<std::uint32_t>(bytes_, at(i)));
    // Elements of a size that is not known: four bytes each, as most are, or as many as fit.
    const std::size_t rest = bytes_.size() - vector - 4;
    if (!is_tables) {
      if (count > 0) parts_.push_back({Part::Kind::kBytes, vector + 4, std::min(4 * count, rest)});
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      parts_.push_back({Part::Kind::kOffset, at(i), 4});
      Table(at(i) + Get<std::uint32_t>(bytes_, at(i)));
    }
  }

  std::string_view bytes_;
  std::vector<Part> parts_;
  std::set<std::size_t> seen_;
};

std::uint64_t Boundary(std::uint64_t value, std::mt19937& draw) {
  switch (draw() % 5) {
    case 0:
      return value + 1;
    case 1:
      return value - 1;
    case 2:
      return value ^ std::uint64_t{1} << draw() % 64;
    case 3:
      return (std::uint64_t{1} << draw() % 64) - draw() % 2;
    default:
      return draw() % 160;  // as many operators as TFLite has
  }
}

void Change(std::string& bytes, const std::vector<Part>& parts, std::mt19937& draw,
            const MutateLeaf& leaf) {
  const Part& part = parts[draw() % parts.size()];
  const Part& other = parts[draw() % parts.size()];
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + part.at, std::min<std::size_t>(part.size, 8));
  switch (part.kind) {
    case Part::Kind::kScalar:
      value = Boundary(value, draw);
      break;
    case Part::Kind::kOffset: {
      if (other.kind != Part::Kind::kOffset) return;
      const std::size_t to = other.at + Get<std::uint32_t>(bytes, other.at);
      if (to <= part.at) return;
      value = to - part.at;
      break;
    }
    case Part::Kind::kFieldOf:
      value = other.kind == Part::Kind::kFieldOf && draw() % 2 == 0
                  ? Get<std::uint16_t>(bytes, other.at)
                  : 0;
      break;
    case Part::Kind::kLength:
      value = draw() % 4 == 0 ? Boundary(value, draw) : value + draw() % 3 - 1;
      break;
    case Part::Kind::kBytes: {
      const std::string made = leaf(bytes.substr(part.at, part.size), part.size);
      std::ranges::copy(made, bytes.begin() + static_cast<std::ptrdiff_t>(part.at));
      return;
    }
  }
  std::memcpy(bytes.data() + part.at, &value, std::min<std::size_t>(part.size, 8));
}

}  // namespace

std::optional<std::string> MutateFlatbuffer(const std::string& bytes, std::mt19937& draw,
                                            const MutateLeaf& leaf) {
  const std::vector<Part> parts = Walk(bytes).Parts();
  if (parts.empty()) return std::nullopt;
  std::string changed = bytes;
  for (auto left = 1 + draw() % 4; left > 0; --left) Change(changed, parts, draw, leaf);
  return changed;
}

}  // namespace qtx::fuzz
